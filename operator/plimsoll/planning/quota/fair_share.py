"""Fair-share priority: raise the urgency of queues that have used less of their share.

A queue's usage is its decayed average (see `usage_history.py`) in units of its fair share, over all
GPU types together that a job can run on. The credit makes a queue's waiting jobs more urgent among
others of their priority; running jobs are left alone. Guarantees and limits are unaffected.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from plimsoll.api.job_queue import JobQueue
from plimsoll.api.values.quantities import thousandths
from plimsoll.planning.quota.shares import Milli, children_of
from plimsoll_placement.model import NO_GPUS, Job

MOST_MILLI = 8000
"""The most that fair-share credit adds to a job's urgency.

Far more than age or a deadline can add; otherwise a queue could exceed its share by keeping more
jobs waiting.
"""
STEPS = 40
"""Credit is rounded to steps, so that not every hour triggers a new plan."""
MOST_SHARES = 2.0
"""Usage beyond twice a queue's share makes no further difference."""


def with_fair_share_priority(
    jobs: Iterable[Job], queues: Iterable[JobQueue], fair: Mapping[str, Milli]
) -> list[Job]:
    """The jobs, with the urgency of waiting ones raised by their queues' credit.

    `fair`: milli-GPUs by queue and type. A job whose queue does not exist has no credit.
    """
    credits_ = FairSharePriority(queues, fair)
    return [
        replace(job, urgency_milli=job.urgency_milli + more)
        if not (job.gang and job.is_running) and (more := credits_.milli(job))
        else job
        for job in jobs
    ]


class FairSharePriority:
    """The credit of queues, by the GPU types that matter."""

    def __init__(self, queues: Iterable[JobQueue], fair: Mapping[str, Milli]) -> None:
        self._children, self._fair = children_of(queues), fair
        self._known: dict[AbstractSet[str], dict[str, float]] = {}

    def milli(self, job: Job) -> int:
        """What the credit of its queue adds to a job's urgency, in thousandths."""
        kinds = frozenset[str](kind for role in job.roles for kind in role.yields) - {NO_GPUS}
        if kinds not in self._known:
            self._known[kinds] = self._of_queues(kinds)
        credit = self._known[kinds].get(job.queue, 0.0)
        return int(credit * STEPS) * MOST_MILLI // STEPS

    def _of_queues(self, kinds: AbstractSet[str]) -> dict[str, float]:
        """From 0 to 1: credit among siblings, with half the weight at each level further down."""
        found: dict[str, float] = {}
        level: dict[str | None, float] = {None: 0.0}
        part, whole = 1.0, 0.0
        while level:
            below = {
                name: inherited + part * credit
                for parent, inherited in level.items()
                for name, credit in self._among_siblings(parent, kinds).items()
            }
            found |= below
            whole += part if below else 0.0
            part /= 2
            level = {**below}
        return {name: credit / whole for name, credit in found.items()}

    def _among_siblings(self, parent: str | None, kinds: AbstractSet[str]) -> dict[str, float]:
        """How far each child that demands the types is behind the sibling that has had most."""
        had = {
            queue.metadata.name: self._shares_had(queue, kinds)
            for queue in self._children.get(parent, ())
            if not kinds.isdisjoint(self._fair.get(queue.metadata.name, ()))
        }
        most = max(had.values(), default=0.0)
        return {name: (most - each) / max(1.0, most) for name, each in had.items()}

    def _shares_had(self, queue: JobQueue, kinds: AbstractSet[str]) -> float:
        usage = (each for each in queue.status.usage if each.type in kinds)
        average = sum(thousandths(each.average) for each in usage)
        share = sum(m for kind, m in self._fair[queue.metadata.name].items() if kind in kinds)
        if not share:
            return MOST_SHARES if average else 0.0
        return min(MOST_SHARES, average / share)
