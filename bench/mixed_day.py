"""What a recorded day costs on the cheapest mix of GPU types against the best single type.

    python bench/mixed_day.py --requests FILE... --profiles characterization.csv --model NAME --json

`plimsoll_bench/mixed_day/arrivals.py` describes the requests and `replica.py` beside it the
profiles; prices are those of the column price_usd_per_hour, or of `--prices` (CSV: GPU, price).
`--bounds` divide requests into buckets by tokens of input; those above `--most-input` are left out
and counted.

What a replica carries of each bucket is found by simulating a few of a kind with requests of that
bucket alone, at random times. A fleet is chosen for the day's mean rates times a factor, from all
profiles or from a single one. The factor is the least (to half a percent) at which the share
`--attain` of all requests meets the objective when the whole day is simulated, so that all are
compared at the same attainment. A profile that would not attain it with any number of replicas has
no cost.

`by_size` sends each bucket to one profile alone, as the operator does for roles with
`requests: BySize`, by the buckets' profiles, and `spilling_by_size` lets requests go to any replica
that carries their bucket. `mix` and `spilling_mix` are the cheaper of these and of what the
operator plans (`plimsoll_bench/mix/planned.py`) for a service whose requests go anywhere: each to
the least loaded replica that carries its bucket. There, a replica does not carry what was simulated
of each bucket alone, but what replicas of its profile alone are measured to carry of this day, as
the operator corrects profiles. For a single profile there is no such difference.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from plimsoll_bench.mix.choosing import cheapest_mix
from plimsoll_bench.mix.planned import mix_of, planned
from plimsoll_bench.mix.profiles import Profile, profiles_in
from plimsoll_bench.mixed_day.arrivals import Day, requests_in
from plimsoll_bench.mixed_day.fleet import MILLION, Goal, attainment, carried_alone, spilling
from plimsoll_bench.mixed_day.replica import Objective, Replica, Service, services_in
from plimsoll_bench.output import print_json
from plimsoll_bench.recorded import rows_in
from plimsoll_placement.effort import Effort
from plimsoll_placement.estimate.mix.carriers import cheapest_carriers, cost_of, replicas_of
from plimsoll_placement.estimate.mix.problem import (
    MixProblem,
    Model,
    ModelName,
    Option,
    PoolName,
    Served,
    cost,
    unserved,
)
from plimsoll_placement.solve import load

DOLLAR = 10**6
PLENTY = 10**5
LEAST_FACTOR, MOST_FACTOR = 0.1, 100.0
FACTOR_WITHIN = 1.005
LEAST_PLANNED, MOST_PLANNED, PLANNED_STEP = 0.6, 3.0, 1.015
"""The factors for which plans are made, from the least on: they end soon after 1."""
MIXES = ("mix", "spilling_mix", "by_size", "spilling_by_size")


@dataclass(frozen=True, slots=True)
class Choice:
    """A GPU profile with its service and what a replica carries of each bucket."""

    profile: Profile
    service: Service
    carries: tuple[int, ...]

    @property
    def option(self) -> Option:
        """The profile as an option of the mix problem."""
        pool = PoolName(self.profile.gpu_type)
        return Option(pool, self.profile.gpus, self.profile.microdollars, self.carries)


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is rented at which factor, and what it attains."""

    served: Served
    microdollars: int
    factor: float
    attained: float


def choices_of(
    day: Day, services: Mapping[Profile, Service], goal: Goal, seed: int
) -> tuple[Choice, ...]:
    """The profiles that carry any bucket."""
    buckets = day.by_bucket()
    found = (
        Choice(
            profile,
            service,
            tuple(_millionths(carried_alone(sizes, service, goal, seed)) for sizes in buckets),
        )
        for profile, service in services.items()
    )
    return tuple(choice for choice in found if any(choice.carries))


def _millionths(rate: float) -> int:
    return int(rate * MILLION)


def posed(day: Day, choices: Sequence[Choice], factor: float) -> MixProblem:
    """The mix problem: mean rates times the factor, with plenty of every type."""
    rates = (len(each) / day.seconds for each in day.by_bucket())
    loads = tuple(_millionths(rate * factor) for rate in rates)
    model = Model(ModelName("day"), loads, tuple(choice.option for choice in choices))
    return MixProblem((model,), {choice.option.pool: PLENTY for choice in choices})


def alone(problem: MixProblem) -> Served:
    """The cheapest fleet, where there is one profile or none carries more."""
    return cheapest_mix(problem).served[0]


def planned_fleet(
    day: Day, choices: Sequence[Choice], singles: Mapping[str, Fleet | None], goal: Goal
) -> Fleet | None:
    """The cheapest fleet that the operator plans at some factor and that attains the goal."""
    known = [choice for choice in choices if singles[choice.profile.name] is not None]
    factor, seen = LEAST_PLANNED, set[tuple[int, ...]]()
    while known and factor <= MOST_PLANNED:
        problem = measured(day, known, singles, factor)
        mix = mix_of(problem, planned(problem, Effort()))
        counts = dict(zip(known, mix.served[0].replicas, strict=True))
        replicas = tuple(counts.get(choice, 0) for choice in choices)
        if replicas not in seen:
            seen.add(replicas)
            served = spilling(choices, Served(replicas, ()))
            attained = attainment(day, choices, served, goal)
            if attained >= goal.share:
                return Fleet(served, mix.microdollars, factor, attained)
        factor *= PLANNED_STEP
    return None


