"""What the mix of GPU types that the operator plans costs under finite supply.

    python bench/mix.py --profiles characterization.csv --users N --supply supply.csv --json

Every model of the profiles has N users, or as many as `--demand` says (CSV: model, users, and
perhaps priority, 0 by default). Supply is CSV with the columns gpu and count, in single GPUs of a
type; a type that is absent has none. `plimsoll_bench/mix/profiles.py` describes the profiles;
`--prices` takes prices from a CSV (GPU, price); `--models M` draws M models like the recorded ones,
by `--seed`.

The models are services of a cluster (`plimsoll_bench/mix/cluster.py`), and our answer is the plan
that the operator makes for it in a turn, with `--seconds` of CP-SAT's deterministic time for the
search, by default the operator's. `seconds` is its CPU time, from the snapshot to the plan.

`optimum_per_hour` is proven by other code (`plimsoll_bench/mix/optimum.py`), null if that takes
more than `--proof-seconds`; `greedy_per_hour` is the cost of taking the cheapest per user first,
perhaps with fewer users served. `--shrink K` adds K fractions of the supply, from all of it to just
enough for all users, and two with less. Where it is too little for all, users of a higher priority
come first; among equal ones a user counts as much as it takes of the profile that carries most.
"""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll_bench.mix.check import mix_mistakes
from plimsoll_bench.mix.choosing import cheapest_mix
from plimsoll_bench.mix.greedy import cheapest_first
from plimsoll_bench.mix.optimum import Optimum, optimum
from plimsoll_bench.mix.planned import mix_of, planned
from plimsoll_bench.mix.profiles import (
    Carried,
    Profile,
    carried_in,
    drawn,
    problem_of,
    profiles_in,
    supply_in,
)
from plimsoll_bench.mix.scip import Effort as Reference
from plimsoll_bench.output import print_json
from plimsoll_bench.recorded import rows_in
from plimsoll_placement.effort import Effort
from plimsoll_placement.estimate.mix.problem import Mix, MixProblem, unserved
from plimsoll_placement.solve import load

MANY_NODES = 10**9
REFERENCE_SECONDS = 0.85
PROOF_SECONDS = 30.0
DOLLAR = 10**6
JUST_ENOUGH_WITHIN = 0.001
TOO_LITTLE = (0.9, 0.75)


class UnsoundError(Exception):
    """An answer that breaks a rule."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Our answer, greedy's and the optimum of one problem, and the time ours took."""

    problem: MixProblem
    ours: Mix
    greedy: Mix
    optimum: Optimum
    seconds: float
    wall_seconds: float


def answers(problem: MixProblem, effort: Effort, proof_seconds: float) -> Answers:
    """One problem solved three ways, and verified."""
    plan = planned(problem, effort)
    ours = mix_of(problem, plan)
    greedy = cheapest_first(problem)
    mistakes = (*mix_mistakes(problem, ours), *mix_mistakes(problem, greedy))
    if mistakes:
        raise UnsoundError("; ".join(mistakes))
    proven = optimum(problem, plan.worths(len(problem.models)), ours.served, proof_seconds)
    return Answers(problem, ours, greedy, proven, plan.seconds, plan.wall_seconds)


def short(problem: MixProblem, mix: Mix) -> dict[str, int]:
    """The users of each model that the mix leaves out."""
    left = {
        model.name: round(sum(unserved(model, served)))
        for model, served in zip(problem.models, mix.served, strict=True)
    }
    return {name: users for name, users in left.items() if users}


def figures(each: Answers) -> dict[str, object]:
    """What is reported of every problem."""
    ours, greedy = short(each.problem, each.ours), short(each.problem, each.greedy)
    return {
        "cost_per_hour": each.ours.microdollars / DOLLAR,
        "optimum_per_hour": _dollars(each.optimum.microdollars),
        "greedy_per_hour": each.greedy.microdollars / DOLLAR,
        "seconds": each.seconds,
        "wall_seconds": each.wall_seconds,
        "gap_percent": each.ours.gap_percent,
        "over_optimum_percent": _over(each.ours, each.optimum.microdollars),
        "optimum_bound_per_hour": _dollars(each.optimum.bound_microdollars),
        "greedy_over_optimum_percent": None if greedy else _over(each.greedy, _best_known(each)),
        "short_users": sum(ours.values()),
        "short_is_proven_least": each.ours.is_least_unserved,
        "optimum_short_users": each.optimum.unserved,
        "greedy_short_users": sum(greedy.values()),
        "served_percent_by_priority": {
            str(priority): served_percent(each.problem, ours, priority)
            for priority in each.problem.priorities
        },
    }


def served_percent(problem: MixProblem, left: Mapping[str, int], priority: int) -> float:
    """The share of the users of a priority that are served."""
    models = [model for model in problem.models if model.priority == priority]
    users = sum(model.loads[0] for model in models)
    return 100 - 100 * sum(left.get(model.name, 0) for model in models) / max(users, 1)


