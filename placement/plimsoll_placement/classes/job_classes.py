"""Job classes: jobs that are alike, and what of them may stay where it runs.

Jobs that differ only in name and age form one class and share their variables: thousands of waiting
single-GPU jobs cost as much as one. A running job may stay exactly where it is, and only then is no
work lost; the running jobs of one class run on the same nodes.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from plimsoll_placement.classes.node_class import Load
from plimsoll_placement.model import (
    Assignment,
    Assignments,
    GpuType,
    Job,
    LeftOut,
    NodeName,
    Role,
    RoleName,
)
from plimsoll_placement.placing.retention import is_on_spot, stayable
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import (
    WHOLE_PERCENT,
    held_milli,
    pod_price,
    served_milli,
    worth,
)

LEFT_OUT: Final = LeftOut(
    job={
        "name": "added where replicas share spot nodes by their own job's share",
        "part_of": "says whose part it is, and asks for nothing",
        "sequence": "only decides who of a group comes first",
        "payback_seconds": "what a stop counts for is added",
        "overdue": "only decides which changes have a price",
    },
    role={
        "uncapped_draw_milli": "plans go by the draw of the shape",
        "load_nano": "only decides which replicas share a GPU, once all are placed",
    },
)
"""What jobs of one group may differ in."""

_WORTH = "only decides how much it is worth to run in one way rather than another"

LEFT_OUT_OF_ADMISSION: Final = LeftOut(
    job={
        **LEFT_OUT.job,
        "preferred_level": _WORTH,
        "crossing_percent": _WORTH,
        "restart_seconds": _WORTH,
        "checkpoint_seconds": _WORTH,
        "payback_seconds": _WORTH,
        "running": "added where it is on closed nodes; else only whether and what it serves",
    },
    role=LEFT_OUT.role,
)
"""The same where it is only decided who is admitted."""


@dataclass(frozen=True, slots=True, eq=False)
class Stay:
    """What runs and may stay: a whole gang as one unit, or like replicas on the same nodes.

    `units` are the assignments of each unit, `loads` what one unit puts on nodes. `worth` is what
    the last level gains when a unit stays rather than stops.
    """

    role: Role
    gpu_type: GpuType
    units: tuple[Assignments, ...]
    loads: tuple[Load, ...]
    worth: int
    spot_replicas: int

    @property
    def replicas(self) -> int:
        """The replicas in one unit."""
        return len(self.units[0])


@dataclass(frozen=True, slots=True, eq=False)
class JobClass:
    """Jobs that are alike, the older first; `stays` are those of each of them.

    `stop_loss` is what is lost of each job if nothing of it stays, `served_milli` what each serves
    as it runs now.
    """

    jobs: tuple[Job, ...]
    weight: int
    stays: tuple[Stay, ...]
    stop_loss: int
    served_milli: int

    @property
    def job(self) -> Job:
        """One of the jobs, for what all have in common."""
        return self.jobs[0]

    @property
    def size(self) -> int:
        """The number of jobs."""
        return len(self.jobs)


def job_classes(problem: Problem) -> tuple[JobClass, ...]:
    """The jobs that are not pinned, by class, ordered by their first names."""
    alike: dict[Hashable, list[Job]] = defaultdict(list)
    for job in _movable(problem):
        alike[job.signature(LEFT_OUT), job.stop_seconds, _share_of_its_own(job)].append(job)
    return _job_classes(problem, alike)


def admission_classes(problem: Problem) -> tuple[JobClass, ...]:
    """The same for admission only, where a job's present place matters only on closed nodes."""
    alike: dict[Hashable, list[Job]] = defaultdict(list)
    stuck = {job.name: _is_on_closed(problem, job) for job in problem.jobs}
    for job in _movable(problem):
        served = 0 if job.gang else served_milli(job, job.running)
        runs = job.running if stuck[job.name] else (job.is_running, served)
        alike[job.signature(LEFT_OUT_OF_ADMISSION), runs, _share_of_its_own(job)].append(job)
    return tuple(
        job_class if stuck[job_class.job.name] else replace(job_class, stays=())
        for job_class in _job_classes(problem, alike)
    )


