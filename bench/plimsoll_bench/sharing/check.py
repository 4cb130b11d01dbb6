"""What must hold of models that share GPUs, and the pressure they are under.

As with plans, this reads nothing but the problem and the answer.
"""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from plimsoll_bench.sharing.shared_models import ModelName, Sharing, SharingProblem


def sharing_mistakes(problem: SharingProblem, sharing: Sharing) -> tuple[str, ...]:
    """Everything that is wrong with an answer, in words; empty if it is sound."""
    return (
        *_misplaced(problem, sharing),
        *_overfull(problem, sharing),
        *_misstated(problem, sharing),
    )


def worst_pressure(problem: SharingProblem, sharing: Sharing) -> Fraction:
    """The largest pressure on any GPU that has memory left."""
    loads = {model.name: model.load for model in problem.models}
    worst = Fraction(0)
    for group in sharing.groups:
        free = problem.memory_bytes - _taken(problem, group)
        if free > 0:
            load = sum((loads.get(name, Fraction(0)) for name in group), Fraction(0))
            worst = max(worst, load / free)
    return worst


def _misplaced(problem: SharingProblem, sharing: Sharing) -> Iterator[str]:
    """Every model is on one GPU, and nothing else is."""
    times = Counter(name for group in sharing.groups for name in group)
    for name in sorted({model.name for model in problem.models} | set(times)):
        wanted = sum(model.name == name for model in problem.models)
        if times[name] != wanted:
            yield f"model {name} is placed {times[name]} times, not {wanted}"
    if len(sharing.groups) > problem.gpus:
        yield f"{len(sharing.groups)} GPUs are used of {problem.gpus}"


def _overfull(problem: SharingProblem, sharing: Sharing) -> Iterator[str]:
    """The models of a GPU leave some of its memory free."""
    for place, group in enumerate(sharing.groups):
        taken = _taken(problem, group)
        if group and taken >= problem.memory_bytes:
            yield f"GPU {place} holds {taken} bytes of {problem.memory_bytes}"


def _misstated(problem: SharingProblem, sharing: Sharing) -> Iterator[str]:
    """The pressure is as stated, and no less than the bound."""
    worst = worst_pressure(problem, sharing)
    if worst != sharing.pressure:
        yield f"the pressure is {worst}, not {sharing.pressure}"
    if sharing.bound > worst:
        yield f"the bound {sharing.bound} is above the pressure {worst}"


def _taken(problem: SharingProblem, group: tuple[ModelName, ...]) -> int:
    sizes = {model.name: model.size_bytes for model in problem.models}
    return sum(sizes.get(name, 0) for name in group)
