"""Answers about plans without what their asker may not see: others' names, and where they are."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from plimsoll.cli.output.report import JobLine, Place, Purchase
from plimsoll.cli.output.results import (
    EarliestStart,
    GivingWay,
    Moved,
    Remedy,
    Simulated,
    Simulation,
    Why,
)
from plimsoll_console.views.sight import Sight

_changed = msgspec.structs.replace
_DIGITS: Final = 3


def redacted_why(sight: Sight, why: Why) -> tuple[Why, int]:
    """An explanation, and how many jobs were left out of it."""
    named = {
        *(name for remedy in why.remedies for name in remedy.displaced),
        *(loss.job for loss in (why.giving_way.losses if why.giving_way else ())),
        *(why.earliest_start.after if why.earliest_start else ()),
    }
    shown = Why(
        job=_line(sight, why.job),
        remedies=tuple(_remedy(sight, remedy) for remedy in why.remedies),
        giving_way=_giving_way(sight, why.giving_way) if why.giving_way else None,
        earliest_start=_start(sight, why.earliest_start) if why.earliest_start else None,
    )
    return shown, sum(not sight.named(name) for name in named)


def redacted_simulation(sight: Sight, found: Simulation) -> tuple[Simulation, int, float]:
    """A simulation, how many affected jobs were left out, and the GPU-hours that these lose."""
    hidden = [each for each in found.others if not sight.named(each.job)]
    others = tuple(_moved(sight, each) for each in found.others if sight.named(each.job))
    applied = tuple(_simulated(sight, each) for each in found.applied)
    shown = Simulation(applied, others, found.gpu_hours_lost)
    lost = round(sum(each.gpu_hours_lost for each in hidden), _DIGITS)
    return shown, len(hidden), lost


def _simulated(sight: Sight, each: Simulated) -> Simulated:
    why, _ = redacted_why(sight, each.why)
    return _changed(each, why=why, starts=sight.text(each.starts))


def _moved(sight: Sight, each: Moved) -> Moved:
    return _changed(each, before=_places(sight, each.before), after=_places(sight, each.after))


def _line(sight: Sight, line: JobLine) -> JobLine:
    return _changed(
        line,
        message=sight.text(line.message),
        missing=sight.text(line.missing),
        place=_places(sight, line.place),
        purchase=_purchase(sight, line.purchase) if line.purchase else None,
    )


def _remedy(sight: Sight, remedy: Remedy) -> Remedy:
    return _changed(
        remedy,
        changes=tuple(map(sight.text, remedy.changes)),
        place=_places(sight, remedy.place),
        displaced=_named(sight, remedy.displaced),
    )


def _giving_way(sight: Sight, gives: GivingWay) -> GivingWay:
    losses = tuple(loss for loss in gives.losses if sight.named(loss.job))
    return _changed(gives, place=_places(sight, gives.place), losses=losses)


def _start(sight: Sight, start: EarliestStart) -> EarliestStart:
    return _changed(start, after=_named(sight, start.after))


def _purchase(sight: Sight, bought: Purchase) -> Purchase:
    return _changed(
        bought,
        nodes=_pools(sight, bought.nodes),
        ordered=_pools(sight, bought.ordered),
        message=sight.text(bought.message),
    )


def _pools(sight: Sight, nodes: Mapping[str, int]) -> dict[str, int]:
    return dict(nodes) if sight.rights.pools else {}


def _places(sight: Sight, places: Iterable[Place]) -> tuple[Place, ...]:
    """Places without the nodes that may not be seen; how many GPUs there are, they still say."""
    return tuple(
        _changed(each, nodes={n: gpus for n, gpus in each.nodes.items() if n in sight.nodes})
        for each in places
    )


def _named(sight: Sight, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for name in names if sight.named(name))
