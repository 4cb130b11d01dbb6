"""What is reported of gangs on one side."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_bench.beside.book import GangBook
from plimsoll_bench.beside.gangs import Gang

HALF_SECONDS = 5.0
"""A gang counts as half bound if for longer than this only some of its pods have nodes: pods are
bound one after the other."""


@dataclass(frozen=True, slots=True)
class GangFigures:
    """Seconds count from when the gangs were asked for, all at once.

    A wait ends when all of a gang's workers run. `gpus_working`: the work of all gangs as a share
    of what the GPUs could have done until the last has ended. `handover_s`: from the end of the
    gang that was the last to leave a node until the next one there works, median. `restarts`: how
    often a gang lost its nodes before its end.
    """

    makespan_s: float
    mean_wait_s: float
    longest_wait_s: float
    gpus_working: float
    handover_s: float
    half_bound_gangs: int
    longest_half_bound_s: float
    restarts: int


def figures_of(
    gangs: Sequence[Gang], books: Mapping[str, GangBook], began: float, gpus: int
) -> GangFigures:
    """The figures, once all gangs have ended."""
    waits = [_known(books[gang.name].started) - began for gang in gangs]
    makespan = max(_known(books[gang.name].ended) for gang in gangs) - began
    work = sum(gang.gpus * gang.seconds for gang in gangs)
    kept = [books[gang.name] for gang in gangs]
    return GangFigures(
        makespan_s=round(makespan, 1),
        mean_wait_s=round(statistics.fmean(waits), 1),
        longest_wait_s=round(max(waits), 1),
        gpus_working=round(work / (gpus * makespan), 3),
        handover_s=round(statistics.median(handovers(kept) or [0.0]), 2),
        half_bound_gangs=sum(book.longest_half > HALF_SECONDS for book in kept),
        longest_half_bound_s=round(max(book.longest_half for book in kept), 2),
        restarts=sum(book.restarts for book in kept),
    )


def handovers(books: Sequence[GangBook]) -> list[float]:
    """For each gang on nodes that others had left: the seconds since the last of them ended."""
    found: list[float] = []
    for book in books:
        started = _known(book.started)
        before = [
            other.ended
            for other in books
            if other.ended is not None and other.ended <= started and other.nodes & book.nodes
        ]
        if before:
            found.append(started - max(before))
    return found


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("the gang has not ended")
    return value
