"""How far plans are from the best possible ones, on small random problems solved exactly.

    PYTHONPATH=tests python bench/optimum.py --instances 200 --seed 1

Problems are drawn as in the tests, with every kind of constraint in some of them. The best is found
by another model (`plimsoll_bench/placement/best.py`) that shares nothing with the solver, without
limits; if there are few enough placements, all are examined as well. What changes must gain counts
in both. The distance of a plan is what it lacks in the first level of the score in which it is not
the best, as a share of the larger of both values there, at most 100 %, which it is where something
is left unpaid. `worth` distances are over the instances where only the last level differs, if any.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from statistics import fmean

from plimsoll_bench.output import print_json
from plimsoll_bench.placement.best import UnpaidError, best_placements
from plimsoll_bench.placement.chosen import TooManyCountsError
from plimsoll_bench.placement.enumerated import TooManyWaysError
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome, Score
from plimsoll_placement.solve import solve
from support.problems.brute_force import best_score, combination_count
from support.problems.random_problems import random_problem

MOST_PERCENT = 100.0
MOST_WAYS = 3000
MOST_COMBINATIONS = 500
TINY_NODES, TINY_JOBS = 3, 5
"""Problems up to this size have their combinations counted, and enumerated if they are few."""


class WrongBestError(Exception):
    """A plan is better than what was proven best, or two proofs differ."""


@dataclass(frozen=True, slots=True)
class Result:
    """One problem with the scores of its best placements, of the plan and of greedy."""

    problem: Problem
    best: Score
    plan: Score
    greedy: Score
    is_proven: bool
    seconds: float
    is_looked_through: bool


def distance_percent(best: Score, got: Score) -> float:
    """What is lacking in the first level that differs, as a share of the larger value."""
    if got.unpaid > best.unpaid:
        return MOST_PERCENT
    for high, low in zip(best.levels, got.levels, strict=True):
        if high != low:
            share = (high - low) / max(abs(high), abs(low))
            return min(MOST_PERCENT, MOST_PERCENT * share)
    return 0.0


def differs_only_in_worth(best: Score, got: Score) -> bool:
    """Whether the same jobs run, as far as the score shows."""
    return best.unpaid == got.unpaid and best.levels[:-1] == got.levels[:-1]


def has_few_combinations(problem: Problem) -> bool:
    """Whether all placements can be examined."""
    is_tiny = len(problem.nodes) <= TINY_NODES and len(problem.jobs) <= TINY_JOBS
    return is_tiny and combination_count(problem) <= MOST_COMBINATIONS


def result(problem: Problem, effort: Effort) -> Result:
    """Solve one problem both ways; raises TooMany…Error if it is not small, and UnpaidError."""
    problem = with_baseline(problem)
    best = score(problem, best_placements(problem, MOST_WAYS))
    is_looked_through = has_few_combinations(problem)
    if is_looked_through and best_score(problem) != best:
        raise WrongBestError(f"not {best}, by looking at all placements")
    start = time.process_time()
    plan = solve(problem, effort)
    seconds = time.process_time() - start
    if plan.score > best or best > plan.bound:
        raise WrongBestError(f"the best is {best}, the plan {plan.score}, its bound {plan.bound}")
    greedy = score(problem, greedy_placements(problem))
    is_proven = plan.outcome is Outcome.OPTIMAL
    return Result(problem, best, plan.score, greedy, is_proven, seconds, is_looked_through)


def results(options: argparse.Namespace) -> Iterator[Result | None]:
    """As many results as wanted, and None for each problem whose best cannot be told."""
    rng, found = Random(options.seed), 0
    while found < options.instances:
        nodes, jobs = rng.randint(*options.nodes), rng.randint(*options.jobs)
        problem = random_problem(rng.getrandbits(32), nodes=nodes, jobs=jobs)
        try:
            yield result(problem, Effort(options.effort))
            found += 1
        except (TooManyWaysError, TooManyCountsError, UnpaidError):
            yield None


def mix(problem: Problem) -> Iterator[str]:
    """The kinds of constraint that a problem has."""
    jobs, nodes = problem.jobs, problem.nodes
    kinds = {
        "spot": any(node.spot for node in nodes),
        "selectors": any(r.eligible != (1 << len(nodes)) - 1 for j in jobs for r in j.roles),
        "topology": any(
            j.required_level is not None or j.preferred_level is not None for j in jobs
        ),
        "queue limits": any(queue.limit for queue in problem.queues),
        "guarantees": any(queue.guaranteed for queue in problem.queues),
        "power": bool(problem.power_domains),
        "prices": any(node.microdollars_per_gpu_hour for node in nodes),
        "fractions": any(r.shape.gpu_milli % 1000 for j in jobs for r in j.roles),
        "running": any(job.running for job in jobs),
        "a price of changes": problem.baseline is not None,
        "pinned": any(job.pinned for job in jobs),
        "gangs": any(job.gang for job in jobs),
        "services": any(not job.gang for job in jobs),
        "priorities": len({job.priority for job in jobs}) > 1,
    }
    yield from (name for name, has in kinds.items() if has)


def summary(drawn: list[Result | None]) -> dict[str, object]:
    """The figures over all."""
    solved = [each for each in drawn if each is not None]
    plans = [distance_percent(each.best, each.plan) for each in solved]
    greedies = [distance_percent(each.best, each.greedy) for each in solved]
    plan_worth = [
        distance_percent(e.best, e.plan) for e in solved if differs_only_in_worth(e.best, e.plan)
    ]
    greedy_worth = [
        distance_percent(e.best, e.greedy)
        for e in solved
        if differs_only_in_worth(e.best, e.greedy)
    ]
    return {
        "instances": len(solved),
        "skipped": len(drawn) - len(solved),
        "mean_distance_percent": fmean(plans),
        "max_distance_percent": max(plans),
        "optimal_percent": MOST_PERCENT * fmean(not each for each in plans),
        "proven_percent": MOST_PERCENT * fmean(each.is_proven for each in solved),
        "mean_worth_distance_percent": fmean(plan_worth),
        "greedy_mean_distance_percent": fmean(greedies),
        "greedy_max_distance_percent": max(greedies),
        "greedy_optimal_percent": MOST_PERCENT * fmean(not each for each in greedies),
        "greedy_mean_worth_distance_percent": fmean(greedy_worth),
        "mean_seconds": fmean(each.seconds for each in solved),
        "max_seconds": max(each.seconds for each in solved),
        "looked_through": sum(each.is_looked_through for each in solved),
        "instances_with": Counter(kind for each in solved for kind in mix(each.problem)),
    }


def main() -> None:
    """Print the summary as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--instances", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--effort", type=float, default=2.0, help="deterministic seconds a plan")
    parser.add_argument("--nodes", type=int, nargs=2, default=(2, 10), help="fewest and most")
    parser.add_argument("--jobs", type=int, nargs=2, default=(2, 20), help="fewest and most")
    print_json(summary(list(results(parser.parse_args()))))


if __name__ == "__main__":
    main()
