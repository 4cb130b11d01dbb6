"""Turn API objects into a snapshot, recomputing only what has changed.

Objects are frozen, so the same object means the same facts; nothing else is memoised.
"""

import operator
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.objects import Namespace, Node, Pod, PodDisruptionBudget, PriorityClass
from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.gpu_faults import GpuFault, faulty_nodes
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.reports import JobReport, WorkerReport, job_report
from plimsoll.observe.nodes.notices import Availability, availability
from plimsoll.observe.queue_access import QueueAccess
from plimsoll.observe.readable import countable_requests, readable
from plimsoll.observe.refused import RefusedObject
from plimsoll.observe.snapshot import (
    JobView,
    NodeView,
    PodView,
    Snapshot,
)
from plimsoll.observe.standing import Standings
from plimsoll.observe.targets.claims import ClaimBook
from plimsoll.observe.targets.targets import Found, Surroundings, Targets, placed_nodes
from plimsoll.observe.views.nodes import NOTHING, NodeOffer, Taken, node_offer, node_view
from plimsoll.observe.views.ownership import is_left_behind, named_job
from plimsoll.observe.views.pods import pod_view, target_pod_view, wanted_node

POLICY_NAME = "default"
R = TypeVar("R", bound=Resource)


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
    namespaces: Iterable[Namespace] = ()
    refused: Iterable[RefusedObject] = ()


_SeenNode = tuple[Node, Taken, Availability, NodeView]
"""A node, what others take of it, its availability, and its view."""


