"""Lift the protection of jobs that have stood in the way of a guarantee for too long.

A job may ask not to be disturbed: by `disruption`, by PodDisruptionBudgets, by workers that have
already ended. What it holds beyond its queue's guarantee is borrowed all the same. So if a job of
another queue has waited for longer than the policy's grace for what that queue is guaranteed, no
borrower's protection holds, just as Karpenter's `terminationGracePeriod` overrides
`do-not-disrupt`.

All borrowers of the GPU type lose their protection, not just enough of them: the plan finds which
of them free the capacity at the least cost, and disturbs no more than it must. The policy's own
budgets still hold.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicySpec
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.quota.reservation import waits_since
from plimsoll.planning.quota.shares import guaranteed
from plimsoll.planning.training.batch_limits import allowed_counts

Chain = tuple[str, ...]
"""A queue and its ancestors."""
Held = Mapping[tuple[str, str], int]
"""Milli-GPUs by queue and GPU type."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A queue is owed part of its guarantee of a GPU type, and a job below it waits for that.

    `chain` is that of the waiting job's own queue.
    """

    queue: str
    gpu_type: str
    chain: Chain
    since: datetime

    def __str__(self) -> str:
        """The message for jobs that must yield to it."""
        since = f"{self.since:%Y-%m-%d %H:%M} UTC"
        return f"queue {self.queue} has waited for its guarantee since {since}"


class Reclaiming:
    """A snapshot's overdue guarantees, and the jobs whose protection does not hold against them."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._chain_of = _chains(snapshot)
        self._owned = {
            (queue.metadata.name, kind): milli
            for queue in snapshot.queues
            for kind, milli in guaranteed(queue).items()
            if milli
        }
        self._grace = (snapshot.policy.spec if snapshot.policy else _RULES).guarantee_grace
        self._late = list(_late(snapshot, self._grace)) if self._owned else []
        self._held: Held = _held(snapshot, self._chain_of) if self._late else {}
        self._claims = tuple(self._found())
        self._known: dict[tuple[str, str], Claim | None] = {}

    def against(self, view: JobView) -> str:
        """The claim against which a job's protection does not hold, in words; "" if it holds."""
        if not self._claims:
            return ""
        queue = view.resource.spec.queue
        found = (self._claim(queue, kind) for kind in sorted(_types(view.resource)))
        claim = next(filter(None, found), None)
        if claim is None:
            return ""
        minutes = self._grace.total_seconds() / 60
        return f"{claim}, longer than guaranteeGrace ({minutes:g} min), so its protection ended"

    def _claim(self, queue: str, kind: str) -> Claim | None:
        """The claim on this GPU type to which a queue's jobs must yield."""
        key = queue, kind
        if key not in self._known:
            found = (each for each in self._claims if self._borrows_from(queue, each, kind))
            self._known[key] = next(found, None)
        return self._known[key]

    def _borrows_from(self, queue: str, claim: Claim, kind: str) -> bool:
        """Whether each of a queue's ancestors not shared with the claim's exceeds its guarantee.

        The queue itself counts among them.
        """
        chain = self._chain_of(queue)
        if claim.gpu_type != kind or claim.queue in chain:
            return False
        apart = [name for name in chain if name not in claim.chain]
        return all(self._held[name, kind] > self._owned.get((name, kind), 0) for name in apart)

    def _found(self) -> Iterator[Claim]:
        """Overdue guarantees that jobs have waited for, longest first."""
        for since, view in self._late:
            chain = self._chain_of(view.resource.spec.queue)
            for kind, milli in _least(view.resource).items():
                for queue in chain:
                    if self._held[queue, kind] + milli <= self._owned.get((queue, kind), 0):
                        yield Claim(queue, kind, chain, since)


def _late(snapshot: Snapshot, grace: timedelta) -> Iterator[tuple[datetime, JobView]]:
    """The jobs that have waited for capacity beyond the grace, longest first."""
    waiting = ((waits_since(view), view) for view in snapshot.present if _may_claim(view))
    late = [(since, view) for since, view in waiting if since and snapshot.now - since >= grace]
    yield from sorted(late, key=lambda each: (each[0], each[1].name))


def _may_claim(view: JobView) -> bool:
    """Whether a job waits, and is entitled to what it names."""
    resource = view.resource
    if resource.status.placement is not None or view.is_over or view.refusal is not None:
        return False
    return resource.metadata.deletion_timestamp is None and not resource.spec.suspend


def _chains(snapshot: Snapshot) -> Callable[[str], Chain]:
    parents = {queue.metadata.name: queue.spec.parent for queue in snapshot.queues}
    known: dict[str, Chain] = {}

    def chain(queue: str) -> Chain:
        if queue not in known:
            found: dict[str, None] = {}
            at: str | None = queue
            while at is not None and at not in found:
                found[at] = None
                at = parents.get(at)
            known[queue] = tuple(found)
        return known[queue]

    return chain


def _held(snapshot: Snapshot, chain_of: Callable[[str], Chain]) -> Held:
    """What queues hold, including all their descendants."""
    held = Counter[tuple[str, str]]()
    for view in snapshot.jobs:
        chain = chain_of(view.resource.spec.queue)
        for kind, milli in _holds(view.resource):
            for queue in chain:
                held[queue, kind] += milli
    return held


def _holds(job: Job) -> Iterator[tuple[str, int]]:
    """The milli-GPUs of each assignment of a job, with their type."""
    placement = job.status.placement
    if placement is None:
        return
    milli = job.spec.milli_gpus_by_role
    for place in placement.assignments:
        yield place.accelerator_type, milli.get(place.role, 0) * len(place.nodes)


def _types(job: Job) -> set[str]:
    placement = job.status.placement
    return {place.accelerator_type for place in placement.assignments} if placement else set()


def _least(job: Job) -> Mapping[str, int]:
    """The fewest milli-GPUs that a job needs, for each type it can use."""
    if isinstance(job, TrainingJob):
        milli = allowed_counts(job)[0] * job.spec.workers.milli_gpus_per_worker
        return {each.type: milli for each in job.spec.accelerators}
    roles = job.spec.roles
    milli = sum(role.milli_gpus_per_pod * role.pods_per_replica for role in roles)
    return {profile.type: milli for role in roles for profile in role.profiles}


_RULES: Final = PlacementPolicySpec()
"""The rules without a policy."""
