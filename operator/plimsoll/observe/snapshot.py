"""All inputs to a decision, frozen: nodes, jobs with their pods, and the rules.

Nothing is decided here and nothing is looked up later: a snapshot and a clock reading suffice to
make the same plan again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import NewType

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job, JobStatus
from plimsoll.api.parts.conditions import is_true
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Node, Pod, PodDisruptionBudget
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.adoption.workloads import Adopted
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.eligibility.selection import Selectors
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.reports import JobReport
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.nodes.notices import Availability
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.nodes.power_limits import NO_LIMITS, PowerLimits
from plimsoll.observe.nodes.provisioning_requests import NodeRequest
from plimsoll.observe.queue_access import Refusal
from plimsoll.observe.refused import RefusedObject
from plimsoll.vocabulary.reasons import Reason

JobName = NewType("JobName", str)
"""A job as `Kind/namespace/name`."""

TARGET = "target"
"""The name of the single role of a job with a target."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """A node as planning sees it.

    `offers` are its GPUs by resource. What unmanaged pods take is subtracted from `cpu_millis`,
    `memory_bytes` and `pod_slots`; in units by resource it is in `unmanaged_units`. `leaving` is
    the part taken by such pods that are on their way out. `limits` are the power limits of its
    GPUs.
    """

    node: Node
    offers: tuple[Offer, ...]
    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    unmanaged_units: Mapping[str, int]
    state: Availability
    leaving: tuple[Requests, ...] = ()
    limits: PowerLimits = NO_LIMITS

    @property
    def cap_watts(self) -> int | None:
        """The wanted power limit of each of its GPUs, in watts; None for the GPUs' default."""
        return self.limits.wanted

    @property
    def name(self) -> str:
        """The node's name."""
        return self.node.metadata.name

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.metadata.labels

    def less(self, held: Sequence[Requests]) -> "NodeView":
        """The node minus what pods with these requests take."""
        units = Counter(self.unmanaged_units)
        for each in held:
            units.update(each.others)
        return replace(
            self,
            cpu_millis=self.cpu_millis - sum(each.cpu_millis for each in held),
            memory_bytes=self.memory_bytes - sum(each.memory_bytes for each in held),
            pod_slots=self.pod_slots - len(held),
            unmanaged_units=units,
        )