def _dollars(microdollars: float | None) -> float | None:
    return None if microdollars is None else microdollars / DOLLAR


def _over(mix: Mix, least: int | None) -> float | None:
    return 100 * (mix.microdollars / least - 1) if least else None


def _best_known(each: Answers) -> int:
    proven = each.optimum.microdollars
    return each.ours.microdollars if proven is None else proven


def counts(carried: Carried, mix: Mix) -> dict[str, dict[str, int]]:
    """The replicas of each model by GPU profile."""
    return {
        name: {gpu: count for gpu, count in zip(by_gpu, served.replicas, strict=True) if count}
        for (name, by_gpu), served in zip(carried.items(), mix.served, strict=True)
    }


def scaled(problem: MixProblem, fraction: float) -> MixProblem:
    """The same with a fraction of the supply."""
    # Slightly more, so that a fraction that is a whole number is not rounded down below it.
    supply = {pool: int(gpus * fraction + 1e-9) for pool, gpus in problem.supply.items()}
    return replace(problem, supply=supply)


def just_enough(problem: MixProblem) -> float | None:
    """The least fraction of the supply that serves all users; None if even all is too little."""
    effort = Reference(MANY_NODES, REFERENCE_SECONDS)
    if short(problem, cheapest_mix(problem, effort)):
        return None
    too_little, enough = 0.0, 1.0
    while enough - too_little > JUST_ENOUGH_WITHIN * enough:
        middle = (too_little + enough) / 2
        posed = scaled(problem, middle)
        if short(posed, cheapest_mix(posed, effort)):
            too_little = middle
        else:
            enough = middle
    return enough


def shrinking(
    problem: MixProblem, effort: Effort, proof_seconds: float, points: int
) -> dict[str, object]:
    """The figures from all of the supply down to just enough, at a constant ratio, and below."""
    least = just_enough(problem)
    if least is None:
        return {"just_enough": None, "shrink": []}
    fractions = [least ** (place / max(1, points - 1)) for place in range(points)]
    fractions += [least * part for part in TOO_LITTLE]
    return {
        "just_enough": least,
        "shrink": [
            {"fraction": fraction}
            | figures(answers(scaled(problem, fraction), effort, proof_seconds))
            for fraction in fractions
        ],
    }


def _demand(
    arguments: argparse.Namespace, carried: Mapping[str, object]
) -> tuple[dict[str, int], dict[str, int]]:
    """The users of each model, and the priorities of those that have one."""
    users = {name: int(arguments.users) for name in carried}
    if arguments.demand is None:
        return users, {}
    rows = rows_in(arguments.demand, about="model")
    users |= {row.text("model"): row.whole("users") for row in rows}
    known = [row for row in rows if row.has("priority")]
    priorities = {row.text("model"): row.whole("priority") for row in known}
    return {name: users[name] for name in carried}, priorities


def read(arguments: argparse.Namespace) -> tuple[Carried, MixProblem]:
    """The models and the problem that the arguments name."""
    rows = rows_in(arguments.profiles, about="model")
    prices = None if arguments.prices is None else rows_in(arguments.prices, about="GPU")
    profiles: dict[str, Profile] = profiles_in(rows, prices)
    carried = carried_in(rows)
    if arguments.models is not None:
        carried = drawn(carried, arguments.models, arguments.seed)
    users, priorities = _demand(arguments, carried)
    problem = problem_of(carried, profiles, users, supply_in(arguments.supply))
    models = tuple(
        replace(model, priority=priorities.get(model.name, 0)) for model in problem.models
    )
    return carried, replace(problem, models=models)


def main() -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--users", type=int, required=True, help="of each model")
    parser.add_argument("--supply", type=Path, required=True, help="CSV: gpu,count")
    parser.add_argument("--demand", type=Path, help="CSV: model,users")
    parser.add_argument("--prices", type=Path, help="CSV: GPU,price in dollars an hour")
    parser.add_argument("--models", type=int, help="so many models drawn from the recorded ones")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=Effort().deterministic_seconds)
    parser.add_argument("--proof-seconds", type=float, default=PROOF_SECONDS)
    parser.add_argument("--shrink", type=int, metavar="K", help="so many fractions of the supply")
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    carried, problem = read(arguments)
    effort = Effort(arguments.seconds)
    load()
    solved = answers(problem, effort, arguments.proof_seconds)
    said = figures(solved) | {
        "models": len(problem.models),
        "short": short(problem, solved.ours),
        "greedy_short": short(problem, solved.greedy),
        "counts": counts(carried, solved.ours),
    }
    if arguments.shrink is not None:
        said |= shrinking(problem, effort, arguments.proof_seconds, arguments.shrink)
    print_json(said, indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()