def _movable(problem: Problem) -> list[Job]:
    return [job for job in sorted(problem.jobs, key=lambda job: job.name) if not job.pinned]


def _is_on_closed(problem: Problem, job: Job) -> bool:
    """Whether any replica of a job runs where it could not start again."""
    index = problem.node_index
    rows = [index[name] for a in job.running for name in a.nodes if name in index]
    return not all(problem.nodes[row].open for row in rows)


def _job_classes(problem: Problem, alike: Mapping[Hashable, list[Job]]) -> tuple[JobClass, ...]:
    weights = problem.priority_weight
    return tuple(_job_class(problem, jobs, weights[jobs[0].priority]) for jobs in alike.values())


def loads(problem: Problem, job: Job, assignments: Assignments) -> tuple[Load, ...]:
    """What assignments of a job put on which nodes."""
    pods: Counter[tuple[RoleName, GpuType, NodeName]] = Counter(
        (a.role, a.gpu_type, name) for a in assignments for name in a.nodes
    )
    shapes = {role.name: role.shape for role in job.roles}
    index = problem.node_index
    return tuple(
        Load(index[name], gpu_type, shapes[role], count)
        for (role, gpu_type, name), count in sorted(pods.items())
        if name in index and role in shapes
    )


def _share_of_its_own(job: Job) -> str:
    """The job's name if its replicas share spot nodes by their own job's share, not in sum."""
    return "" if job.gang or job.spot_percent in (0, WHOLE_PERCENT) else job.name


def _job_class(problem: Problem, jobs: list[Job], weight: int) -> JobClass:
    job = jobs[0]
    stays = _gang_stays(problem, job, weight) if job.gang else _replica_stays(problem, job)
    return JobClass(
        jobs=tuple(sorted(jobs, key=lambda job: (job.sequence, job.name))),
        weight=weight,
        stays=tuple(stays),
        stop_loss=job.stop_seconds * held_milli(job, job.running),
        served_milli=served_milli(job, job.running) if job.is_running else 0,
    )


def _gang_stays(problem: Problem, job: Job, weight: int) -> list[Stay]:
    assignments = stayable(problem, job)
    if not assignments:
        return []
    stop_cost = job.stop_seconds * held_milli(job, assignments)
    gain = worth(problem, job, assignments, weight) + stop_cost
    of_lead = assignments[: job.size(assignments)]
    spot = sum(is_on_spot(problem, assignment) for assignment in of_lead)
    role, gpu_type = job.roles[0], assignments[0].gpu_type
    return [Stay(role, gpu_type, (assignments,), loads(problem, job, assignments), gain, spot)]


def _replica_stays(problem: Problem, job: Job) -> list[Stay]:
    alike: dict[tuple[str, GpuType, tuple[NodeName, ...]], list[Assignment]] = defaultdict(list)
    for assignment in sorted(stayable(problem, job), key=lambda a: (a.role, a.replica)):
        nodes = tuple(sorted(assignment.nodes))
        alike[assignment.role, assignment.gpu_type, nodes].append(assignment)
    return [_replica_stay(problem, job, tuple(alike[key])) for key in sorted(alike)]


def _replica_stay(problem: Problem, job: Job, alike: Assignments) -> Stay:
    one = alike[:1]
    role = job.role(one[0].role)
    nodes = (problem.nodes[problem.node_index[name]] for name in one[0].nodes)
    price = sum(pod_price(problem, job, role, node) for node in nodes)
    gain = job.stop_seconds * held_milli(job, one) - price
    on_spot = int(is_on_spot(problem, one[0]))
    units = tuple((assignment,) for assignment in alike)
    return Stay(role, one[0].gpu_type, units, loads(problem, job, one), gain, on_spot)
