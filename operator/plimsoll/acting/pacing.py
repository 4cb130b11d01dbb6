"""Limit how much of a plan is acted on in one turn."""

from collections import Counter
from collections.abc import Callable, Iterable

from plimsoll.acting.step import Step, only_reports, urgency
from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Admit, Change

FEWEST_IN_FLIGHT = 256
MOST_REPORTED_OF_ONE = 32
"""How many jobs of one namespace may have status-only writes under way; only such writes wait."""
MOST_NEWS_OF_ONE = 512
"""How many of which something new is said: such as that they have started."""


def most_in_flight(jobs: int) -> int:
    """How many jobs may have writes under way: a quarter of them where there are many.

    What does not fit is planned again, and a plan for thousands of jobs takes as long as hundreds
    of writes.
    """
    return max(FEWEST_IN_FLIGHT, jobs // 4)


class ReportingPace:
    """Limits status-only steps under way per namespace: a thousand of them are not urgent.

    A step held back is computed anew in the next turn; steps that change placements are never held
    back, nor that a job cannot run. What is news of a job waits for no repetitions.
    """

    def __init__(self) -> None:
        self._under_way: Counter[tuple[str, bool]] = Counter()

    def has_room(self, step: Step) -> bool:
        """Whether a step may begin."""
        if not only_reports(step) or urgency(step) == 0:
            return True
        most = MOST_NEWS_OF_ONE if is_news(step) else MOST_REPORTED_OF_ONE
        return self._under_way[_kind(step)] < most

    def begin(self, step: Step) -> None:
        """Count a step that begins."""
        if only_reports(step):
            self._under_way[_kind(step)] += 1

    def end(self, step: Step) -> None:
        """Stop counting a step that has ended."""
        if only_reports(step):
            self._under_way[_kind(step)] -= 1


def is_news(step: Step) -> bool:
    """Whether a step gives a job another reason, rather than other words or numbers for it."""
    return step.status.reason != step.job.status_written.reason


def _kind(step: Step) -> tuple[str, bool]:
    return step.job.resource.metadata.namespace, is_news(step)


def due_changes(
    changes: Iterable[Change], *, is_busy: Callable[[JobName], bool], room: int
) -> tuple[list[Change], frozenset[JobName]]:
    """The changes to make now, and the jobs that must begin no other write until the rest is made.

    First all that free capacity, then as many others as there is room for. None while a job that is
    to give something up `is_busy` with a write, as the two writes would race; then no such job may
    begin another. Jobs whose users edit them all the time always have something to write, and would
    never be found idle together. What is left out is planned again.
    """
    ordered = sorted(changes, key=lambda change: isinstance(change, Admit))
    freeing = [change for change in ordered if not isinstance(change, Admit)]
    if any(is_busy(change.job) for change in freeing):
        return [], frozenset(change.job for change in freeing)
    return ordered[: max(len(freeing), room)], frozenset()
