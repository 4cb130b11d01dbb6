"""What a job could give up for another: what is beyond its least size, or all of it."""

from collections.abc import Iterator
from dataclasses import dataclass

from plimsoll_placement.model import Assignments, GpuType, Job, QueueName
from plimsoll_placement.placing.place import Request
from plimsoll_placement.placing.retention import moves_off_closed, spot_share_holds
from plimsoll_placement.score.score import held_milli
from plimsoll_placement.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Victim:
    """Replicas that a job could give up: those beyond its least size, or all."""

    job: Job
    assignments: Assignments
    whole: bool

    @property
    def order(self) -> tuple[bool, int, int, int, str]:
        """Shrinking comes before stopping, low priority before high, little loss before much."""
        loss = self.job.stop_seconds * held_milli(self.job, self.job.running)
        return self.whole, self.job.priority, loss, -self.job.sequence, self.job.name


def may_give_way(request: Request, job: Job, assignments: Assignments, *, reclaim: bool) -> bool:
    """Whether a job could conceivably give up something for a request."""
    if job.pinned or job.name == request.job.name:
        return False
    if reclaim or job.priority < request.job.priority:
        return True
    return job.priority == request.job.priority and _has_spare(job, assignments)


def victims_of(ledger: Ledger, request: Request, job: Job, *, reclaim: bool) -> Iterator[Victim]:
    """What a preemptible job could give up: what is beyond its least size, then all of it."""
    assignments = ledger.placed[job.name]
    beyond = _beyond_least(ledger, job, assignments)
    if beyond:
        yield Victim(job, beyond, whole=False)
    if _may_stop(ledger, request, job, assignments, reclaim=reclaim):
        yield Victim(job, tuple(a for a in assignments if a not in beyond), whole=True)


def _has_spare(job: Job, assignments: Assignments) -> bool:
    return job.gang and len(assignments) > job.roles[0].least


def _beyond_least(ledger: Ledger, job: Job, assignments: Assignments) -> Assignments:
    """What a gang could do without; nothing on closed nodes, where it cannot restart smaller."""
    if not job.gang or moves_off_closed(ledger.problem, job, assignments):
        return ()
    kept = assignments[: job.roles[0].least]
    if not spot_share_holds(ledger.problem, job, kept):
        return ()
    return assignments[len(kept) :]


def _may_stop(
    ledger: Ledger, request: Request, victim: Job, assignments: Assignments, *, reclaim: bool
) -> bool:
    """Whether a victim may be stopped: lower in priority, or (to reclaim) beyond its guarantee."""
    if victim.priority >= request.job.priority and not reclaim:
        return False
    mine = set(ledger.problem.queue_chain.get(request.job.queue, ()))
    if reclaim and victim.queue in mine and victim.priority >= request.job.priority:
        return False
    shared = (
        mine if victim.roles and request.gpu_type == assignments[0].gpu_type else set[QueueName]()
    )
    return not any(
        is_owed(ledger, queue, assignments[0].gpu_type)
        for queue in ledger.problem.queue_chain.get(victim.queue, ())
        if queue not in shared
    )


def is_owed(ledger: Ledger, queue: QueueName, gpu_type: GpuType) -> bool:
    """Whether a queue holds no more than its guarantee of a type."""
    guaranteed = ledger.problem.queue_by_name[queue].guaranteed.get(gpu_type, 0)
    return 0 < ledger.queue_used[queue, gpu_type] <= guaranteed


def reprieve(ledger: Ledger, removed: list[Victim]) -> None:
    """Give back what still fits, the most important first; a part only if the rest is placed."""
    for victim in reversed(removed):
        standing = victim.whole or victim.job.name in ledger.placed
        if standing:
            ledger.take(victim.job, victim.assignments)
