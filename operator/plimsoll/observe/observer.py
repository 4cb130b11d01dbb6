"""Turn API objects into a snapshot, recomputing only what has changed.

Objects are frozen, so the same object means the same facts; nothing else is memoised.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.adoption.grouped_pods import GroupedPods
from plimsoll.observe.adoption.workloads import Workloads
from plimsoll.observe.assumed.gpu_types import GpuTypesSeen
from plimsoll.observe.job_views import JobViews, Said
from plimsoll.observe.kept import Kept, Memo
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.gpu_faults import GpuFault, faulty_nodes
from plimsoll.observe.measured.ledger import LedgerReading
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.prices import NO_PRICES, NodePrices, priced
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.nodes.discovered_labels import DiscoveredLabels
from plimsoll.observe.nodes.notices import availability
from plimsoll.observe.queue_access import QueueAccess
from plimsoll.observe.refused import RefusedObject
from plimsoll.observe.resources import ByKind, Ordering
from plimsoll.observe.snapshot import JobView, NodeView, Snapshot
from plimsoll.observe.targets.claims import ClaimBook, Claims
from plimsoll.observe.targets.targets import Found, Surroundings, Targets, placed_nodes
from plimsoll.observe.views.first_places import Surface
from plimsoll.observe.views.job_pods import Divided, PodsByJob, PodViews
from plimsoll.observe.views.node_views import NodeViews
from plimsoll.observe.views.nodes import NOTHING, NodeOffers, node_view
from plimsoll.observe.views.ordered_nodes import OrderedNodes
from plimsoll.observe.views.silent_gpus import NOTHING_UNSAID, SilentGpus, UnsaidByNode, with_unsaid
from plimsoll.observe.volumes import Reach, claims_of_job, reach_of

POLICY_NAME = "default"


@dataclass(frozen=True, slots=True)
class Objects:
    """What the watches currently know."""

    nodes: Iterable[Node]
    pods: Iterable[Pod]
    resources: Iterable[Resource]
    priority_classes: Iterable[PriorityClass] = ()
    budgets: Iterable[PodDisruptionBudget] = ()
    reports: Iterable[WorkerReport] = ()
    gpu_faults: Iterable[GpuFault] = ()
    demands: Iterable[JobDemand] = ()
    targets: Iterable[Reading] = ()
    power: PowerReading | None = None
    energy: EnergyReading | None = None
    ledger: LedgerReading | None = None
    namespaces: Iterable[Namespace] = ()
    volumes: Iterable[PersistentVolume] = ()
    refused: Iterable[RefusedObject] = ()
    workloads: Iterable[WorkloadObject] = ()
    node_claims: Iterable[NodeClaim] | None = None
    """None while it is not known which there are."""
    prices: NodePrices = NO_PRICES
    provisioning_requests: Iterable[ProvisioningRequest] | None = None
    """Likewise."""


class Observer:
    """Makes snapshots, one after the other."""

    def __init__(self) -> None:
        self._pods, self._offers, self._jobs = PodViews(), NodeOffers(), JobViews()
        self._nodes, self._silent = NodeViews(self._offers), SilentGpus(self._offers)
        self._discovered = DiscoveredLabels()
        self._claims, self._targets = ClaimBook(), Targets()
        self._ordering, self._access = Ordering(), Kept[QueueAccess]()
        self._gpu_types = GpuTypesSeen()
        self._workloads, self._grouped_pods = Workloads(), GroupedPods()
        self._pools = Kept[tuple[GPUPool, ...]]()
        self._ordered = OrderedNodes()
        self._homes: dict[str, str] = {}
        self._by_kind: ByKind | None = None
        self._budgets = Kept[tuple[PodDisruptionBudget, ...]]()
        self._namespaces = Kept[Mapping[str, Mapping[str, str]]]()
        self._reach, self._reach_of_jobs = Kept[Reach](), Kept[Reach]()
        self._memo = Memo()

    def snapshot(self, objects: Objects, now: datetime) -> Snapshot:
        """The cluster at this moment."""
        resources = ByKind(self._ordering.of(tuple(objects.resources)), self._by_kind)
        self._by_kind = resources
        trainings = resources.all(TrainingJob)
        jobs = (*resources.all(InferenceJob), *trainings)
        all_pods, workloads = tuple(objects.pods), tuple(objects.workloads)
        grouped = self._grouped_pods.of(workloads, all_pods)
        adopted = self._workloads.of((*workloads, *grouped), trainings)
        if not self._ordering.are_the_same:
            self._homes = {job.metadata.uid: job.metadata.namespace for job in jobs}
        nodes = self._discovered.of(tuple(objects.nodes), now)
        pods = self._pods.divided(all_pods, self._homes, adopted.homes)
        readings = {each.reference: each for each in objects.targets}
        claims = self._claims.of(resources.all(InferenceJob), readings)
        of_targets = self._pods_of(claims, pods)
        known = {**pods.by_job, **of_targets} if of_targets else pods.by_job
        unsaid = self._silent.of(nodes, resources.all(GPUPool), jobs, known, now)
        used = {pod.node or pod.wanted_node for of in of_targets.values() for pod in of}
        used.update(name for claim in claims.claims for name in placed_nodes(claim.job))
        around = [node for node in nodes if node.metadata.name in used] if used else []
        ground = Surroundings(self._whole(around, unsaid, now), resources.all(GPUPool))
        found = self._targets.of(claims, of_targets, ground, now)
        taken = self._pods.taken(_others(pods.unmanaged, found))
        policies, budgets = resources.all(PlacementPolicy), tuple(objects.budgets)
        views = self._nodes.of(nodes, taken, now, unsaid)
        self._offers.forget_others(nodes)
        ordered = self._ordered.of(
            (tuple(objects.node_claims or ()), tuple(objects.provisioning_requests or ())),
            resources.all(GPUPool),
            views,
            all_pods,
        )
        said = Said(
            pods,
            self._access_of(resources, objects),
            self._gpu_types.of(views, resources.all(GPUPool)),
            Surface(views, resources.all(GPUPool)),
            reports={report.pod_uid: report for report in objects.reports},
            demands={demand.job_uid: demand for demand in objects.demands},
            targeted=found,
            adopted=adopted,
        )
        seen = self._jobs.of(jobs, said)
        return Snapshot(
            now=now,
            nodes=views,
            jobs=seen,
            pools=self._priced(resources.all(GPUPool), objects.prices),
            power_domains=resources.all(PowerDomain),
            queues=resources.all(JobQueue),
            budgets=self._budgets.of(lambda: budgets, budgets),
            policy=next((each for each in policies if each.metadata.name == POLICY_NAME), None),
            gpu_faults=_faulty(tuple(objects.gpu_faults), nodes, now),
            power=objects.power,
            energy=objects.energy,
            ledger=objects.ledger,
            namespaces=self._labels_of(tuple(objects.namespaces)),
            reach=self._reach_of(tuple(objects.volumes), seen),
            refused=tuple(sorted(objects.refused, key=str)),
            adopted=adopted,
            orders=ordered.orders,
            requests=ordered.requests,
            can_order=objects.node_claims is not None,
            can_request=objects.provisioning_requests is not None,
            memo=self._memo,
        )

    def _labels_of(self, namespaces: Sequence[Namespace]) -> Mapping[str, Mapping[str, str]]:
        return self._namespaces.of(
            lambda: {each.metadata.name: each.metadata.labels for each in namespaces}, namespaces
        )

    def _reach_of(self, volumes: Sequence[PersistentVolume], jobs: Sequence[JobView]) -> Reach:
        """What is known of the claims of jobs; others' come and go, and change nothing."""
        if not volumes:
            return {}
        reach = self._reach.of(lambda: reach_of(volumes), volumes)
        return self._reach_of_jobs.of(
            lambda: {
                claim: reach[claim]
                for view in jobs
                for claim in claims_of_job(view.resource)
                if claim in reach
            },
            *(volumes, jobs),
        )

    def _priced(self, pools: Sequence[GPUPool], prices: NodePrices) -> tuple[GPUPool, ...]:
        known = prices.known
        return self._pools.of(lambda: priced(pools, prices), pools, known, (prices.complete,))

    def _access_of(self, resources: ByKind, objects: Objects) -> QueueAccess:
        """Who may use which queue and PriorityClass."""
        queues, classes = resources.all(JobQueue), tuple(objects.priority_classes)
        spaces = tuple(objects.namespaces)
        return self._access.of(
            lambda: QueueAccess(
                queues, {each.metadata.name: each.metadata.labels for each in spaces}, classes
            ),
            *(queues, spaces, classes),
        )

    def _pods_of(self, claims: Claims, pods: Divided) -> PodsByJob:
        """The pods of jobs' targets, by the job's uid."""
        return {
            uid: tuple(v for pod in of if (v := self._pods.of_target(pod, uid)) is not None)
            for uid, of in claims.claimed(pods.unmanaged).items()
        }

    def _whole(
        self, nodes: Iterable[Node], unsaid: UnsaidByNode, now: datetime
    ) -> Mapping[str, NodeView]:
        """Some nodes as they are before anything is taken of them, by name."""
        found: dict[str, NodeView] = {}
        for node in nodes:
            name, whole = node.metadata.name, self._offers.of(node)
            if whole is not None:
                whole = with_unsaid(whole, unsaid.get(name, NOTHING_UNSAID))
                found[name] = node_view(node, whole, NOTHING, availability(node, now=now))
        return found


def _faulty(faults: Sequence[GpuFault], nodes: Sequence[Node], now: datetime) -> Mapping[str, str]:
    """The recent faults of the GPUs of nodes, by the node's name."""
    return faulty_nodes(faults, {node.metadata.name for node in nodes}, now) if faults else {}


def _others(unmanaged: Sequence[Pod], targeted: Found) -> Sequence[Pod]:
    """The unmanaged pods without those of targets."""
    if not targeted:
        return unmanaged
    theirs = {pod.uid for each in targeted.values() for pod in each.pods}
    return [pod for pod in unmanaged if pod.metadata.uid not in theirs]