class Observer:
    """Makes snapshots, one after the other."""

    def __init__(self) -> None:
        self._requests: dict[str, tuple[Pod, Requests]] = {}
        self._views: dict[str, tuple[Pod, PodView | None]] = {}
        self._offers: dict[str, tuple[Node, NodeOffer]] = {}
        self._known_jobs: dict[str, JobView] = {}
        self._known_nodes: dict[str, _SeenNode] = {}
        self._claims, self._targets, self._standings = ClaimBook(), Targets(), Standings()
        self._target_views: dict[str, tuple[Pod, str, PodView | None]] = {}

    def snapshot(self, objects: Objects, now: datetime) -> Snapshot:
        """The cluster at this moment."""
        resources = sorted(objects.resources, key=lambda r: (r.metadata.namespace, r.metadata.name))
        jobs = [r for r in resources if isinstance(r, TrainingJob | InferenceJob)]
        homes = {job.metadata.uid: job.metadata.namespace for job in jobs}
        self._known_jobs = {uid: job for uid, job in self._known_jobs.items() if uid in homes}
        self._standings.forget_others(homes.keys())
        pods, nodes = tuple(objects.pods), tuple(objects.nodes)
        self._forget(pods, nodes)
        own, unmanaged = self._divided(pods, homes)
        found = self._targeted(resources, objects, unmanaged, now)
        theirs = {pod.uid for each in found.values() for pod in each.pods}
        unmanaged = [pod for pod in unmanaged if pod.metadata.uid not in theirs]
        taken = self._taken(unmanaged)
        policies = [p for p in _of(resources, PlacementPolicy) if p.metadata.name == POLICY_NAME]
        return Snapshot(
            now=now,
            nodes=tuple(
                view
                for node in sorted(nodes, key=lambda node: node.metadata.name)
                if (view := self._node(node, taken.get(node.metadata.name, NOTHING), now))
            ),
            jobs=self._jobs(jobs, own, _Said(objects, found)),
            pools=_of(resources, GPUPool),
            power_domains=_of(resources, PowerDomain),
            queues=_of(resources, JobQueue),
            budgets=tuple(objects.budgets),
            policy=policies[0] if policies else None,
            gpu_faults=faulty_nodes(
                objects.gpu_faults, {node.metadata.name for node in nodes}, now
            ),
            power=objects.power,
            energy=objects.energy,
            namespaces={each.metadata.name: each.metadata.labels for each in objects.namespaces},
            refused=tuple(sorted(objects.refused, key=str)),
        )

    def _divided(
        self, pods: Iterable[Pod], homes: Mapping[str, str]
    ) -> tuple[list[PodView], list[Pod]]:
        """Split pods into those of jobs, whose uids and namespaces are given, and unmanaged ones.

        An unreadable pod of ours counts as an unmanaged pod that takes what it requests.
        """
        own: list[PodView] = []
        unmanaged: list[Pod] = []
        for pod in pods:
            is_own = homes.get(named_job(pod)) == pod.metadata.namespace
            view = self._view(pod) if is_own else None
            if view is None:
                unmanaged.append(pod)
            else:
                own.append(view)
        return own, unmanaged

    def _jobs(
        self, jobs: Iterable[Job], own: Iterable[PodView], said: "_Said"
    ) -> tuple[JobView, ...]:
        pods: dict[str, list[PodView]] = defaultdict(list)
        for view in own:
            pods[view.job_uid].append(view)
        views = {uid: tuple(sorted(of, key=_order)) for uid, of in pods.items()}
        return tuple(
            self._job(job, views.get(job.metadata.uid, ()), said)
            for job in sorted(jobs, key=lambda job: job.kind)
        )

    def _targeted(
        self, resources: Sequence[Resource], objects: Objects, pods: Iterable[Pod], now: datetime
    ) -> Found:
        """The jobs whose target workload was read, by uid."""
        readings = {each.reference: each for each in objects.targets}
        claims = self._claims.of(_of(resources, InferenceJob), readings)
        views = {
            uid: [view for pod in of if (view := self._target_view(pod, uid)) is not None]
            for uid, of in claims.claimed(pods).items()
        }
        used = {pod.node or pod.wanted_node for of in views.values() for pod in of}
        used.update(name for claim in claims.claims for name in placed_nodes(claim.job))
        nodes = {
            node.metadata.name: node_view(
                node, node_offer(node), NOTHING, availability(node, now=now)
            )
            for node in objects.nodes
            if node.metadata.name in used
        }
        return self._targets.of(claims, views, Surroundings(nodes, _of(resources, GPUPool)), now)

    def _job(self, job: Job, pods: tuple[PodView, ...], said: "_Said") -> JobView:
        uid = job.metadata.uid
        found = said.targeted.get(uid)
        resource, written = job, None
        if found is not None:
            resource, pods, written = found.job, found.pods, job.status
        standing = self._standings.of(resource, said.access)
        report = report_of(job, pods, said.by_pod) if said.by_pod else None
        target = found.target if found else None
        facts = (standing.priority, report, said.demands.get(uid), target)
        known = self._known_jobs.get(uid)
        if known is None or known.resource is not standing.job or not _same(known.pods, pods):
            known = None
        if known is not None and known.refusal != standing.refusal:
            known = None
        if known is None or (known.priority, known.report, known.demand, known.target) != facts:
            known = JobView(standing.job, facts[0], pods, *facts[1:], written, standing.refusal)
            self._known_jobs[uid] = known
        return known

    def _taken(self, unmanaged: Iterable[Pod]) -> dict[str, Taken]:
        taken: dict[str, Taken] = defaultdict(Taken)
        for pod in unmanaged:
            node = _node_of(pod)
            if node and pod.status.phase not in ("Succeeded", "Failed"):
                part = taken[node]
                (part.leaving if _is_leaving(pod) else part.staying).append(self._requests_of(pod))
        return taken

    def _requests_of(self, pod: Pod) -> Requests:
        known = self._requests.get(pod.metadata.uid)
        if known is None or known[0] is not pod:
            known = self._requests[pod.metadata.uid] = (pod, countable_requests(pod))
        return known[1]

    def _node(self, node: Node, taken: Taken, now: datetime) -> NodeView | None:
        """The node's view; the last readable one if it is unreadable now, None if it never was.

        What has not changed remains the same object.
        """
        known = self._known_nodes.get(node.metadata.name)
        seen = readable(node, lambda: self._seen(node, taken, now, known))
        if seen is None:
            return known[3] if known is not None else None
        self._known_nodes[node.metadata.name] = seen
        return seen[3]

    def _seen(self, node: Node, taken: Taken, now: datetime, known: _SeenNode | None) -> _SeenNode:
        state = availability(node, now=now)
        if known is not None and known[0] is node and known[1:3] == (taken, state):
            return known
        view = node_view(node, self._offer(node), taken, state)
        if known is not None and known[0] is node and known[3] == view:
            view = known[3]
        return node, taken, state, view

    def _offer(self, node: Node) -> NodeOffer:
        known = self._offers.get(node.metadata.uid)
        if known is None or known[0] is not node:
            known = self._offers[node.metadata.uid] = (node, node_offer(node))
        return known[1]

    def _view(self, pod: Pod) -> PodView | None:
        known = self._views.get(pod.metadata.uid)
        if known is None or known[0] is not pod:
            known = (pod, readable(pod, lambda: pod_view(pod, self._requests_of(pod))))
            self._views[pod.metadata.uid] = known
        return known[1]

    def _target_view(self, pod: Pod, job_uid: str) -> PodView | None:
        known = self._target_views.get(pod.metadata.uid)
        if known is None or known[0] is not pod or known[1] != job_uid:
            seen = readable(pod, lambda: target_pod_view(pod, self._requests_of(pod), job_uid))
            known = self._target_views[pod.metadata.uid] = (pod, job_uid, seen)
        return known[2]

    def _forget(self, pods: Iterable[Pod], nodes: Iterable[Node]) -> None:
        alive = {each.metadata.uid for each in (*pods, *nodes)}
        for known in (self._requests, self._views, self._target_views, self._offers):
            for uid in known.keys() - alive:
                del known[uid]
        names = {node.metadata.name for node in nodes}
        self._known_nodes = {n: known for n, known in self._known_nodes.items() if n in names}


