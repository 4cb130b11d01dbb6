"""Reserve nodes for a gang that has waited long, and keep other jobs off them.

Freed capacity goes to whatever fits into it. So while small jobs keep arriving, a large gang would
never find room, however urgent it is. After some time, nodes are kept free for the most urgent such
gang: no job that is not more urgent is placed there, unless it will finish in time. So are those
that were bought for a gang while the others of them are on their way.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from plimsoll.api.parts.conditions import condition
from plimsoll.api.placement_policy import Reservation as Rules
from plimsoll.naming import first_few
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.training.expected_end import expected_ends, work_seconds
from plimsoll.planning.training.order import head_start_milli
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.heuristics.backfill import Room, room_to_come
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Job, LeftOut, NodeName, QueueName
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.problem import Problem

FOR_WANT_OF_ROOM: Final = frozenset(
    {
        Reason.INSUFFICIENT_GPUS,
        Reason.INSUFFICIENT_RESOURCES,
        Reason.LOWER_PRIORITY,
        Reason.POWER_BUDGET,
        Reason.RESERVED,
        Reason.SPOT_SHARE,
        Reason.TOPOLOGY_UNSATISFIED,
    }
)
"""The reasons of jobs that wait for room. A job that waits for another reason, such as its queue's
limit, would not start on free nodes either."""

_MOST_TRIED: Final = 8
"""How many kinds of gangs are searched for room to come, since each search takes a while."""

LEFT_OUT: Final = LeftOut(
    job={
        "name": "only decides who is tried first",
        "part_of": "says whose part it is, and asks for nothing",
        "sequence": "only decides who is tried first",
        "urgency_milli": "only decides who is tried first",
        "preferred_level": "only decides which nodes are taken",
        "crossing_percent": "only decides which type is taken",
        "pinned": "what waits has nothing to keep",
        "restart_seconds": "only decides which nodes are taken",
        "checkpoint_seconds": "only decides which nodes are taken",
        "payback_seconds": "what waits is not stopped",
    },
    role={},
)
"""What does not decide whether a gang will find room."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes that are kept free for a gang that has waited since a given time.

    `adjustment`: the jobs that may not be placed there, as if they could not run there.
    """

    job: JobName
    nodes: tuple[NodeName, ...]
    since: datetime
    adjustment: Adjustment

    def to_the_gang(self) -> str:
        """What the gang's status says."""
        return f"{self._nodes()} kept free for it"

    def to_others(self) -> str:
        """What the status of jobs says that would have room there."""
        since = f"{self.since:%Y-%m-%d %H:%M} UTC"
        return (
            f"there is room for it, but {self._nodes()} kept free for {self.job},"
            f" which has waited since {since}"
        )

    def _nodes(self) -> str:
        return f"{first_few(self.nodes)} {'is' if len(self.nodes) == 1 else 'are'}"


class Reservations:
    """Makes reservations, and caches the jobs as they are when kept off nodes.

    `arriving`: the nodes that are there of those on which gangs will start once the others come.
    `haste`: what is added to the urgency of jobs because they are long (see `training/order.py`).
    """

    def __init__(self) -> None:
        self.arriving: Mapping[JobName, AbstractSet[str]] = {}
        self.haste: Mapping[SolverName, int] = {}
        self._less: dict[SolverName, tuple[Job, int, Job]] = {}

    def of(
        self,
        problem: Problem,
        snapshot: Snapshot,
        later: Problem | None = None,
        too_large: Sequence[Job] = (),
    ) -> Reservation | None:
        """The nodes to keep for the most urgent gang that has waited long, or has nodes coming.

        `later`: the same problem once all terminating pods have gone, if there are any.
        `too_large`: the jobs that could not run even alone on the nodes that are there.
        """
        found = _most_urgent(problem, snapshot, later)
        found = found or self._arrives(problem, too_large, snapshot)
        if found is None:
            self._less.clear()
            return None
        gang, since, room = found
        usable = {node.name for node in problem.nodes if node.usable}
        used = _used(problem)
        off = {
            job.name: job
            for job in problem.jobs
            if not self._goes_before(job, gang, snapshot)
            and not (gang.name in self.arriving and _is_older(job, gang))
            and not _is_owed(problem, used, job)
            and not _must_move(job, usable)
            and not _is_done_in_time(snapshot, job, room)
        }
        nodes = problem.bits_of(room.nodes)
        less = {
            name: self._without(job, nodes & ~problem.bits_of(_nodes_of_whole(problem, job)))
            for name, job in off.items()
        }
        self._less = {name: each for name, each in self._less.items() if name in less}
        adjustment = Adjustment(jobs=less, originals=off)
        return Reservation(JobName(gang.name), room.nodes, since, adjustment)

    def _arrives(
        self, problem: Problem, too_large: Sequence[Job], snapshot: Snapshot
    ) -> tuple[Job, datetime, Room] | None:
        """The most urgent gang with nodes on their way, and those that have arrived."""
        found: list[tuple[Job, datetime, Room]] = []
        for job in (*problem.jobs, *too_large) if self.arriving else ():
            mine = self.arriving.get(JobName(job.name))
            if mine and job.gang and not job.running:
                nodes = tuple(node.name for node in problem.nodes if node.name in mine)
                view = snapshot.job_by_name[JobName(job.name)]
                since = view.resource.metadata.creation_timestamp or snapshot.now
                found.append((job, since, Room(nodes, None)))
        return min(found, key=lambda each: (-each[0].priority, each[0].sequence), default=None)

    def _goes_before(self, job: Job, gang: Job, snapshot: Snapshot) -> bool:
        """Whether a job may take what is kept for the gang; for running jobs, priority decides.

        That a job is smaller, shorter or longer does not count: otherwise most could take it.
        """
        if job.name == gang.name or job.priority > gang.priority:
            return True
        is_as_important = job.priority == gang.priority and not job.running
        mine, its = (self._urgency_whatever_its_size(each, snapshot) for each in (job, gang))
        return is_as_important and mine > its

    def _urgency_whatever_its_size(self, job: Job, snapshot: Snapshot) -> int:
        """A job's urgency without what its size and its length add to it."""
        view = snapshot.job_by_name.get(JobName(job.whole_name))
        head_start = head_start_milli(view.resource) if view is not None else 0
        return job.urgency_milli - head_start - self.haste.get(job.name, 0)

    def _without(self, job: Job, nodes: int) -> Job:
        """The job as if it could not run on these nodes; the same object as before if possible."""
        if not any(role.eligible & nodes for role in job.roles):
            return job
        known = self._less.get(job.name)
        if known is None or known[0] is not job or known[1] != nodes:
            roles = (replace(role, eligible=role.eligible & ~nodes) for role in job.roles)
            known = self._less[job.name] = (job, nodes, replace(job, roles=tuple(roles)))
        return known[2]