@dataclass(frozen=True, slots=True)
class PodEnd:
    """How a pod's container ended, for people."""

    exit_code: int
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class PodWait:
    """Why a container does not run, in the kubelet's words.

    `is_error`: the kubelet could not start it and is retrying; otherwise it has yet to try.
    """

    container: str
    reason: str
    message: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ServingGate:
    """What a pod's readiness gate `SERVING` says, and since when.

    `is_open` is None while it has not been set; the pod does not serve then either.
    """

    is_open: bool | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class PodView:
    """A pod that Plimsoll made for a job, or one of the workload that a job targets.

    `wanted_node` is where its affinity sends it, `node` where it is bound ("" until it is). A
    `disrupted` pod ended through no fault of its own: evicted, or with its node. A pod being
    deleted should have ended by `ends_by`. `ready`: it serves; `ready_since` is when it last became
    ready or ceased to be, None if unknown; `answers`: its containers are ready, whatever its
    readiness gates say. `gate` is None if it has none of ours. Of a target's pods, those without a
    place have the replica -1, and those that are `gated` wait for us to choose a node. `gates` are
    all its scheduling gates. `served`: its containers are ready, or have been before. `wait`: why
    one of them does not run, None if all run or nothing is said; its init containers were done at
    `prepared`. Its node took it at `started`, and its last container ended at `finished`.
    `watched`: a `gated` pod as the watch has it, to be changed just as it is.
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
    ready_since: datetime | None = None
    ends_by: datetime | None = None
    unschedulable: str = ""
    disrupted: bool = False
    gated: bool = False
    end: PodEnd | None = None
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    answers: bool = False
    gate: ServingGate | None = None
    gates: tuple[str, ...] = ()
    scheduler: str = ""
    served: bool = False
    wait: PodWait | None = None
    prepared: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    watched: Pod | None = field(default=None, compare=False, repr=False)

    @property
    def draining_since(self) -> datetime | None:
        """Since when it has got no new requests because it is leaving; None: it does not drain."""
        return self.gate.since if self.gate is not None and self.gate.is_open is False else None

    @property
    def deleting(self) -> bool:
        """Whether it is being deleted."""
        return self.ends_by is not None

    @property
    def is_over(self) -> bool:
        """Whether it has ended and holds nothing on its node."""
        return self.phase in ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class TargetView:
    """The workload that a job targets, by its `/scale` and its template.

    `problem`: the reason and message why nothing can be done with it. `replicas`: its desired
    count, as set by `manager`. `gated`: its pods wait behind our scheduling gate; other pods are
    placed by kube-scheduler alone. `ordered`: replicas with the highest ordinals are removed first.
    `contested`: others keep setting its count.
    """

    reference: Reference
    problem: tuple[Reason, str] | None = None
    replicas: int = 0
    selector: str = ""
    gated: bool = False
    ordered: bool = False
    contested: bool = False
    manager: str = ""


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its pods; `priority` is None if its class does not exist.

    `refusal`: why it may not use the queue or the PriorityClass that its user's spec names. If it
    runs, the spec of `resource` is then the one in force: see `standing`.

    `report` is the latest from the workers of its present gang, None without any; `demand` is what
    is known of a service's load, None while its load is not measured. `target` is the workload that
    it targets, None if there is none or it was not read yet; the resource then has that workload's
    role and the actual places of its pods. `workload` is the adopted workload that it stands for,
    of which `beside` pods without GPUs have found their nodes.
    `written` is the status that the API server has, if it differs from the resource's.
    """

    resource: Job
    priority: int | None
    pods: tuple[PodView, ...] = ()
    report: JobReport | None = None
    demand: JobDemand | None = None
    target: TargetView | None = None
    written: JobStatus | None = None
    refusal: Refusal | None = None
    workload: WorkloadView | None = None
    beside: int = 0
    name: JobName = field(init=False)
    """The job as `Kind/namespace/name`."""
    uid: str = field(init=False)
    """The job's identity."""
    is_over: bool = field(init=False)
    """Whether it has completed or failed for good."""
    is_past: bool = field(init=False)
    """Whether it is over, and so are all its pods."""
    levels: tuple[str, ...] = field(init=False)
    """The topology levels that it names."""
    lost_work: tuple[LostWork, ...] = field(init=False)
    """What plans have thrown away of it."""

    def __post_init__(self) -> None:
        meta, conditions = self.resource.metadata, self.resource.status.conditions
        ended = any(is_true(conditions, kind) for kind in ("Complete", "Failed"))
        name = JobName(f"{self.resource.kind}/{meta.namespace}/{meta.name}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "uid", meta.uid)
        object.__setattr__(self, "is_over", ended)
        object.__setattr__(self, "is_past", ended and all(pod.is_over for pod in self.pods))
        object.__setattr__(self, "levels", tuple(_named_levels(self.resource)))
        object.__setattr__(
            self, "lost_work", self.training.status.lost_work if self.training else ()
        )

    @property
    def status_written(self) -> JobStatus:
        """The status as the API server has it."""
        return self.resource.status if self.written is None else self.written

    @property
    def told_by_pod(self) -> bool:
        """Whether only its pod tells its place, and its status on the API server does not yet."""
        return self.written is not None and self.training is not None

    @property
    def stays(self) -> bool:
        """Whether its pods have their nodes and are never made again: no plan moves or ends it."""
        found = self.workload
        is_bound = found is not None and not found.can_stop and not found.suspended
        return is_bound and not self.is_over and self.resource.status.placement is not None

    @property
    def placed_nodes(self) -> tuple[str, ...]:
        """The node of each pod of its placement."""
        placement = self.resource.status.placement
        places = placement.assignments if placement else ()
        return tuple(name for place in places for name in place.nodes)

    @property
    def training(self) -> TrainingJob | None:
        """The job if it is a TrainingJob."""
        return self.resource if isinstance(self.resource, TrainingJob) else None

    @property
    def inference(self) -> InferenceJob | None:
        """The job if it is an InferenceJob."""
        return self.resource if isinstance(self.resource, InferenceJob) else None


def _named_levels(job: Job) -> Iterator[str]:
    if isinstance(job, TrainingJob):
        yield from (role.topology.required for role in job.spec.roles if role.topology.required)
        parts = (job.spec.topology,)
    else:
        parts = tuple(role.topology for role in job.spec.roles)
    yield from (name for part in parts for name in (part.required, part.preferred) if name)


@dataclass(frozen=True)
class Snapshot:
    """The cluster at one moment. Everything is sorted by name, so equal clusters compare equal.

    `gpu_faults` are the recent hardware errors of GPUs, by node. `power` is the measured GPU power,
    None while unknown or too old. `energy` is the energy signal, None without a Prometheus.
    `ledger` is how far the console's ledger goes, None if none is kept.
    `namespaces` are the labels of each. `refused` are the custom resources that cannot be read now;
    jobs among them that were readable before are here in their last readable version. `stuck` are
    the uids of jobs for which a write has long been failing. `adopted` are the workloads of other
    kinds that ask to be planned. `orders` are the nodes that were ordered for pools, some of
    them together by `requests`; more can be ordered if Karpenter is there (`can_order`), or if
    cluster-autoscaler takes requests (`can_request`).
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
    power: PowerReading | None = None
    energy: EnergyReading | None = None
    ledger: LedgerReading | None = None
    namespaces: Mapping[str, Mapping[str, str]] = field(
        default_factory=dict[str, Mapping[str, str]]
    )
    refused: tuple[RefusedObject, ...] = ()
    stuck: frozenset[str] = frozenset()
    adopted: Adopted = field(default_factory=Adopted)
    orders: tuple[Order, ...] = ()
    requests: tuple[NodeRequest, ...] = ()
    can_order: bool = False
    can_request: bool = False

    @cached_property
    def present(self) -> tuple[JobView, ...]:
        """The jobs that are not past: mostly far fewer, and the others hold nothing."""
        return tuple(job for job in self.jobs if not job.is_past)

    @cached_property
    def node_by_name(self) -> dict[str, NodeView]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def node_label_keys(self) -> frozenset[str]:
        """The keys of all node labels."""
        return frozenset[str]().union(*(node.labels for node in self.nodes))

    @property
    def advises(self) -> bool:
        """Whether plans are only published, also while the policy cannot be read."""
        if self.policy is None:
            return any(each.kind == PlacementPolicy.definition.kind for each in self.refused)
        return self.policy.spec.mode == "Advise"

    @cached_property
    def job_by_name(self) -> dict[JobName, JobView]:
        """The jobs by name."""
        return {job.name: job for job in self.jobs}

    @cached_property
    def domains_by_node(self) -> dict[str, tuple[str, ...]]:
        """The names of each node's power domains, by the node's name."""
        selectors = Selectors((d.metadata.name, d.spec.node_selector) for d in self.power_domains)
        return {node.name: selectors.matching(node.labels) for node in self.nodes}

    @cached_property
    def nodes_by_domain(self) -> dict[str, tuple[NodeView, ...]]:
        """The nodes of each power domain, by its name."""
        found: dict[str, list[NodeView]] = {each.metadata.name: [] for each in self.power_domains}
        for node in self.nodes:
            for name in self.domains_by_node[node.name]:
                found[name].append(node)
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def pool_by_node(self) -> dict[str, GPUPool]:
        """The pool of each node that has one, by the node's name."""
        selectors = Selectors((pool.metadata.name, pool.spec.node_selector) for pool in self.pools)
        pools = {pool.metadata.name: pool for pool in self.pools}
        found = ((node.name, selectors.matching(node.labels)) for node in self.nodes)
        return {name: pools[names[0]] for name, names in found if names}

    @cached_property
    def nodes_by_pool(self) -> dict[str, tuple[NodeView, ...]]:
        """The nodes of each pool, by its name."""
        found: dict[str, list[NodeView]] = {each.metadata.name: [] for each in self.pools}
        for name, pool in self.pool_by_node.items():
            found[pool.metadata.name].append(self.node_by_name[name])
        return {name: tuple(nodes) for name, nodes in found.items()}

    @cached_property
    def jobs_by_node(self) -> dict[str, tuple[JobView, ...]]:
        """The jobs with pods on a node, by the node's name."""
        found: dict[str, dict[JobName, JobView]] = defaultdict(dict)
        for job in self.present:
            for pod in job.pods:
                if pod.node and not pod.is_over:
                    found[pod.node][job.name] = job
        return {name: tuple(jobs.values()) for name, jobs in found.items()}
