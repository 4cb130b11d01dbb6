"""The fair shares that keep a job waiting although there is room for it.

Beyond its fair share a queue gains only half as much from a GPU, and so does each queue above it
that is beyond its own: in a deep tree of queues a job can count for less than nothing.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from plimsoll_placement.explain.changes.relaxing import Relaxation
from plimsoll_placement.explain.remains import remaining
from plimsoll_placement.explain.shortage.amounts import gpus
from plimsoll_placement.explain.shortage.diagnosis import place_until_stuck
from plimsoll_placement.model import GpuType, Job, Placements, Queue, QueueName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import least_use
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class RaiseShare:
    """Raise what a queue may use of a type before a GPU is worth less to it."""

    queue: QueueName
    gpu_type: GpuType
    milli: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The queue's fair share is that much larger."""
        queues = tuple(self._raised(q) if q.name == self.queue else q for q in problem.queues)
        return replace(problem, queues=queues), job

    def _raised(self, queue: Queue) -> Queue:
        return replace(
            queue, fair={**queue.fair, self.gpu_type: queue.fair[self.gpu_type] + self.milli}
        )

    def sentence(self) -> str:
        """Such as: raise the fair share of queue research for NVIDIA-L4 by 8."""
        return (
            f"raise the fair share of queue {self.queue} for {self.gpu_type} by {gpus(self.milli)}"
        )


def with_shares(
    problem: Problem, placements: Placements, job: Job, relaxation: Relaxation
) -> Relaxation:
    """The changes, plus the amount by which the job would exceed fair shares."""
    left, waiting = relaxation.applied(remaining(ledger_after(problem, placements)), job)
    ledger = Ledger(left)
    if place_until_stuck(ledger, waiting) is not None:
        return relaxation
    more: dict[GpuType, int] = defaultdict(int)
    for assignment in ledger.placed.get(waiting.name, ()):
        more[assignment.gpu_type] += (
            len(assignment.nodes) * waiting.role(assignment.role).shape.gpu_milli
        )
    return Relaxation((*relaxation.changes, *_raises(problem, placements, job, more)))


def _raises(
    problem: Problem, placements: Placements, job: Job, more: dict[GpuType, int]
) -> Iterator[RaiseShare]:
    used = least_use(problem, placements)
    for name in problem.queue_chain.get(job.queue, ()):
        fair = problem.queue_by_name[name].fair
        for kind in fair.keys() & more.keys():
            beyond = used.get((name, kind), 0) + more[kind] - fair[kind]
            if beyond > 0:
                yield RaiseShare(name, kind, beyond)
