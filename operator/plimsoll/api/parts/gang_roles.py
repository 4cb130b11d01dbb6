"""The roles of a training job beside its workers, and by which of them it is done."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.parts.gang import Workers
from plimsoll.api.parts.placement import Spot
from plimsoll.api.schema_marks import SET, Rule, cel_rules
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.values.amounts import GpuCount
from plimsoll.api.values.quantities import thousandths
from plimsoll.api.values.scalars import LabelKey, LabelValue, ShortName

WORKER: Final = "worker"
"""What the role of the workers is called."""
MOST_ROLES: Final = 8
MOST_REPLICAS: Final = 1024
MOST_TYPES: Final = 16
RoleCount = Annotated[int, Field(ge=1, le=MOST_REPLICAS)]

_MAX_FROM_MIN: Final = Rule(
    "!has(self.max) || self.min <= self.max",
    "must be at least min: raise max or lower min",
    ".max",
)
_NOT_WORKER: Final = Rule(
    f"self.name != '{WORKER}'",
    "must not be worker, which is the role of spec.workers: choose another name",
    ".name",
)
_ROLES_END: Final = Rule(
    "!has(self.template.spec.restartPolicy) || self.template.spec.restartPolicy != 'Always'",
    "must be Never or OnFailure, or omitted: a finished pod must not restart",
    ".template.spec.restartPolicy",
)
_TYPES_ARE_OF_GPUS: Final = Rule(
    "!has(self.acceleratorTypes) || self.acceleratorTypes.size() == 0 || has(self.gpusPerReplica)",
    "chooses GPU types: set gpusPerReplica, or remove acceleratorTypes",
    ".acceleratorTypes",
)


class RoleReplicas(ApiModel):
    """How many replicas a role has; the more, the more workers there are."""

    model_config = cel_rules(_MAX_FROM_MIN)

    min: RoleCount = 1
    """Replicas beside the fewest workers."""
    max: RoleCount | None = None
    """Replicas beside the most workers; in between, in proportion. Default: `min`."""

    @property
    def most(self) -> int:
        """The replicas beside the most workers."""
        return self.max or self.min

    @model_validator(mode="after")
    def _grow(self) -> Self:
        _MAX_FROM_MIN.require(holds=self.min <= self.most)
        return self


class RoleTopology(ApiModel):
    """How close together the pods of a role must be."""

    required: LabelKey | None = None
    """Domain that must hold all of them, or the job waits: a name from a pool's `topologyKeys`,
    such as `rack`, or a node label key."""


class GangRole(ApiModel):
    """Pods that the workers need beside them, such as a launcher, data loaders or actors.

    They start with the workers or not at all, and are planned with their CPU, memory and GPUs.
    """

    model_config = cel_rules(_NOT_WORKER, _ROLES_END, _TYPES_ARE_OF_GPUS)

    name: ShortName
    """Name of the role, part of its pods' names."""
    replicas: RoleReplicas = RoleReplicas()
    """How many pods."""
    gpus_per_replica: GpuCount | None = None
    """GPUs of each: a whole number, or a fraction of one device. Default: none."""
    accelerator_types: Annotated[tuple[LabelValue, ...], Field(max_length=MOST_TYPES), SET] = ()
    """GPU types it can run on, one at a time. Default: all that the template's selectors admit."""
    spot: Spot = Spot()
    """Whether its pods may use spot capacity."""
    topology: RoleTopology = RoleTopology()
    """How close together its pods must be."""
    template: PodTemplate
    """Pod of each replica. Plimsoll adds GPUs, names and the job's environment."""

    @property
    def milli_gpus_per_replica(self) -> int:
        """GPUs of each replica, in thousandths of a device."""
        return thousandths(self.gpus_per_replica) if self.gpus_per_replica is not None else 0

    @model_validator(mode="after")
    def _hold_together(self) -> Self:
        _NOT_WORKER.require(holds=self.name != WORKER)
        _ROLES_END.require(holds=self.template.spec.restart_policy != "Always")
        named = self.gpus_per_replica is not None or not self.accelerator_types
        _TYPES_ARE_OF_GPUS.require(holds=named)
        return self


class SuccessPolicy(ApiModel):
    """When the job is done."""

    role: ShortName = WORKER
    """The role whose pods must all have succeeded: `worker`, or one of `roles`."""


def replicas_beside(workers: Workers, replicas: RoleReplicas, count: int) -> int:
    """How many replicas of a role there are beside so many workers."""
    least, most = workers.min, workers.most
    if count <= least or most == least:
        return replicas.min
    share = min(1.0, (count - least) / (most - least))
    return replicas.min + round((replicas.most - replicas.min) * share)