def measured(
    day: Day, choices: Sequence[Choice], singles: Mapping[str, Fleet | None], factor: float
) -> MixProblem:
    """The mix problem of all sizes together, by what each profile alone carries of the day."""
    rate = len(day.requests) / day.seconds
    options: list[Option] = []
    for choice in choices:
        fleet = singles[choice.profile.name]
        replicas = sum(fleet.served.replicas) if fleet is not None else 0
        carries = (_millionths(rate / max(replicas, 1)),)
        options.append(replace(choice.option, carries=carries))
    model = Model(ModelName("day"), (_millionths(rate * factor),), tuple(options))
    return MixProblem((model,), {option.pool: PLENTY for option in options})


def by_size(problem: MixProblem) -> Served:
    """The cheapest fleet if each bucket goes to one profile; what none carries is left out."""
    [model] = problem.models
    carried = tuple(
        load if any(option.carries[bucket] for option in model.options) else 0
        for bucket, load in enumerate(model.loads)
    )
    model = replace(model, loads=carried)
    carriers = cheapest_carriers(model) or ()
    counts = (replicas_of(model, carriers) or {}) if carriers else {}
    places = range(len(model.options))
    loads = tuple(
        tuple(
            float(load) if carrier == place else 0.0
            for load, carrier in zip(model.loads, carriers, strict=False)
        )
        for place in places
    )
    return Served(tuple(counts.get(place, 0) for place in places), loads)


class Fleets:
    """The fleets of one set of choices by factor, simulated once each."""

    __slots__ = ("_attained", "_choices", "_chosen", "_day", "_goal", "_spills")

    def __init__(
        self,
        day: Day,
        choices: Sequence[Choice],
        goal: Goal,
        *,
        spills: bool = False,
        chosen: Callable[[MixProblem], Served] = alone,
    ) -> None:
        self._chosen = chosen
        self._day = day
        self._choices = choices
        self._goal = goal
        self._spills = spills
        self._attained: dict[Served, float] = {}

    def at(self, factor: float) -> Fleet:
        """The cheapest for the rates times the factor, simulated over the day."""
        problem = posed(self._day, self._choices, factor)
        served = self._chosen(problem)
        return Fleet(served, cost(problem, (served,)), factor, self._attains(served))

    def least(self) -> Fleet | None:
        """The fleet at the least factor that attains the goal; None if none does."""
        low, high = LEAST_FACTOR, self.at(1.0)
        while not self.is_enough(high):
            if high.factor > MOST_FACTOR:
                return None
            low, high = high.factor, self.at(2 * high.factor)
        while high.factor > low * FACTOR_WITHIN:
            middle = self.at((low * high.factor) ** 0.5)
            if self.is_enough(middle):
                high = middle
            else:
                low = middle.factor
        return high

    def is_enough(self, fleet: Fleet) -> bool:
        """Whether it attains the goal."""
        return fleet.attained >= self._goal.share

    def _attains(self, served: Served) -> float:
        # With a single profile all requests go to it, whatever the loads.
        key = served if len(self._choices) > 1 else Served(served.replicas, ())
        if key not in self._attained:
            routed = spilling(self._choices, served) if self._spills else served
            self._attained[key] = attainment(self._day, self._choices, routed, self._goal)
        return self._attained[key]


def attains_idle(day: Day, service: Service, goal: Goal) -> bool:
    """Whether the goal would be attained with a replica for each request."""
    in_time = 0
    for request in day.requests:
        replica = Replica(service, goal.objective)
        replica.advance(request.arrives)
        replica.take(request, 1.0)
        replica.advance(float("inf"))
        in_time += replica.in_time
    return in_time >= goal.share * len(day.requests)


def singles_of(day: Day, choices: Sequence[Choice], goal: Goal) -> dict[str, Fleet | None]:
    """The fleet of each profile alone."""
    return {
        choice.profile.name: (
            Fleets(day, (choice,), goal).least()
            if attains_idle(day, choice.service, goal)
            else None
        )
        for choice in choices
    }


def said_of(fleet: Fleet | None, choices: Sequence[Choice]) -> dict[str, object] | None:
    """The figures of a fleet."""
    if fleet is None:
        return None
    counts = zip(choices, fleet.served.replicas, strict=True)
    return {
        "cost_per_hour": fleet.microdollars / DOLLAR,
        "attained": fleet.attained,
        "factor": fleet.factor,
        "replicas": {choice.profile.name: count for choice, count in counts if count},
    }


