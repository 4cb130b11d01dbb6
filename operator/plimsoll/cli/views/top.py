"""What jobs and nodes do right now: GPUs, watts, rates, progress."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.cli.cluster.objects import GPUPool, JobObject
from plimsoll.cli.cluster.reading import Known
from plimsoll.cli.output.ages import lasting
from plimsoll.cli.output.document import Document
from plimsoll.cli.output.report import Line
from plimsoll.cli.output.table import Column, Table
from plimsoll.cli.views.amounts import number, shown, whole
from plimsoll.cli.views.gpus import NodeGpus, names_type, nodes_with_gpus
from plimsoll.cli.views.jobs import gpus_by_node, gpus_by_role, gpus_held, jobs_of, state
from plimsoll.observe.eligibility.selection import Selectors


@dataclass(frozen=True, slots=True)
class Which:
    """Those on GPUs of a type, by words of its name, and the jobs of a queue; None for any."""

    gpu_type: str | None = None
    queue: str | None = None

    def has_type(self, types: Iterable[str]) -> bool:
        """Whether one of these is the type."""
        return self.gpu_type is None or any(names_type(self.gpu_type, each) for each in types)

    def shows(self, job: "JobNow") -> bool:
        """Whether a job is shown."""
        return self.queue in (None, job.queue) and self.has_type(job.gpu_types)

    @property
    def of_type(self) -> str:
        """The type, as a sentence goes on after `GPUs`."""
        return f" of type {self.gpu_type}" if self.gpu_type else ""

    def __str__(self) -> str:
        on_type = f" on GPUs{self.of_type}" if self.gpu_type else ""
        return on_type + (f" in queue {self.queue}" if self.queue else "")


_ANY: Final = Which()


class JobNow(Line, frozen=True):
    """A job; `watts` is None unless the power of its GPUs is measured.

    `rate` is what it does a second, in `unit`; a service's is the load that comes to it.
    """

    job: str
    queue: str
    state: str
    gpus: float
    gpu_types: tuple[str, ...]
    watts: float | None
    rate: float | None
    unit: str
    percent: int | None
    expected_completion: datetime | None
    ready: str


class Jobs(Line, frozen=True):
    """The jobs that hold GPUs, the most first, then those that wait."""

    jobs: tuple[JobNow, ...]


class NodeNow(Line, frozen=True):
    """A node; `used` is None if pods may not be listed.

    `expected_watts` is what its GPUs should draw, by what is known of their pool and jobs; None if
    its pool does not say.
    """

    node: str
    pool: str
    gpu_types: tuple[str, ...]
    gpus: float
    used: float | None
    expected_watts: int | None
    state: str
    jobs: tuple[str, ...]


class Nodes(Line, frozen=True):
    """The nodes that have GPUs, by name."""

    nodes: tuple[NodeNow, ...]


_JOBS: Final = (
    Column("JOB"),
    Column("QUEUE"),
    Column("STATE", is_state=True),
    Column("GPUS", is_number=True),
    Column("GPU TYPE"),
    Column("WATTS", is_number=True),
    Column("RATE", is_number=True),
    Column("UNIT", is_wide=True),
    Column("DONE", is_number=True),
    Column("LEFT", is_number=True),
    Column("READY"),
)
_NODES: Final = (
    Column("NODE"),
    Column("POOL"),
    Column("GPU TYPE"),
    Column("GPUS", is_number=True),
    Column("USED", is_number=True),
    Column("EXPECTED W", is_number=True),
    Column("STATE", is_state=True),
    Column("JOBS"),
)


def jobs_now(known: Known, _now: datetime, which: Which = _ANY) -> Jobs:
    """The jobs that are not over."""
    found = [_job(job) for job in jobs_of(known) if not job.is_over]
    shown = sorted(filter(which.shows, found), key=lambda each: (-each.gpus, each.job))
    return Jobs(tuple(shown))


def _job(job: JobObject) -> JobNow:
    placement, progress, load = job.status.placement, job.status.progress, job.status.load
    places = placement.assignments if placement else ()
    rate = progress.rate if progress else load.observed if load else None
    return JobNow(
        job=job.full_name,
        queue=job.spec.queue,
        state=state(job),
        gpus=gpus_held(job),
        gpu_types=tuple(sorted({each.accelerator_type for each in places} - {""})),
        watts=_watts(job),
        rate=None if rate is None else number(rate),
        unit=progress.unit if progress else "",
        percent=progress.percent if progress else None,
        expected_completion=job.status.expected_completion if places else None,
        ready=job.status.ready_summary,
    )


def _watts(job: JobObject) -> float | None:
    """What its GPUs draw, if that is measured for each role that holds any."""
    measured = {each.role: each.measured_watts for each in job.status.power}
    of_role, placement = gpus_by_role(job), job.place
    held: Counter[str] = Counter()
    for place in placement.assignments if placement else ():
        held[place.role] += round(of_role.get(place.role, 0) * 1000)
    if not held or any(milli and role not in measured for role, milli in held.items()):
        return None
    return round(sum(milli * measured.get(role, 0) for role, milli in held.items()) / 1000)


def jobs_document(found: Jobs, now: datetime, which: Which = _ANY) -> Document:
    """The jobs for people."""
    return [jobs_table(found, now)] if found.jobs else [f"There are no jobs{which}."]


def jobs_table(found: Jobs, now: datetime) -> Table:
    """A row for each job."""
    rows = (
        (
            each.job,
            each.queue,
            each.state,
            shown(each.gpus),
            ", ".join(each.gpu_types) or "-",
            shown(each.watts),
            shown(each.rate),
            each.unit or "-",
            "-" if each.percent is None else f"{each.percent} %",
            _left(each.expected_completion, now),
            each.ready or "-",
        )
        for each in found.jobs
    )
    return Table(_JOBS, tuple(rows))


def _left(at: datetime | None, now: datetime) -> str:
    return "-" if at is None else lasting(max(0, int((at - now).total_seconds())))


def nodes_now(known: Known, now: datetime, which: Which = _ANY) -> Nodes:
    """The nodes that have GPUs."""
    pools = {pool.metadata.name: pool for pool in known.of(GPUPool).items}
    selectors = Selectors((name, pool.spec.node_selector) for name, pool in sorted(pools.items()))
    jobs = _by_node(jobs_of(known))
    found: list[NodeNow] = []
    for each in nodes_with_gpus(known, now):
        name = each.node.metadata.name
        pool = next(iter(selectors.matching(each.node.metadata.labels)), "")
        found.append(_node(each, pools.get(pool), jobs.get(name, ())))
    return Nodes(tuple(each for each in found if which.has_type(each.gpu_types)))


def _by_node(jobs: Iterable[JobObject]) -> Mapping[str, list[tuple[JobObject, float]]]:
    """The jobs on each node, with the GPUs that they hold there."""
    found: defaultdict[str, list[tuple[JobObject, float]]] = defaultdict(list)
    for job in jobs:
        for node, milli in gpus_by_node(job).items():
            found[node].append((job, milli / 1000))
    return found


def _node(each: NodeGpus, pool: GPUPool | None, jobs: Iterable[tuple[JobObject, float]]) -> NodeNow:
    return NodeNow(
        node=each.node.metadata.name,
        pool="" if pool is None else pool.metadata.name,
        gpu_types=tuple(sorted({offer.gpu_type for offer in each.offers})),
        gpus=each.total,
        used=each.all_used,
        expected_watts=None if pool is None else _expected_watts(each, pool, jobs),
        state="Ready" if each.state.open else str(each.state.reason),
        jobs=tuple(sorted(job.full_name for job, _ in jobs)),
    )


def _expected_watts(
    each: NodeGpus, pool: GPUPool, jobs: Iterable[tuple[JobObject, float]]
) -> int | None:
    """By each job's measured draw, else its pool's typical one; idle GPUs draw the idle one."""
    power, used = pool.spec.power, each.all_used
    if power is None or used is None:
        return None
    typical = pool.status.power.planned_watts if pool.status.power else power.typical_watts
    draw, of_jobs = 0.0, 0.0
    for job, gpus in jobs:
        measured = [role.measured_watts for role in job.status.power]
        draw += gpus * (sum(measured) / len(measured) if measured else typical)
        of_jobs += gpus
    others = max(0.0, used - of_jobs)
    return round(
        draw + others * typical + max(0.0, each.total - of_jobs - others) * power.idle_watts
    )


def nodes_document(found: Nodes, now: datetime, which: Which = _ANY) -> Document:
    """The nodes for people."""
    none = f"There are no nodes with GPUs{which.of_type}."
    return [nodes_table(found, now)] if found.nodes else [none]


def nodes_table(found: Nodes, _now: datetime) -> Table:
    """A row for each node."""
    rows = (
        (
            each.node,
            each.pool or "-",
            ", ".join(each.gpu_types),
            shown(whole(each.gpus)),
            shown(each.used),
            shown(each.expected_watts),
            each.state,
            ", ".join(each.jobs) or "-",
        )
        for each in found.nodes
    )
    return Table(_NODES, tuple(rows))
