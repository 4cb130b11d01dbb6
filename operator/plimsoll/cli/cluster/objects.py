"""Plimsoll's own objects, reduced to the fields that commands show.

A list of ten thousand jobs is decoded in a second; the models of `plimsoll.api`, which check
everything, take minutes.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from plimsoll.api.definition import GROUP, VERSION
from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.objects import KubeObject, Wire

Amount = str | int
"""A Kubernetes quantity."""


class Condition(Wire, frozen=True):
    """One aspect of an object's state."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class Places(Wire, frozen=True):
    """Where one replica of a role is."""

    role: str = ""
    replica: int = 0
    nodes: tuple[str, ...] = ()
    accelerator_type: str = ""
    pool: str = ""


class Placement(Wire, frozen=True):
    """Where a job runs under the current plan."""

    assignments: tuple[Places, ...] = ()


class Progress(Wire, frozen=True):
    """How far a training job is."""

    unit: str = ""
    percent: int | None = None
    rate: Amount | None = None


class MeasuredRolePower(Wire, frozen=True):
    """What a GPU of a role draws, in watts."""

    role: str = ""
    measured_watts: int = 0


class LoadSeen(Wire, frozen=True):
    """What a service answers, in its own unit."""

    observed: Amount | None = None


class JobStatus(Wire, frozen=True):
    """What commands show of the status of either kind of job."""

    conditions: tuple[Condition, ...] = ()
    reason: str = ""
    message: str = ""
    placement: Placement | None = None
    progress: Progress | None = None
    expected_completion: datetime | None = None
    power: tuple[MeasuredRolePower, ...] = ()
    ready_summary: str = ""
    load: LoadSeen | None = None
    cost_per_hour: Amount | None = None


class Workers(Wire, frozen=True):
    """The workers of a training job."""

    gpus_per_worker: Amount = 0


class JobRole(Wire, frozen=True):
    """A role of a service, or one beside the workers of a training job."""

    name: str = ""
    gpus_per_replica: Amount = 0
    pods_per_replica: int = 1


class Work(Wire, frozen=True):
    """What a training job has to do, and by when."""

    deadline: datetime | None = None


class JobSpec(Wire, frozen=True):
    """What commands show of the spec of either kind of job."""

    queue: str = "default"
    priority_class_name: str = ""
    suspend: bool = False
    workers: Workers | None = None
    work: Work | None = None
    roles: tuple[JobRole, ...] = ()


class JobObject(KubeObject, frozen=True):
    """A job of either kind."""

    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def kind(self) -> str:
        """The kind of job."""
        return type(self).__name__

    @property
    def full_name(self) -> str:
        """The job as `Kind/namespace/name`."""
        return f"{self.kind}/{self.metadata.namespace}/{self.metadata.name}"

    def condition(self, kind: str) -> Condition | None:
        """The condition of that type."""
        return next((each for each in self.status.conditions if each.type == kind), None)

    def is_true(self, kind: str) -> bool:
        """Whether the condition of that type is there and true."""
        found = self.condition(kind)
        return found is not None and found.status == "True"

    @property
    def is_over(self) -> bool:
        """Whether it has completed or failed for good."""
        return self.is_true("Complete") or self.is_true("Failed")

    @property
    def place(self) -> Placement | None:
        """Where it has its GPUs. One that is over has none, though its status says where it was."""
        return None if self.is_over else self.status.placement

    @property
    def waits(self) -> bool:
        """Whether it wants to run, and has no place."""
        wanted = not self.spec.suspend and self.metadata.deletion_timestamp is None
        return wanted and not self.is_over and self.status.placement is None

    @property
    def waiting_since(self) -> datetime | None:
        """Since when it has had no place."""
        admitted = self.condition("Admitted")
        return admitted.last_transition_time if admitted else self.metadata.creation_timestamp


class TrainingJob(JobObject, frozen=True):
    """A training job."""


class InferenceJob(JobObject, frozen=True):
    """A service."""


class Quota(Wire, frozen=True):
    """A queue's share of one GPU type."""

    type: str
    guaranteed: Amount = 0
    limit: Amount | None = None


class QueueSpec(Wire, frozen=True):
    """A queue's share of the cluster."""

    parent: str = ""
    quotas: tuple[Quota, ...] = ()


class QueueUsage(Wire, frozen=True):
    """What a queue uses of a GPU type."""

    type: str
    used: Amount = 0
    borrowed: Amount = 0


class QueueStatus(Wire, frozen=True):
    """What a queue uses."""

    usage: tuple[QueueUsage, ...] = ()
    pending: int = 0
    admitted: int = 0
    conditions: tuple[Condition, ...] = ()


class JobQueue(KubeObject, frozen=True):
    """A queue."""

    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class PoolPower(Wire, frozen=True):
    """What a GPU of a pool draws, in watts."""

    idle_watts: int = 0
    typical_watts: int = 0


class PoolSpec(Wire, frozen=True):
    """Which nodes a pool has."""

    node_selector: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    power: PoolPower | None = None


class PoolProvisioning(Wire, frozen=True):
    """What is being bought for a pool."""

    ordered: tuple[str, ...] = ()
    failures: int = 0
    retry_time: datetime | None = None


class PoolMeasured(Wire, frozen=True):
    """What a busy GPU of a pool was seen to draw."""

    planned_watts: int = 0


class PoolStatus(Wire, frozen=True):
    """What a pool has."""

    conditions: tuple[Condition, ...] = ()
    gpu_type: str = ""
    gpus: int = 0
    gpus_used: Amount = 0
    power: PoolMeasured | None = None
    provisioning: PoolProvisioning | None = None


class GPUPool(KubeObject, frozen=True):
    """A pool of nodes."""

    spec: PoolSpec = PoolSpec()
    status: PoolStatus = PoolStatus()


class DomainSpec(Wire, frozen=True):
    """A power domain's budget."""

    budget_watts: int = 0


class DomainStatus(Wire, frozen=True):
    """What a power domain draws."""

    conditions: tuple[Condition, ...] = ()
    expected_watts: int = 0
    measured_watts: int | None = None
    capped_nodes: int = 0


class PowerDomain(KubeObject, frozen=True):
    """Nodes that share a power budget."""

    spec: DomainSpec = DomainSpec()
    status: DomainStatus = DomainStatus()


class Objective(Wire, frozen=True):
    """What plans optimise."""

    preset: str = "Balanced"


class PolicySpec(Wire, frozen=True):
    """How plans are made."""

    mode: str = ""
    objective: Objective = Objective()


class PlanSummary(Wire, frozen=True):
    """The last plan in numbers."""

    time: datetime | None = None
    gap_percent: Amount | None = None
    admitted: int = 0
    held: int = 0


class PolicyStatus(Wire, frozen=True):
    """The last plan."""

    conditions: tuple[Condition, ...] = ()
    last_plan: PlanSummary | None = None


class PlacementPolicy(KubeObject, frozen=True):
    """How plans are made, and the last one."""

    spec: PolicySpec = PolicySpec()
    status: PolicyStatus = PolicyStatus()


def _ours(plural: str, *, namespaced: bool = False) -> Resource:
    return Resource(GROUP, VERSION, plural, namespaced)


TRAINING_JOBS: Final = _ours("trainingjobs", namespaced=True)
INFERENCE_JOBS: Final = _ours("inferencejobs", namespaced=True)
JOB_QUEUES: Final = _ours("jobqueues")
GPU_POOLS: Final = _ours("gpupools")
POWER_DOMAINS: Final = _ours("powerdomains")
POLICIES: Final = _ours("placementpolicies")