def _node_of(pod: Pod) -> str:
    """The node of an unmanaged pod; a deleted job's pod may still be bound where it was sent.

    A pod being deleted is never bound, however long a finalizer keeps it.
    """
    may_be_bound = pod.metadata.deletion_timestamp is None and is_left_behind(pod)
    return pod.spec.node_name or (wanted_node(pod) if may_be_bound else "")


def _is_leaving(pod: Pod) -> bool:
    """Whether an unmanaged pod is on its way out: it or its job is being deleted."""
    return pod.metadata.deletion_timestamp is not None or is_left_behind(pod)


def report_of(
    job: Job, pods: Iterable[PodView], said: Mapping[str, WorkerReport]
) -> JobReport | None:
    """What the gang of the placement in force reported, or the gang that has a notice to leave.

    Other pods report about a gang that no longer exists.
    """
    if not isinstance(job, TrainingJob):
        return None
    present = job.status.notice or job.status.placement
    if present is None:
        return None
    return job_report((pod.uid for pod in pods if pod.revision == present.revision), said)


def _same(some: tuple[PodView, ...], others: tuple[PodView, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _order(pod: PodView) -> tuple[str, int, int, str]:
    return pod.role, pod.replica, pod.rank, pod.name


def _of(resources: Iterable[Resource], kind: type[R]) -> tuple[R, ...]:
    return tuple(each for each in resources if isinstance(each, kind))


class _Said:
    """What is known of jobs besides their resources and their pods."""

    def __init__(self, objects: Objects, targeted: Found) -> None:
        self.access = QueueAccess(
            (each for each in objects.resources if isinstance(each, JobQueue)),
            {each.metadata.name: each.metadata.labels for each in objects.namespaces},
            objects.priority_classes,
        )
        self.targeted = targeted
        self.by_pod = {report.pod_uid: report for report in objects.reports}
        self.demands = {demand.job_uid: demand for demand in objects.demands}
