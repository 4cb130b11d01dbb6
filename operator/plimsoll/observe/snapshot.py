"""All inputs to a decision, frozen: nodes, jobs with their pods, and the rules.

Nothing is decided here and nothing is looked up later: a snapshot and a clock reading suffice to
make the same plan again.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cached_property
from operator import attrgetter
from typing import Final, NewType

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job, JobStatus
from plimsoll.api.parts.conditions import is_over
from plimsoll.api.parts.disruption import LostWork
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Node, NodeSelectorTerm, Pod, PodDisruptionBudget
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.adoption.workloads import Adopted
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.eligibility.selection import Selectors
from plimsoll.observe.kept import Memo
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.reports import JobReport
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.nodes.notices import Availability, is_closed_by_scheduler
from plimsoll.observe.nodes.orders import Order
from plimsoll.observe.nodes.power_limits import NO_LIMITS, PowerLimits
from plimsoll.observe.nodes.provisioning_requests import NodeRequest
from plimsoll.observe.queue_access import Refusal
from plimsoll.observe.refused import RefusedObject
from plimsoll.observe.volumes import Reach
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import SINGLE, Amounts

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
    GPUs. `others` are its other resources, such as network devices, before any pod takes its part.
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
    others: Amounts = ()

    @property
    def others_left(self) -> Amounts:
        """What unmanaged pods leave of its other resources, and which of its ports they take."""
        taken = self.unmanaged_units
        ports = ((name, 1) for name in taken if name.startswith(SINGLE))
        there = dict((*self.others, *ports))
        return tuple(sorted((name, max(0, n - taken.get(name, 0))) for name, n in there.items()))

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


@dataclass(frozen=True, slots=True, weakref_slot=True)
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
    placed_nodes: tuple[str, ...] = field(init=False)
    """The node of each pod of its placement."""

    def __post_init__(self) -> None:
        meta, conditions = self.resource.metadata, self.resource.status.conditions
        ended = is_over(conditions)
        name = JobName(f"{self.resource.kind}/{meta.namespace}/{meta.name}")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "uid", meta.uid)
        object.__setattr__(self, "is_over", ended)
        object.__setattr__(self, "is_past", ended and all(pod.is_over for pod in self.pods))
        object.__setattr__(self, "levels", tuple(_named_levels(self.resource)))
        object.__setattr__(
            self, "lost_work", self.training.status.lost_work if self.training else ()
        )
        placement = self.resource.status.placement
        places = placement.assignments if placement else ()
        names = tuple(name for place in places for name in place.nodes)
        object.__setattr__(self, "placed_nodes", names)

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
    cluster-autoscaler takes requests (`can_request`). `reach` says which nodes reach the storage of
    claims of jobs, if not all do.
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
    reach: Reach = field(default_factory=dict[str, tuple[NodeSelectorTerm, ...]])
    refused: tuple[RefusedObject, ...] = ()
    stuck: frozenset[str] = frozenset()
    adopted: Adopted = field(default_factory=Adopted)
    orders: tuple[Order, ...] = ()
    requests: tuple[NodeRequest, ...] = ()
    can_order: bool = False
    can_request: bool = False
    memo: Memo = field(default_factory=Memo, compare=False, repr=False)
    """What was worked out from parts of it, which the snapshots after it mostly share."""

    def differs_only_in_time(self, other: "Snapshot") -> bool:
        """Whether nothing else has changed since another snapshot of the same observer."""
        mine, theirs = _but_time(self), _but_time(other)
        same_objects = self.nodes is other.nodes and self.jobs is other.jobs
        return same_objects and all(map(_is_equal, mine, theirs))

    @cached_property
    def present(self) -> tuple[JobView, ...]:
        """The jobs that are not past: mostly far fewer, and the others hold nothing."""
        return self.memo.of(_present, self.jobs)

    @cached_property
    def node_by_name(self) -> Mapping[str, NodeView]:
        """The nodes by name."""
        return self.memo.of(_by_name, self.nodes)

    @cached_property
    def usable_nodes(self) -> frozenset[str]:
        """The names of the nodes that pods may stay on."""
        return self.memo.of(_usable, self.nodes)

    @cached_property
    def closed_nodes(self) -> frozenset[str]:
        """The names of the nodes that pods may stay on, but where no new ones are bound."""
        return self.memo.of(_closed, self.nodes)

    @cached_property
    def node_label_keys(self) -> frozenset[str]:
        """The keys of all node labels."""
        return self.memo.of(_label_keys, self.nodes)

    @property
    def advises(self) -> bool:
        """Whether plans are only published, also while the policy cannot be read."""
        if self.policy is None:
            return any(each.kind == PlacementPolicy.definition.kind for each in self.refused)
        return self.policy.spec.mode == "Advise"

    @cached_property
    def job_by_name(self) -> Mapping[JobName, JobView]:
        """The jobs by name."""
        return self.memo.of(_jobs_by_name, self.jobs)

    @cached_property
    def domains_by_node(self) -> Mapping[str, tuple[str, ...]]:
        """The names of each node's power domains, by the node's name."""
        return self.memo.of(_domains_by_node, self.nodes, self.power_domains)

    @cached_property
    def nodes_by_domain(self) -> Mapping[str, tuple[NodeView, ...]]:
        """The nodes of each power domain, by its name."""
        domains, inside = self.power_domains, self.domains_by_node
        return self.memo.of(_nodes_by_domain, self.nodes, domains, inside)

    @cached_property
    def pool_by_node(self) -> Mapping[str, GPUPool]:
        """The pool of each node that has one, by the node's name."""
        return self.memo.of(_pool_by_node, self.nodes, self.pools)

    @cached_property
    def nodes_by_pool(self) -> Mapping[str, tuple[NodeView, ...]]:
        """The nodes of each pool, by its name."""
        return self.memo.of(_nodes_by_pool, self.nodes, self.pools, self.pool_by_node)

    @cached_property
    def jobs_by_node(self) -> Mapping[str, tuple[JobView, ...]]:
        """The jobs with pods on a node, by the node's name."""
        return self.memo.of(_jobs_by_node, self.present)


