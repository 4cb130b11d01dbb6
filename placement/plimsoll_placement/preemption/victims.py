"""What a job could give up for another: what is beyond its least size, or all of it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from plimsoll_placement.model import Assignments, GpuType, Job, JobName, QueueName
from plimsoll_placement.placing.place import Request
from plimsoll_placement.placing.retention import moves_off_closed, spot_share_holds
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import could_pay, pays, weighed_gain, weighed_loss
from plimsoll_placement.state.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Victim:
    """Replicas that a job could give up: those beyond its least size, or all.

    `loss`: the work that this throws away, weighed.
    """

    job: Job
    assignments: Assignments
    whole: bool
    loss: int

    def order(self, *, reclaim: bool) -> tuple[int, int, int, int, str]:
        """Shrinking comes before stopping, low priority before high, little loss before much.

        What is reclaimed comes first from who loses least, whatever the priorities.
        """
        last = -self.job.sequence, self.job.name
        if reclaim:
            return self.loss, self.whole, self.job.priority, *last
        return self.whole, self.job.priority, self.loss, *last


def may_give_way(request: Request, job: Job, assignments: Assignments, *, reclaim: bool) -> bool:
    """Whether a job could conceivably give up something for a request."""
    if job.pinned or job.name == request.job.name:
        return False
    if reclaim or job.priority < request.job.priority:
        return True
    return job.priority == request.job.priority and _has_spare(job, assignments)


def victims_of(ledger: Ledger, request: Request, job: Job, *, reclaim: bool) -> Iterator[Victim]:
    """What a preemptible job could give up: what is beyond its least size, then all of it.

    Nothing if that alone would throw away more than the request can gain.
    """
    stake = _stake(ledger, job)
    is_due = _is_due(request, job, reclaim=reclaim)
    if not is_due and not _could_pay(ledger.problem, request, stake.loss):
        return
    if stake.beyond:
        yield Victim(job, stake.beyond, whole=False, loss=stake.loss)
    if _may_stop(ledger, request, job, stake.assignments, reclaim=reclaim):
        rest = stake.assignments
        if stake.beyond:
            rest = tuple(each for each in rest if each not in stake.beyond)
        yield Victim(job, rest, whole=True, loss=stake.loss)


@dataclass(frozen=True, slots=True)
class _Stake:
    """What a placed job loses if it stops, and what it could do without, whoever asks."""

    assignments: Assignments
    loss: int
    beyond: Assignments


class _Stakes(dict[JobName, _Stake]):
    """What is at stake for each job that was looked at."""


def _stake(ledger: Ledger, job: Job) -> _Stake:
    """What is at stake for a placed job, kept for as long as it stays as it is placed.

    Thousands of requests look at the same jobs.
    """
    known = ledger.derived.part(_Stakes)
    assignments, stake = ledger.placed[job.name], known.get(job.name)
    if stake is None or stake.assignments is not assignments:
        loss = weighed_loss(ledger.problem, job, assignments, ())
        beyond = _beyond_least(ledger.problem, job, assignments)
        stake = known[job.name] = _Stake(assignments, loss, beyond)
    return stake


def _is_due(request: Request, job: Job, *, reclaim: bool) -> bool:
    """Whether a job gives way to a request whatever it loses."""
    return reclaim or (request.job.overdue and job.priority < request.job.priority)


def is_paid(
    ledger: Ledger,
    request: Request,
    assignments: Assignments,
    lost: Iterable[Victim],
    *,
    reclaim: bool,
) -> bool:
    """Whether what a request gains by its assignments is enough for what the victims lose."""
    parts = defaultdict[JobName, list[Victim]](list)
    for victim in lost:
        if not _is_due(request, victim.job, reclaim=reclaim):
            parts[victim.job.name].append(victim)
    loss = 0
    for name, mine in parts.items():
        now = ledger.placed.get(name, ())
        before = (*now, *chain.from_iterable(victim.assignments for victim in mine))
        loss += weighed_loss(ledger.problem, mine[0].job, before, now)
    after = ledger.placed[request.job.name]
    before = tuple(each for each in after if each not in set(assignments))
    gain = weighed_gain(ledger.problem, request.job, before, after)
    return pays(ledger.problem, gain, loss)


def _could_pay(problem: Problem, request: Request, loss: int) -> bool:
    """Whether a request could make up for a loss if its pods cost nothing."""
    role, yields = request.role, request.role.yields[request.gpu_type]
    if role.mixable:
        milli = -(-yields[0] // role.fineness)
    else:
        milli = yields[role.counts.index(len(request.replicas))]
    return could_pay(problem, request.job, milli, loss)


def _has_spare(job: Job, assignments: Assignments) -> bool:
    return job.gang and job.size(assignments) > job.roles[0].least


def _beyond_least(problem: Problem, job: Job, assignments: Assignments) -> Assignments:
    """What a gang could do without; nothing on closed nodes, where it cannot restart smaller."""
    if not job.gang or moves_off_closed(problem, job, assignments):
        return ()
    beyond = job.beyond_least(assignments)
    if not beyond:
        return ()
    kept = tuple(each for each in assignments if each not in beyond)
    return beyond if spot_share_holds(problem, job, kept) else ()


def _may_stop(
    ledger: Ledger, request: Request, victim: Job, assignments: Assignments, *, reclaim: bool
) -> bool:
    """Whether a victim may be stopped: lower in priority, or (to reclaim) beyond its guarantee."""
    if victim.priority >= request.job.priority and not reclaim:
        return False
    chains, gpu_type = ledger.problem.queue_chain, assignments[0].gpu_type
    mine = chains.get(request.job.queue, ())
    if reclaim and victim.queue in mine and victim.priority >= request.job.priority:
        return False
    shared = mine if victim.roles and request.gpu_type == gpu_type else ()
    return not any(
        queue not in shared and is_owed(ledger, queue, gpu_type)
        for queue in chains.get(victim.queue, ())
    )


def is_owed(ledger: Ledger, queue: QueueName, gpu_type: GpuType) -> bool:
    """Whether a queue holds no more than its guarantee of a type."""
    guaranteed = ledger.problem.queue_by_name[queue].guaranteed.get(gpu_type, 0)
    return 0 < ledger.queue_used[queue, gpu_type] <= guaranteed


def reprieve(ledger: Ledger, removed: list[Victim]) -> list[Victim]:
    """Give back what still fits, the most important first; a part only if the rest is placed.

    Returns what did not come back.
    """
    lost: list[Victim] = []
    for victim in reversed(removed):
        standing = victim.whole or victim.job.name in ledger.placed
        if not (standing and ledger.take(victim.job, victim.assignments)):
            lost.append(victim)
    return lost[::-1]
