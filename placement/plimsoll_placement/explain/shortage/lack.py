"""Why a job waits, as a value with its numbers and as one sentence for a status message."""

from dataclasses import dataclass

from plimsoll_placement.explain.shortage.amounts import gpus
from plimsoll_placement.explain.shortage.sentences import brief, full
from plimsoll_placement.explain.shortage.shortage import Reason, Shortage
from plimsoll_placement.model import QueueName

LONGEST_SENTENCE = 400


@dataclass(frozen=True, slots=True)
class Lack:
    """What keeps a job from running: what is lacking on each GPU type, the closest first.

    `alone`: even if nothing of Plimsoll's ran. Without shortages there is room for the job.
    `one_of_roles`: the job has several roles, and this is about the first without room.
    `beyond_fair`: a queue that the job would take beyond its fair share, if there is room.
    """

    reason: Reason
    shortages: tuple[Shortage, ...]
    alone: bool = False
    one_of_roles: bool = False
    beyond_fair: QueueName | None = None

    def sentence(self) -> str:
        """What is needed and what there is, in about 400 characters at most."""
        if not self.shortages:
            but = f", but queue {self.beyond_fair} is at its fair share" if self.beyond_fair else ""
            return f"there is room for it{but}; the next plan may place it"
        first, *others = self.shortages
        role = f"role {first.ask.role} " if self.one_of_roles else ""
        text = role + full(first, alone=self.alone) + self._about_all(first)
        return _with_others(text, [f"; or {brief(each)}" for each in others])

    def _about_all(self, first: Shortage) -> str:
        parts = [self._ahead(first), _pinned(first), self._costly(first), self._queue(first)]
        return "".join(f"; {part}" for part in parts if part)

    def _ahead(self, first: Shortage) -> str:
        if self.reason is not Reason.LOWER_PRIORITY:
            return ""
        total = sum(shortage.ahead_milli for shortage in self.shortages)
        return f"jobs of higher priority hold {_of_which_type(first.ahead_milli, total)}"

    def _costly(self, first: Shortage) -> str:
        total = sum(shortage.costly_milli for shortage in self.shortages)
        if not total:
            return ""
        held = _of_which_type(first.costly_milli, total)
        return f"jobs that would lose more work than it gains hold {held}"

    def _queue(self, first: Shortage) -> str:
        queue = first.queue
        if queue is None or first.reason is Reason.QUEUE_LIMIT or self.alone:
            return ""
        return f"queue {queue.queue} may still use {gpus(max(0, queue.milli))}"


def _pinned(first: Shortage) -> str:
    if not first.pinned_milli:
        return ""
    return f"jobs that must not be moved hold {gpus(first.pinned_milli)}"


def _of_which_type(milli: int, total: int) -> str:
    """What is held of the first type, or if nothing is, of the others."""
    return gpus(milli) if milli else f"{gpus(total)} of other types"


def _with_others(text: str, others: list[str]) -> str:
    for place, other in enumerate(others):
        left = len(others) - place
        if len(text) + len(other) > LONGEST_SENTENCE - len("; or 99 other types"):
            return f"{text}; or {left} other {'type' if left == 1 else 'types'}"
        text += other
    return text