def _most_urgent(
    problem: Problem, snapshot: Snapshot, later: Problem | None
) -> tuple[Job, datetime, Room] | None:
    """The most urgent gang that has waited long, since when, and where room comes for it."""
    waiting = sorted(_waiting(problem, snapshot), key=_turn)
    ends = {SolverName(name): s for name, s in expected_ends(snapshot).items()} if waiting else {}
    tried: set[Hashable] = set()
    for gang, since in waiting:
        if len(tried) == _MOST_TRIED:
            break
        kind = gang.signature(LEFT_OUT)
        if kind in tried:
            continue
        tried.add(kind)
        room = room_to_come(problem, gang, ends, later)
        if room is not None:
            return gang, since, room
    return None


def _turn(waiting: tuple[Job, datetime]) -> tuple[int, int, datetime, str]:
    gang, since = waiting
    return -gang.priority, -gang.urgency_milli, since, gang.name


def _waiting(problem: Problem, snapshot: Snapshot) -> Iterator[tuple[Job, datetime]]:
    after = (snapshot.policy.spec.reservation if snapshot.policy else Rules()).after
    if not after:
        return
    for job in problem.jobs:
        # A gang that asks for one GPU has room as soon as any is freed.
        if job.gang and not job.running and job.roles[0].least_gpu_milli > WHOLE_GPU_MILLI:
            since = waits_since(snapshot.job_by_name[JobName(job.name)])
            if since is not None and snapshot.now - since >= after:
                yield job, since


def waits_since(view: JobView) -> datetime | None:
    """Since when a job has waited for room; None if it waits for something else."""
    admitted = condition(view.resource.status.conditions, "Admitted")
    if admitted is None or admitted.status == "True" or admitted.reason not in FOR_WANT_OF_ROOM:
        return None
    return admitted.last_transition_time


def _is_older(job: Job, gang: Job) -> bool:
    """Whether a waiting job of the gang's priority is older."""
    return job.priority == gang.priority and not job.running and job.sequence < gang.sequence


def _used(problem: Problem) -> Mapping[tuple[QueueName, GpuType], int]:
    """The milli-GPUs that queues use, including those below them, by type."""
    used = Counter[tuple[QueueName, GpuType]]()
    for job in problem.jobs:
        milli = {role.name: role.shape.gpu_milli for role in job.roles}
        for assignment in job.running:
            for queue in problem.queue_chain.get(job.queue, ()):
                used[queue, assignment.gpu_type] += milli.get(assignment.role, 0) * len(
                    assignment.nodes
                )
    return used


def _is_owed(problem: Problem, used: Mapping[tuple[QueueName, GpuType], int], job: Job) -> bool:
    """Whether a waiting job's least size is within the guarantee of one of its queues."""
    least = sum(role.least_gpu_milli for role in job.roles)
    return not job.running and any(
        used.get((queue, kind), 0) + least <= problem.queue_by_name[queue].guaranteed.get(kind, 0)
        for queue in problem.queue_chain.get(job.queue, ())
        for role in job.roles
        for kind in role.yields
    )


def _must_move(job: Job, usable: AbstractSet[NodeName]) -> bool:
    """Whether part of a job is on an unusable node, so that it needs any place there is."""
    return not _nodes_of(job) <= usable


def _nodes_of(job: Job) -> set[NodeName]:
    return {name for assignment in job.running for name in assignment.nodes}


def _nodes_of_whole(problem: Problem, job: Job) -> set[NodeName]:
    """Where a job runs; for the missing part of a job, where the whole job runs."""
    return _nodes_of(problem.job_by_name.get(SolverName(job.whole_name), job))


def _is_done_in_time(snapshot: Snapshot, job: Job, room: Room) -> bool:
    """Whether a job will end before the gang can start, wherever it begins at its least size."""
    view = snapshot.job_by_name.get(JobName(job.whole_name))
    if room.seconds is None or job.running or view is None or view.training is None:
        return False
    role = job.roles[0]
    times = [work_seconds(view.training, kind, role.least) for kind in role.yields]
    return all(seconds is not None and seconds <= room.seconds for seconds in times)
