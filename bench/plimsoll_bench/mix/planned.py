"""The mix that a turn of the operator plans: from objects over snapshot and problem to a plan."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll.observe.observer import Observer
from plimsoll.planning.actions import Admit, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_bench.mix.cluster import DOLLAR, NAMESPACE, NOW, gpu_type_of, job_name, objects_of
from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.estimate.mix.problem import Mix, MixProblem, Model, Served, cost
from plimsoll_placement.model import JobName
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve_lean


@dataclass(frozen=True, slots=True)
class Planned:
    """The problem that the operator poses, what it found, and the plan made of it.

    `seconds` is the CPU time from the snapshot to the plan, `wall_seconds` the time on the clock.
    """

    problem: Problem
    solution: Solution
    plan: Plan
    seconds: float
    wall_seconds: float

    def worths(self, models: int) -> tuple[int, ...]:
        """What the whole load of each of so many models counts, in milli-GPUs; 0 without load."""
        jobs = self.problem.job_by_name
        names = (JobName(_qualified(job_name(place))) for place in range(models))
        return tuple(sum(r.wanted_milli for r in jobs[n].roles) if n in jobs else 0 for n in names)


def planned(problem: MixProblem, effort: Effort) -> Planned:
    """One turn of the operator, as far as the plan; another program verifies it as well."""
    objects = objects_of(problem)
    processor, wall = time.process_time(), time.perf_counter()
    snapshot = Observer().snapshot(objects, NOW)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve_lean(plan_input.problem, effort)
    plan = plan_of(snapshot, PlanResult(plan_input, solution))
    seconds, wall_seconds = time.process_time() - processor, time.perf_counter() - wall
    require_sound(plan_input.problem, solution.placements)
    return Planned(plan_input.problem, solution, plan, seconds, wall_seconds)


def mix_of(problem: MixProblem, found: Planned) -> Mix:
    """What the plan starts for each model, and what it is known to be short of the best."""
    counts = _counts(found.plan)
    served = tuple(
        _served(model, counts.get(_qualified(job_name(place)), {}))
        for place, model in enumerate(problem.models)
    )
    paid = cost(problem, served)
    score, bound = found.solution.score.levels, found.solution.bound.levels
    is_least = score[:-1] == bound[:-1]
    saved = _microdollars(found.problem, bound[-1] - score[-1]) if is_least else paid
    return Mix(served, paid, max(0, paid - saved), is_least_unserved=is_least)


def _qualified(name: str) -> str:
    return f"InferenceJob/{NAMESPACE}/{name}"


def _microdollars(problem: Problem, worth: int) -> int:
    """What an amount of the last level of the score is in micro-dollars an hour."""
    per_dollar = problem.weights.gpu_seconds_per_dollar * problem.weights.horizon_seconds
    return worth * 3600 * DOLLAR // (1000 * per_dollar)


def _counts(plan: Plan) -> Mapping[str, Mapping[str, int]]:
    """The replicas that the plan starts, by job and GPU type."""
    return {
        str(change.job): Counter(assignment.gpu_type for assignment in change.assignments)
        for change in plan.changes
        if isinstance(change, Admit)
    }


def _served(model: Model, counts: Mapping[str, int]) -> Served:
    """The replicas by option, which share the load as far as they carry it."""
    replicas = tuple(counts.get(gpu_type_of(option), 0) for option in model.options)
    carried = [
        count / needed if (needed := _needed(model, place)) else 0.0
        for place, count in enumerate(replicas)
    ]
    whole = max(1.0, sum(carried))
    return Served(replicas, tuple(_loads(model.loads, each / whole) for each in carried))


def _loads(loads: Sequence[int], share: float) -> tuple[float, ...]:
    return tuple(load * share for load in loads)


def _needed(model: Model, place: int) -> float:
    """How many replicas of an option carry the whole load; 0 if it cannot carry all sizes."""
    pairs = list(zip(model.loads, model.options[place].carries, strict=True))
    if any(load and not carries for load, carries in pairs):
        return 0.0
    return sum(load / carries for load, carries in pairs if load)
