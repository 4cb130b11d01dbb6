"""What must hold of models that share GPUs, and the pressure they are under."""

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

from plimsoll_bench.sharing.models import Groups, Instance


def mistakes(instance: Instance, groups: Groups) -> tuple[str, ...]:
    """Everything that is wrong with an answer, in words; empty if it is sound."""
    return (*_misplaced(instance, groups), *_overfull(instance, groups))


def worst_pressure(instance: Instance, groups: Groups) -> Fraction:
    """The largest pressure on any GPU that has memory left."""
    loads = {model.name: model.load for model in instance.models}
    worst = Fraction(0)
    for group in groups:
        free = instance.memory_gb - _taken(instance, group)
        if free > 0:
            load = sum((loads.get(name, Fraction(0)) for name in group), Fraction(0))
            worst = max(worst, load / free)
    return worst


def fluid_bound(instance: Instance) -> Fraction:
    """The pressure if models could be divided at will, or of the worst model alone if more."""
    memory = instance.memory_gb
    alone = [model.load / (memory - model.size_gb) for model in instance.models]
    load = sum((model.load for model in instance.models), Fraction(0))
    free = memory * instance.gpus - sum(model.size_gb for model in instance.models)
    return max([load / free, *alone])


def _misplaced(instance: Instance, groups: Groups) -> Iterator[str]:
    """Every model is on one GPU, and nothing else is."""
    times = Counter(name for group in groups for name in group)
    known = {model.name for model in instance.models}
    for name in sorted(known | set(times)):
        wanted = int(name in known)
        if times[name] != wanted:
            yield f"model {name} is placed {times[name]} times, not {wanted}"
    if len(groups) > instance.gpus:
        yield f"{len(groups)} GPUs are used of {instance.gpus}"


def _overfull(instance: Instance, groups: Groups) -> Iterator[str]:
    """The models of a GPU leave some of its memory free."""
    for place, group in enumerate(groups):
        taken = _taken(instance, group)
        if group and taken >= instance.memory_gb:
            yield f"GPU {place} holds {taken} GB of {instance.memory_gb}"


def _taken(instance: Instance, group: tuple[str, ...]) -> Fraction:
    sizes = {model.name: model.size_gb for model in instance.models}
    return sum((sizes.get(name, Fraction(0)) for name in group), Fraction(0))
