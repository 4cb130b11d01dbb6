"""All that a decision depends on, frozen: nodes, jobs with their pods, and the rules.

Nothing here is decided, and nothing is looked up later: whoever holds a snapshot and a clock
reading can make the same plan again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NewType

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects import Node, PodDisruptionBudget
from plimsoll.observe.gpus import Offer
from plimsoll.observe.notices import Availability
from plimsoll.observe.reports import JobReport
from plimsoll.observe.requests import Requests

JobName = NewType("JobName", str)
"""A job as `Kind/namespace/name`."""

GROUP = "plimsoll.dev"
JOB_NAME = f"{GROUP}/job-name"
JOB_KIND = f"{GROUP}/job-kind"
JOB_UID = f"{GROUP}/job-uid"
ROLE = f"{GROUP}/role"
REPLICA = f"{GROUP}/replica"
RANK = f"{GROUP}/rank"
REVISION = f"{GROUP}/revision"
TEMPLATE_HASH = f"{GROUP}/template-hash"


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as plans see it.

    `offers` are its GPUs by resource. What foreign pods take is subtracted in `cpu_millis`,
    `memory_bytes`, `pod_slots` and, in units by resource, stands in `foreign_units`. `leaving` is
    what those of these pods take that are on their way out.
    """

    node: Node
    offers: tuple[Offer, ...]
    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    foreign_units: Mapping[str, int]
    state: Availability
    leaving: tuple[Requests, ...] = ()

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod's container ended, for people."""

    exit_code: int
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod that Plimsoll made for a job.

    `wanted_node` is where its affinity sends it, `node` where it is bound ("" while it is not).
    One that is `disrupted` ended by no fault of its own: evicted, or with its node. One that is
    being deleted should have ended by `ends_by`.
    """

    name: str
    namespace: str
    uid: str
    job_uid: str
    role: str
    replica: int
    rank: int
    revision: int
    template_hash: str
    wanted_node: str
    node: str
    phase: str
    ready: bool
    created: datetime | None
    requests: Requests
    ends_by: datetime | None = None
    unschedulable: str = ""
    disrupted: bool = False
    end: PodEnd | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted."""
        return self.ends_by is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended and holds nothing of its node."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its pods; `priority` is None where its class does not exist.

    `report` is what the workers of its present gang said last, None while none was heard of.
    """

    resource: Job
    priority: int | None
    pods: tuple[PodView, ...] = ()
    report: JobReport | None = None
    name: JobName = field(init=False)
    """The job as `Kind/namespace/name`."""
    uid: str = field(init=False)
    """The job's identity."""

    def __post_init__(self) -> None:
        meta = self.resource.metadata
        name = JobName(f"{self.resource.kind}/{meta.namespace}/{meta.name}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "uid", meta.uid)

    @property
    def training(self) -> TrainingJob | None:
        """The job if it is a TrainingJob."""
        return self.resource if isinstance(self.resource, TrainingJob) else None

    @property
    def inference(self) -> InferenceJob | None:
        """The job if it is an InferenceJob."""
        return self.resource if isinstance(self.resource, InferenceJob) else None


@dataclass(frozen=True)
class Snapshot:
    """The cluster at one moment. Everything is sorted by name, so that equal is equal.

    `gpu_faults` says of which nodes the GPUs had errors of the hardware just now, and which.
    """

    now: datetime
    nodes: tuple[NodeView, ...]
    jobs: tuple[JobView, ...]
    pools: tuple[GPUPool, ...] = ()
    power_domains: tuple[PowerDomain, ...] = ()
    queues: tuple[JobQueue, ...] = ()
    budgets: tuple[PodDisruptionBudget, ...] = ()
    policy: PlacementPolicy | None = None
    gpu_faults: Mapping[str, str] = field(default_factory=dict[str, str])

    @cached_property
    def node_by_name(self) -> dict[str, NodeView]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def job_by_name(self) -> dict[JobName, JobView]:
        """The jobs by name."""
        return {job.name: job for job in self.jobs}
