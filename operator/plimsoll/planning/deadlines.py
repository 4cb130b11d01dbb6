"""Which jobs must leave spot so as not to be late, and which of them can.

A job with a deadline may be on spot as long as on-demand capacity alone would still end it in time
if spot were gone in a minute. From then on it is on-demand only, if there is room: to wait for
on-demand would make it later than to go on on spot. How much is left is known by the job's own
count of its work, and its rate by its own measurements.
"""

from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.cluster import Cluster
from plimsoll.planning.ends import work_rate
from plimsoll_placement.spot.choice import Choice, Standing, Terms, safe_choices

STEP_SECONDS = 60
"""How long the plan may take to react, starts not counted."""


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a job at its own rate, until its deadline, and what one more start costs."""

    work_seconds: float
    seconds: float
    start_seconds: int


def off_spot(snapshot: Snapshot, cluster: Cluster) -> dict[JobName, str]:
    """The jobs that may not be on spot any more because of their deadline, each with the reason."""
    urgent = [(view, left) for view, left in _with_deadlines(snapshot) if must(view, left, cluster)]
    if not urgent:
        return {}
    found: dict[JobName, str] = {}
    promised: Counter[str] = Counter()
    for view, left in sorted(urgent, key=_order):
        kind = _roomy_type(view, _free_milli(snapshot, cluster, view) - promised)
        if kind is None and not _is_off_spot(view, cluster):
            continue
        if kind is not None and not _is_off_spot(view, cluster):
            promised[kind] += _least_milli(view)
        found[view.name] = sentence(left)
    return found


def sentence(left: Left) -> str:
    """Why a job may not be on spot any more, for people."""
    start = timedelta(seconds=left.start_seconds)
    return (
        f"{_minutes(left.work_seconds)} of work are left and {_minutes(left.seconds)} until the "
        f"deadline: an interruption, which costs up to {start}, could make it late"
    )


def must(view: JobView, left: Left, cluster: Cluster) -> bool:
    """Whether a job could be late if it were on spot for a minute more.

    One that is off spot comes back only if there is time to be interrupted once, and so does not
    go to and fro.
    """
    terms = Terms(STEP_SECONDS, left.start_seconds, spot_price=0, on_demand_price=0)
    to_and_fro = left.start_seconds if _is_off_spot(view, cluster) else 0
    standing = Standing(left.work_seconds + to_and_fro, left.seconds, Choice.SPOT)
    return Choice.SPOT not in safe_choices(standing, terms, spot_is_up=True)


def time_left(job: TrainingJob, now: datetime) -> Left | None:
    """What is left of a job with a deadline; None where it has none, or its work is not known."""
    work, progress = job.spec.work, job.status.progress
    if work is None or work.deadline is None or not job.spec.spot.allowed:
        return None
    counts = progress is not None and progress.unit == work.unit
    done = Fraction(progress.done) if progress is not None and counts else Fraction(0)
    if job.status.started_time is not None and not counts:
        return None
    measured = Fraction(progress.rate) if progress is not None and counts and progress.rate else 0
    rate = measured or _promised_rate(job)
    if not rate:
        return None
    checkpoint = job.spec.checkpoint
    start = checkpoint.save_seconds + checkpoint.restore_seconds
    return Left(
        work_seconds=max(0.0, float((Fraction(work.amount) - done) / rate)),
        seconds=(work.deadline - now).total_seconds(),
        start_seconds=start + int(checkpoint.interval.total_seconds()),
    )


def _promised_rate(job: TrainingJob) -> Fraction:
    """The rate of the placement by the job's own measurements, else the best that they show."""
    placement, workers = job.status.placement, job.spec.workers
    if placement is not None:
        return work_rate(job, placement.accelerator_type, placement.workers) or Fraction(0)
    rates = (
        work_rate(job, accelerator.type, count)
        for accelerator in job.spec.accelerators
        for count in workers.counts
    )
    return max((rate for rate in rates if rate), default=Fraction(0))


def _with_deadlines(snapshot: Snapshot) -> Iterable[tuple[JobView, Left]]:
    for view in snapshot.jobs:
        left = time_left(view.training, snapshot.now) if view.training else None
        if left is not None and left.work_seconds > 0:
            yield view, left


def _order(urgent: tuple[JobView, Left]) -> tuple[int, float, str]:
    view, left = urgent
    return -(view.priority or 0), left.seconds, view.name


def _is_off_spot(view: JobView, cluster: Cluster) -> bool:
    """Whether a job runs, and nowhere on spot."""
    spot = {node.name for node in cluster.nodes if node.spot}
    placement = view.resource.status.placement
    names = [name for a in (placement.assignments if placement else ()) for name in a.nodes]
    return bool(names) and not spot.intersection(names)


def _free_milli(snapshot: Snapshot, cluster: Cluster, mine: JobView) -> Counter[str]:
    """Milli-GPUs off spot by type, less what others hold that need not give way to this job."""
    free: Counter[str] = Counter()
    off = {node.name for node in cluster.nodes if node.open and node.usable and not node.spot}
    for node in cluster.nodes:
        for devices in node.devices if node.name in off else ():
            free[devices.gpu_type] += sum(devices.free_milli)
    for view in snapshot.jobs:
        if view.name != mine.name and (view.priority or 0) >= (mine.priority or 0):
            free.subtract(_held_milli(view, off))
    return free


def _held_milli(view: JobView, off: Container[str]) -> Mapping[str, int]:
    held: Counter[str] = Counter()
    placement, milli = view.resource.status.placement, _milli_by_role(view)
    for each in placement.assignments if placement else ():
        inside = sum(name in off for name in each.nodes)
        held[each.accelerator_type] += inside * milli.get(each.role, 0)
    return held


def _milli_by_role(view: JobView) -> dict[str, int]:
    if view.training is not None:
        return {"worker": view.training.spec.workers.milli_gpus_per_worker}
    assert view.inference is not None  # noqa: S101 - a job is one or the other
    return {role.name: role.milli_gpus_per_pod for role in view.inference.spec.roles}


def _least_milli(view: JobView) -> int:
    assert view.training is not None  # noqa: S101 - only training jobs have deadlines
    workers = view.training.spec.workers
    return workers.counts[0] * workers.milli_gpus_per_worker


def _roomy_type(view: JobView, free: Counter[str]) -> str | None:
    """A GPU type of the job's with room for its least gang."""
    assert view.training is not None  # noqa: S101 - same
    kinds = [accelerator.type for accelerator in view.training.spec.accelerators]
    return next((kind for kind in kinds if free[kind] >= _least_milli(view)), None)


def _minutes(seconds: float) -> str:
    return str(timedelta(minutes=round(seconds / 60)))[:-3] if seconds >= 0 else "no time"
