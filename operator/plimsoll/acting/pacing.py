"""How much of a plan is acted on in one turn."""

from collections.abc import Callable, Iterable

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Admit, Change

FEWEST_IN_FLIGHT = 256


def most_in_flight(jobs: int) -> int:
    """How many jobs' writes may be under way at a time: a quarter of many.

    What has no room is planned for again, and a plan of thousands of jobs takes as long as hundreds
    of writes.
    """
    return max(FEWEST_IN_FLIGHT, jobs // 4)


def due_changes(
    changes: Iterable[Change], *, is_busy: Callable[[JobName], bool], room: int
) -> list[Change]:
    """The changes to make now: all that free capacity, then as many more as there is room for.

    None while a job that is to give something up is still being written: what is planned to go
    there would be written down beside it. What is left out is planned for again.
    """
    ordered = sorted(changes, key=lambda change: isinstance(change, Admit))
    freeing = [change for change in ordered if not isinstance(change, Admit)]
    if any(is_busy(change.job) for change in freeing):
        return []
    return ordered[: max(len(freeing), room)]
