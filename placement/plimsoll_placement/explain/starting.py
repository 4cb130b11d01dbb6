"""The earliest time at which a waiting job can start, by what is known of when others end.

The cluster is planned again as it will be after each end, with all that is placed where it is. No
arrivals, failures or early ends are assumed, so this says what is due and promises nothing.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from plimsoll_placement.explain.again import NOTHING, Again, Replanned
from plimsoll_placement.explain.changes.relaxing import Relaxation
from plimsoll_placement.model import Job, JobName

Ends = Mapping[JobName, int]
"""In how many seconds running jobs are expected to end, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Start:
    """A job can start in this many seconds, once the last of `after` has ended, and not sooner.

    `in_turn_seconds`: with all waiting jobs planned in their turn, by the first plan that is found;
    None if its turn does not come within the known ends.
    """

    seconds: int
    after: tuple[JobName, ...]
    in_turn_seconds: int | None


def earliest_start(
    again: Again, job: Job, ends: Ends, relaxation: Relaxation = NOTHING
) -> Start | None:
    """When a job can start; None if even all known ends do not make room for it."""
    placed = {each.name for each, _ in again.held(job)}
    # An overdue job has not ended yet: its place is not free before the next second.
    known = {name: max(1, seconds) for name, seconds in ends.items() if name in placed}
    times = sorted({0, *known.values()})

    def by(plan: Callable[..., Replanned]) -> Callable[[int], bool]:
        def runs(seconds: int) -> bool:
            gone = [name for name, end in known.items() if end <= seconds]
            return plan(job, relaxation, gone=gone).runs

        return runs

    first = _first(times, by(again.firm().plan))
    if first is None:
        return None
    after = tuple(sorted(name for name, end in known.items() if end == first))
    later = [seconds for seconds in times if seconds >= first]
    return Start(first, after, _first(later, by(again.quick().plan_with_all)))


def _first(times: Sequence[int], runs: Callable[[int], bool]) -> int | None:
    """The first time from which the job runs: what has ended takes no room again."""
    place = bisect_left(times, x=True, key=runs)
    return times[place] if place < len(times) else None
