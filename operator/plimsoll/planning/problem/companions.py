"""The roles that a training job has beside its workers, as the solver's companions.

A job's sizes are those of its workers; the others have as many replicas as belong to each.
"""

from collections.abc import Iterable, Sequence

from plimsoll.api.parts.gang_roles import GangRole, replicas_beside
from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.cluster.pod_requests import shape_beside_its_like
from plimsoll.planning.problem.node_masks import NodeMasks
from plimsoll_placement.model import NO_GPUS, GpuType, Role, RoleName


def companions(
    job: TrainingJob, counts: Sequence[int], masks: NodeMasks, cluster: Cluster
) -> tuple[Role, ...]:
    """The companions of a job whose workers have these counts."""
    return tuple(_companion(job, each, counts, masks, cluster) for each in job.spec.roles)


def _companion(
    job: TrainingJob,
    role: GangRole,
    counts: Sequence[int],
    masks: NodeMasks,
    cluster: Cluster,
) -> Role:
    milli = role.milli_gpus_per_replica
    kinds = _types(role, cluster.supply_milli) if milli else (NO_GPUS,)
    return Role(
        name=RoleName(role.name),
        shape=shape_beside_its_like(job, role.name, role.template, milli, "Training"),
        counts=tuple(replicas_beside(job.spec.workers, role.replicas, count) for count in counts),
        yields={kind: (0,) * len(counts) for kind in kinds},
        eligible=masks.eligible(role.template, job.metadata.namespace, gpus=bool(milli)),
        spot_percent=role.spot.max_share_percent if role.spot.allowed else 0,
        required_level=cluster.level_index(role.topology.required),
    )


def _types(role: GangRole, present: Iterable[str]) -> tuple[GpuType, ...]:
    """The GPU types that a role may be on: those that it names, otherwise all that there are."""
    return tuple(map(GpuType, role.accelerator_types or sorted(present)))
