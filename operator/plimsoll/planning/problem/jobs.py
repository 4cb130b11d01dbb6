"""The solver's jobs, as far as they do not change with time; `builder.py` adds that."""

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.cluster.interconnect import crossing_percent
from plimsoll.planning.problem.running import running_assignments
from plimsoll.planning.training.stopping import WEEK
from plimsoll_placement.model import Job, JobName, QueueName, Role


def training_job(
    view: JobView,
    resource: TrainingJob,
    roles: tuple[Role, ...],
    cluster: Cluster,
    *,
    pinned: bool,
) -> Job:
    """A training job, a gang of workers."""
    spec = resource.spec
    return Job(
        name=JobName(view.name),
        queue=QueueName(spec.queue),
        priority=view.priority or 0,
        roles=roles,
        sequence=_sequence(resource),
        required_level=cluster.level_index(spec.topology.required),
        preferred_level=cluster.level_index(spec.topology.preferred),
        crossing_percent=crossing_percent(spec.topology, cluster.networks),
        spot_percent=spec.spot.max_share_percent if spec.spot.allowed else 0,
        running=running_assignments(resource),
        pinned=pinned,
        checkpoint_seconds=int(min(spec.checkpoint.interval, WEEK).total_seconds()) // 2,
    )


def inference_job(
    view: JobView,
    resource: InferenceJob,
    roles: tuple[Role, ...],
    cluster: Cluster,
    *,
    pinned: bool,
) -> Job:
    """A service.

    Spot shares apply to it as a whole: the lowest share of any role that allows spot. So does the
    widest domain that a role prefers: all roles are placed near each other.
    """
    specs = resource.spec.roles
    shares = [role.spot.max_share_percent for role in specs if role.spot.allowed]
    required = [cluster.level_index(role.topology.required) for role in specs]
    preferred = [cluster.level_index(role.topology.preferred) for role in specs]
    return Job(
        name=JobName(view.name),
        queue=QueueName(resource.spec.queue),
        priority=view.priority or 0,
        roles=roles,
        gang=False,
        sequence=_sequence(resource),
        required_level=max((level for level in required if level is not None), default=None),
        preferred_level=min((level for level in preferred if level is not None), default=None),
        spot_percent=min(shares, default=0),
        running=running_assignments(resource),
        pinned=pinned,
    )


def _sequence(resource: TrainingJob | InferenceJob) -> int:
    """Older jobs first, by the second in which they were created."""
    created = resource.metadata.creation_timestamp
    return int(created.timestamp()) if created else 0
