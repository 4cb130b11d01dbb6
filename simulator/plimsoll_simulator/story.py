"""What happens on a twin and when: what users submit, and what meanwhile becomes of its nodes."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from plimsoll_simulator.cluster.provider import Rental
from plimsoll_simulator.diary import NodeLife, Stay
from plimsoll_simulator.programs.serving import Service
from plimsoll_simulator.programs.training import Run
from plimsoll_simulator.twin import Twin, TwinTerms, lived

TICK_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Event:
    """What happens at a time, in seconds since the beginning."""

    seconds: float
    happen: Callable[[Twin], object]


@dataclass(frozen=True, slots=True)
class Lived:
    """What became of a workload.

    `seconds`: when all was over; `plan_seconds`: the CPU seconds of each plan's solver; `rentals`:
    the nodes that were paid for.
    """

    runs: Sequence[Run]
    services: Sequence[Service]
    stays: Sequence[Stay]
    nodes: Sequence[NodeLife]
    seconds: float
    plan_seconds: Sequence[float]
    rentals: Sequence[Rental] = ()


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a story is: seconds since its beginning, and how many of its jobs are done."""

    seconds: float
    submitted: int
    done: int


@dataclass(frozen=True, slots=True)
class End:
    """When a story is over.

    Once everything is submitted and all jobs are done, or none has run, nor anything happened, for
    `patience_seconds`. Or else, where `seconds` are given, so long after the beginning.
    """

    patience_seconds: float = 86_400.0
    seconds: float | None = None

    def has_come(self, now: float, idle: float, *, all_done: bool) -> bool:
        """Whether it is over, if nothing has happened for `idle` seconds."""
        if self.seconds is not None:
            return now >= self.seconds
        return all_done or idle >= self.patience_seconds


def told(
    submissions: Iterable[Event],
    meanwhile: Iterable[Event] = (),
    *,
    terms: TwinTerms | None = None,
    progress: Callable[[Progress], None] = lambda _: None,
    end: End = End(),
) -> Lived:
    """Live from the beginning to the end.

    Of what happens at one time, `meanwhile` comes first. `progress` is called once a simulated
    minute.
    """
    at_first, later = _parted(meanwhile)
    submitted_first, submitted_later = _parted(submissions)

    async def story(twin: Twin) -> None:
        for event in (*at_first, *submitted_first):
            event.happen(twin)
        async with asyncio.TaskGroup() as group:
            others = group.create_task(_happen(later, twin))
            submitting = group.create_task(_happen(submitted_later, twin))
            idle, is_over = 0.0, False
            while not is_over:
                await asyncio.sleep(TICK_SECONDS)
                await asyncio.sleep(0)  # What happens at this very time comes first.
                runs, now = twin.training.runs.values(), twin.clock.monotonic()
                left = [run for run in runs if run.account.completed is None]
                progress(Progress(now, len(runs), len(runs) - len(left)))
                nothing_comes = submitting.done() and others.done()
                is_idle = nothing_comes and not any(run.gang is not None for run in left)
                idle = idle + TICK_SECONDS if is_idle else 0.0
                is_over = end.has_come(now, idle, all_done=submitting.done() and not left)
            others.cancel()
            submitting.cancel()
        twin.training.advance()

    twin = lived(story, terms)
    return Lived(
        [*twin.training.runs.values()],
        twin.serving.services(),
        [*twin.diary.stays()],
        [*twin.diary.nodes()],
        twin.clock.monotonic(),
        twin.solver.seconds,
        twin.provider.rentals(),
    )


def _parted(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """What is there before the operator looks for the first time, and what happens later."""
    ordered = sorted(events, key=lambda each: each.seconds)
    count = bisect_right(ordered, 0.0, key=lambda each: each.seconds)
    return ordered[:count], ordered[count:]


async def _happen(events: Iterable[Event], twin: Twin) -> None:
    for event in events:
        await asyncio.sleep(event.seconds - twin.clock.monotonic())
        event.happen(twin)
