"""Now and then work everything out anew, and compare it with what was kept from turn to turn.

A turn looks only at what has changed. That must come to the same as looking at everything; if it
ever does not, a metric counts it, the log says of which job or node, and the loop forgets what it
kept.
"""

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any, Final

from plimsoll.clock import Clock
from plimsoll.observe.kept import Memo
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.supervision import count_failure
from plimsoll.vocabulary import logs, metrics

_MOST_NAMED: Final = 5
_log = logs.logger(__name__)


class RecheckedPart(StrEnum):
    """What is worked out anew."""

    SNAPSHOT = "Snapshot"
    PROBLEM = "Problem"


class Recheck:
    """Begins a comparison every so many seconds, beside the loop; 0: never."""

    def __init__(self, clock: Clock, *, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds
        self._begun_at = clock.monotonic()
        self._task: asyncio.Task[None] | None = None
        self._differing: frozenset[RecheckedPart] = frozenset()
        for part in RecheckedPart:
            metrics.INCREMENTAL_DIFFERENCES.labels(part)

    def turn(self, objects: Objects, snapshot: Snapshot, plan_input: PlanInput) -> None:
        """Begin to compare what was just worked out, if it is time to."""
        is_running = self._task is not None and not self._task.done()
        if not self._seconds or is_running or not _is_comparable(objects, snapshot, plan_input):
            return
        if self._clock.monotonic() < self._begun_at + self._seconds:
            return
        self._begun_at = self._clock.monotonic()
        self._task = asyncio.create_task(self._compare(objects, snapshot, plan_input))
        self._task.add_done_callback(lambda task: count_failure("recheck", task))

    def take_differing(self) -> frozenset[RecheckedPart]:
        """The parts that were found to differ since this was last asked."""
        found, self._differing = self._differing, frozenset[RecheckedPart]()
        return found

    async def _compare(self, objects: Objects, snapshot: Snapshot, plan_input: PlanInput) -> None:
        found = await asyncio.to_thread(lambda: [*differences(objects, snapshot, plan_input)])
        for part, names in found:
            metrics.INCREMENTAL_DIFFERENCES.labels(part).inc()
            _log.error("kept results differ from new ones", part=part, names=names[:_MOST_NAMED])
            self._differing |= {part}


def _is_comparable(objects: Objects, snapshot: Snapshot, plan_input: PlanInput) -> bool:
    """Whether nothing depends on what was seen earlier: a readable version, a maker, a fault."""
    all_are_readable = len(snapshot.nodes) == len(tuple(objects.nodes))
    return all_are_readable and not (snapshot.adopted.workloads or plan_input.faults)


def differences(
    objects: Objects, snapshot: Snapshot, plan_input: PlanInput
) -> Iterator[tuple[RecheckedPart, list[str]]]:
    """The parts that differ from what comes of looking at everything, with the names concerned."""
    seen = replace(Observer().snapshot(objects, snapshot.now), stuck=snapshot.stuck)
    if seen != snapshot:
        yield RecheckedPart.SNAPSHOT, [*_named(seen, snapshot)]
    alone = replace(snapshot, memo=Memo())
    problem = plan_input_of(alone, ProblemBuilder()).problem
    if problem != plan_input.problem:
        yield RecheckedPart.PROBLEM, [*_named(problem, plan_input.problem)]


def _named(some: Any, other: Any) -> Iterator[str]:  # noqa: ANN401 - snapshots or problems
    """The nodes and jobs in which they differ."""
    for field in ("jobs", "nodes"):
        mine, theirs = (_by_name(getattr(each, field)) for each in (some, other))
        yield from (n for n in sorted({*mine, *theirs}) if mine.get(n) != theirs.get(n))


def _by_name(items: Iterable[Any]) -> dict[str, Any]:
    return {str(item.name): item for item in items}