def figures(day: Day, choices: Sequence[Choice], goal: Goal) -> dict[str, object]:
    """The mixes, each single profile, and the ratios of the mixes to the best of those."""
    singles = singles_of(day, choices, goal)
    plan = planned_fleet(day, choices, singles, goal)
    sized = [
        Fleets(day, choices, goal, spills=each, chosen=by_size).least() for each in (False, True)
    ]
    fleets = (*(_cheaper(plan, each) for each in sized), *sized)
    mixes = dict(zip(MIXES, fleets, strict=True))
    costs = {name: fleet.microdollars for name, fleet in singles.items() if fleet is not None}
    best = min(costs, key=costs.__getitem__, default=None)
    names = {choice.profile.name: (choice,) for choice in choices}
    return {
        "best_single": best,
        **{name: said_of(fleet, choices) for name, fleet in mixes.items()},
        **{f"{name}_ratio": _ratio(fleet, costs) for name, fleet in mixes.items()},
        "singles": {name: said_of(fleet, names[name]) for name, fleet in singles.items()},
    }


def _cheaper(one: Fleet | None, other: Fleet | None) -> Fleet | None:
    """The first that costs least; None if there is none."""
    found = [each for each in (one, other) if each is not None]
    return min(found, key=lambda fleet: fleet.microdollars, default=None)


def _ratio(mix: Fleet | None, costs: Mapping[str, int]) -> float | None:
    return mix.microdollars / min(costs.values()) if mix is not None and costs else None


def carried(day: Day, choices: Sequence[Choice]) -> dict[str, object]:
    """The problem's data, and which buckets no profile carries."""
    problem = posed(day, choices, 1.0)
    model = problem.models[0]
    nothing = Served((0,) * len(choices), tuple((0.0,) * len(model.loads) for _ in choices))
    left = cheapest_mix(problem).served[0] if choices else nothing
    return {
        "requests": len(day.requests),
        "seconds": day.seconds,
        "requests_by_bucket": [len(each) for each in day.by_bucket()],
        "carried_per_second": {
            choice.profile.name: [each / MILLION for each in choice.carries] for choice in choices
        },
        "parting_saves": parting_saves(model),
        "uncarried_per_second": [each / MILLION for each in unserved(model, left)],
    }


def parting_saves(model: Model) -> float | None:
    """The share of the cost saved if each bucket goes to its own profile.

    For the mean rates, relative to the cheapest profile that carries all; None if none does.
    """
    places = range(len(model.options))
    alone = [cost_of(model, (place,) * len(model.loads)) for place in places]
    carriers, costs = cheapest_carriers(model), [each for each in alone if each is not None]
    parted = cost_of(model, carriers) if carriers is not None else None
    return 1 - parted / min(costs) if parted is not None and costs else None


def read_day(arguments: argparse.Namespace) -> tuple[Day, int]:
    """The day that the arguments name, and how many of its requests are left out."""
    everything = requests_in(arguments.requests, arguments.speed)
    most = arguments.most_input
    fitting = tuple(each for each in everything if each.input_tokens <= most)
    files = ", ".join(map(str, arguments.requests))
    if not fitting:
        raise SystemExit(f"{files}: no request has {most} tokens of input or less")
    if not everything[-1].arrives:
        raise SystemExit(f"{files}: all requests come at once")
    day = Day(fitting, tuple(sorted(arguments.bounds)), everything[-1].arrives)
    return day, len(everything) - len(fitting)


def read_services(arguments: argparse.Namespace) -> dict[Profile, Service]:
    """What a replica of the model does on each GPU profile."""
    rows = rows_in(arguments.profiles, about="model")
    prices = None if arguments.prices is None else rows_in(arguments.prices, about="GPU")
    profiles, services = profiles_in(rows, prices), services_in(rows, arguments.model)
    if not services:
        what = f"the model {arguments.model} has no GPU profile with rows that can be used"
        raise SystemExit(f"{arguments.profiles}: {what}")
    return {profiles[gpu]: each for gpu, each in services.items()}


def main() -> None:
    """Print the figures as one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--requests", type=Path, nargs="+", required=True)
    parser.add_argument("--speed", type=float, default=1.0, help="so many times as fast")
    parser.add_argument("--most-input", type=int, default=8192, help="tokens")
    parser.add_argument("--bounds", type=int, nargs="*", default=[512, 2048, 4096])
    parser.add_argument("--profiles", type=Path, required=True)
    parser.add_argument("--model", required=True, help="of the profiles")
    parser.add_argument("--prices", type=Path, help="CSV: GPU,price in dollars an hour")
    parser.add_argument("--first-token", type=float, default=5.0, metavar="SECONDS")
    parser.add_argument("--between-tokens-ms", type=float, default=100.0)
    parser.add_argument("--attain", type=float, default=0.99, help="share of requests")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true", help="one line instead of several")
    arguments = parser.parse_args()
    objective = Objective(arguments.first_token, arguments.between_tokens_ms / 1000)
    goal = Goal(objective, arguments.attain)
    load()
    day, left_out = read_day(arguments)
    choices = choices_of(day, read_services(arguments), goal, arguments.seed)
    said = figures(day, choices, goal) | carried(day, choices) | {"left_out": left_out}
    print_json(said, indent=None if arguments.json else 2)


if __name__ == "__main__":
    main()
