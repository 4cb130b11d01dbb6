"""The pressure on GPUs, and how a limit on it translates into weights of replicas.

A GPU with memory M and replicas with weights s and load l is under less pressure than p exactly if
the sum of l + p s is less than p M. So a limit turns the question into bin packing, exactly: all
numbers are scaled to integers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from plimsoll_placement.sharing.problem import Groups, SharingProblem

NO_PRESSURE = Fraction(0)


@dataclass(frozen=True, slots=True)
class Weighed:
    """Under a limit, the weights of replicas and what each GPU can carry, as integers."""

    weights: tuple[int, ...]
    capacities: tuple[int, ...]


def weighed(problem: SharingProblem, limit: Fraction) -> Weighed:
    """Weights such that replicas that fit the capacity of a GPU have less pressure there."""
    price, unit = limit.numerator, limit.denominator
    return Weighed(
        tuple(each.load * unit + price * each.weights_bytes for each in problem.sharers),
        tuple(price * each.memory_bytes - unit * each.load - 1 for each in problem.gpus),
    )


def sizes(problem: SharingProblem) -> Weighed:
    """The weights without any limit: what fits the capacity leaves some memory free."""
    return Weighed(
        tuple(each.weights_bytes for each in problem.sharers),
        tuple(each.memory_bytes - 1 for each in problem.gpus),
    )


def pressure(problem: SharingProblem, gpu: int, group: Sequence[int]) -> Fraction | None:
    """The pressure on a GPU with a group beside what stays; None if they leave no memory."""
    load, free = problem.gpus[gpu].load, problem.gpus[gpu].memory_bytes
    for sharer in group:
        load += problem.sharers[sharer].load
        free -= problem.sharers[sharer].weights_bytes
    return Fraction(load, free) if free > 0 else None


def largest(problem: SharingProblem, groups: Groups) -> Fraction | None:
    """The largest pressure on any GPU that takes replicas; None if one has no memory left."""
    worst = NO_PRESSURE
    for gpu, group in enumerate(groups):
        if group:
            here = pressure(problem, gpu, group)
            if here is None:
                return None
            worst = max(worst, here)
    return worst


def is_allowed(problem: SharingProblem, groups: Groups) -> bool:
    """Whether every group may be on its GPU, memory aside."""
    return all(
        len(group) <= gpu.room
        and all(problem.admits(sharer, place) for sharer in group)
        and all(problem.sharers[s].weights_bytes <= gpu.most_weights_bytes for s in group)
        for place, (gpu, group) in enumerate(zip(problem.gpus, groups, strict=True))
    )