_OTHER_FIELDS: Final = tuple(
    each.name for each in fields(Snapshot) if each.name not in ("now", "nodes", "jobs", "memo")
)
_but_time = attrgetter(*_OTHER_FIELDS)


def _is_equal(some: object, other: object) -> bool:
    return some is other or some == other


def _present(jobs: tuple[JobView, ...]) -> tuple[JobView, ...]:
    return tuple(job for job in jobs if not job.is_past)


def _jobs_by_name(jobs: tuple[JobView, ...]) -> Mapping[JobName, JobView]:
    return {job.name: job for job in jobs}


def _by_name(nodes: tuple[NodeView, ...]) -> Mapping[str, NodeView]:
    return {node.name: node for node in nodes}


def _usable(nodes: tuple[NodeView, ...]) -> frozenset[str]:
    return frozenset(node.name for node in nodes if node.state.usable)


def _closed(nodes: tuple[NodeView, ...]) -> frozenset[str]:
    shut = (node for node in nodes if node.state.usable and not node.state.open)
    return frozenset(node.name for node in shut if is_closed_by_scheduler(node.node))


def _label_keys(nodes: tuple[NodeView, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(node.labels for node in nodes))


def _domains_by_node(
    nodes: tuple[NodeView, ...], domains: tuple[PowerDomain, ...]
) -> Mapping[str, tuple[str, ...]]:
    selectors = Selectors((each.metadata.name, each.spec.node_selector) for each in domains)
    return {node.name: selectors.matching(node.labels) for node in nodes}


def _nodes_by_domain(
    nodes: tuple[NodeView, ...],
    domains: tuple[PowerDomain, ...],
    inside: Mapping[str, tuple[str, ...]],
) -> Mapping[str, tuple[NodeView, ...]]:
    found: dict[str, list[NodeView]] = {each.metadata.name: [] for each in domains}
    for node in nodes:
        for name in inside[node.name]:
            found[name].append(node)
    return {name: tuple(nodes) for name, nodes in found.items()}


def _pool_by_node(nodes: tuple[NodeView, ...], pools: tuple[GPUPool, ...]) -> Mapping[str, GPUPool]:
    selectors = Selectors((pool.metadata.name, pool.spec.node_selector) for pool in pools)
    by_name = {pool.metadata.name: pool for pool in pools}
    found = ((node.name, selectors.matching(node.labels)) for node in nodes)
    return {name: by_name[names[0]] for name, names in found if names}


def _nodes_by_pool(
    nodes: tuple[NodeView, ...], pools: tuple[GPUPool, ...], pool_of: Mapping[str, GPUPool]
) -> Mapping[str, tuple[NodeView, ...]]:
    found: dict[str, list[NodeView]] = {each.metadata.name: [] for each in pools}
    for node in nodes:
        pool = pool_of.get(node.name)
        if pool is not None:
            found[pool.metadata.name].append(node)
    return {name: tuple(nodes) for name, nodes in found.items()}


def _jobs_by_node(jobs: tuple[JobView, ...]) -> Mapping[str, tuple[JobView, ...]]:
    found: dict[str, dict[JobName, JobView]] = defaultdict(dict)
    for job in jobs:
        for pod in job.pods:
            if pod.node and not pod.is_over:
                found[pod.node][job.name] = job
    return {name: tuple(jobs.values()) for name, jobs in found.items()}
