"""A job as the solver sees it: its roles, what they yield where, and what a stop would cost."""

import operator
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.inference_job import Role as RoleSpec
from plimsoll.api.pod_template import PodTemplate
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.kube.objects import Node
from plimsoll.observe.eligibility import Constraints, constraints_of, eligible_mask
from plimsoll.observe.snapshot import JobView, NodeView, Snapshot
from plimsoll.planning.cluster import Cluster, Level, cluster_of, levels_of
from plimsoll.planning.completion import completion_aim
from plimsoll.planning.crossing import Networks, crossing_percent
from plimsoll.planning.rates import training_yields
from plimsoll.planning.shapes import placement_spec, pod_shape, running_assignments
from plimsoll.planning.spot_history import interruption_rate
from plimsoll.planning.stopping import REPLICA_START_SECONDS, WEEK, restart_seconds, stop_seconds
from plimsoll.planning.urgency import PLAIN_MILLI, urgency_milli
from plimsoll.planning.weights import counts_completion
from plimsoll_placement.problem import (
    GpuType,
    Job,
    JobName,
    QueueName,
    Role,
    RoleName,
)

WORKER = RoleName("worker")


Facts = tuple[bool, int | None, tuple[Level, ...], Networks, int, int]
"""What a job depends on besides its resource and the nodes: see `Translator.job`."""


class Translator:
    """Makes the solver's jobs, and remembers what of them does not change.

    Roles depend on a job's spec and on the nodes' labels and taints; both are the same objects
    from one snapshot to the next as long as nothing has changed.
    """

    def __init__(self) -> None:
        self._roles: dict[tuple[str, int], tuple[Role, ...]] = {}
        self._masks: dict[Constraints, int] = {}
        self._seen: tuple[object, ...] = ()
        self._nodes: tuple[Node, ...] = ()
        self._spot = 0
        self._counts_completion = False
        self._bits: dict[str, int] = {}
        self._cluster: tuple[object, tuple[NodeView, ...], Cluster] | None = None
        self._jobs: dict[str, tuple[Resource, Facts, Job]] = {}

    def cluster(self, snapshot: Snapshot) -> Cluster:
        """The solver's cluster, made anew only where nodes, pools, domains or levels changed."""
        completion = counts_completion(snapshot.policy)
        if completion != self._counts_completion:
            self._counts_completion = completion
            self._jobs.clear()
        pools = tuple((p.metadata.name, p.spec, interruption_rate(p)) for p in snapshot.pools)
        domains = tuple((each.metadata.name, each.spec) for each in snapshot.power_domains)
        facts = (pools, domains, levels_of(snapshot))
        known = self._cluster
        if known is None or known[0] != facts or not _same(known[1], snapshot.nodes):
            known = self._cluster = (facts, snapshot.nodes, cluster_of(snapshot))
            self._see(snapshot.nodes, known[2])
        return known[2]

    def _see(self, nodes: tuple[NodeView, ...], cluster: Cluster) -> None:
        """Look at the nodes, and forget what depends on them if they are not those seen last."""
        spot = _mask(node.spot for node in cluster.nodes)
        steady = tuple(_steady(view.node) for view in nodes)
        seen = (spot, *((node.metadata.name, node.metadata.labels, node.spec) for node in steady))
        if seen != self._seen:
            self._seen, self._spot, self._nodes = seen, spot, steady
            self._bits = {node.metadata.name: 1 << bit for bit, node in enumerate(steady)}
            self._masks.clear()
            self._roles.clear()
            self._jobs.clear()

    def forget_others(self, uids: AbstractSet[str]) -> None:
        """Forget all jobs but these."""
        for uid in self._jobs.keys() - uids:
            del self._jobs[uid]
        for key in [key for key in self._roles if key[0] not in uids]:
            del self._roles[key]

    def job(self, view: JobView, cluster: Cluster, now: datetime, *, pinned: bool) -> Job:
        """The solver's job; `pinned` if the plan must leave it as it is."""
        resource = view.resource
        restart = stop_seconds(resource, now)
        is_training = isinstance(resource, TrainingJob)
        urgency = urgency_milli(resource, now) if is_training else PLAIN_MILLI
        facts = (pinned, view.priority, cluster.levels, cluster.networks, restart, urgency)
        known = self._jobs.get(view.uid)
        if known is not None and known[0] is resource and known[1] == facts:
            return known[2]
        job = self._job(view, cluster, now, pinned=pinned)
        job = replace(job, urgency_milli=urgency)
        if not resource.status.avoided_nodes:
            self._jobs[view.uid] = (resource, facts, job)
        return job

    def _job(self, view: JobView, cluster: Cluster, now: datetime, *, pinned: bool) -> Job:
        resource = view.resource
        roles = self._for_now(resource, self.roles(view), now)
        if isinstance(resource, TrainingJob):
            job = _training_job(view, resource, roles, cluster, now, pinned=pinned)
            return self._as_valued(resource, job, now)
        return _inference_job(view, resource, roles, cluster, pinned=pinned)

    def roles(self, view: JobView) -> tuple[Role, ...]:
        """The roles of a job as its spec has them."""
        key = (view.uid, view.resource.metadata.generation)
        if key not in self._roles:
            self._roles[key] = self._make_roles(view.resource)
        return self._roles[key]

    def _for_now(
        self, resource: TrainingJob | InferenceJob, roles: tuple[Role, ...], now: datetime
    ) -> tuple[Role, ...]:
        """The roles with the nodes where they run, and without those that refused them of late.

        A taint that comes later, or a cordon, does not make a pod leave that runs already.
        """
        placement = resource.status.placement
        places = placement.assignments if placement else ()
        here = {name for place in places for name in place.nodes}
        avoided = {each.node for each in resource.status.avoided_nodes if each.until > now}
        more = sum(self._bits.get(name, 0) for name in here)
        less = sum(self._bits.get(name, 0) for name in avoided)
        if not less and all(more & ~role.eligible == 0 for role in roles):
            return roles
        return tuple(replace(r, eligible=(r.eligible | more) & ~less) for r in roles)

    def _as_valued(self, resource: TrainingJob, job: Job, now: datetime) -> Job:
        """The job with what its sizes are worth by the policy's aim and by what was measured."""
        (role,) = job.roles
        if self._counts_completion:
            aim = completion_aim(resource, role.counts, job.restart_seconds, now)
            role = replace(role, yields=_by_type(aim.yields))
            return replace(job, roles=(role,), restart_seconds=aim.restart_seconds)
        if not resource.status.measured:
            return job
        yields = training_yields(resource, role.counts)
        return replace(job, roles=(replace(role, yields=_by_type(yields)),))

    def _make_roles(self, resource: TrainingJob | InferenceJob) -> tuple[Role, ...]:
        if isinstance(resource, TrainingJob):
            return (self._worker_role(resource),)
        return tuple(self._replica_role(resource, spec) for spec in resource.spec.roles)

    def _worker_role(self, job: TrainingJob) -> Role:
        workers = job.spec.workers
        return Role(
            name=WORKER,
            shape=pod_shape(workers.template, workers.milli_gpus_per_worker),
            counts=workers.counts,
            yields=_by_type(training_yields(_without_measurements(job), workers.counts)),
            eligible=self._eligible(workers.template),
        )

    def _replica_role(self, job: InferenceJob, spec: RoleSpec) -> Role:
        wanted = wanted_replicas(job, spec)
        milli = spec.milli_gpus_per_pod * spec.pods_per_replica
        eligible = self._eligible(spec.template)
        return Role(
            name=RoleName(spec.name),
            shape=pod_shape(spec.template, spec.milli_gpus_per_pod),
            counts=tuple(range(min(1, wanted), wanted + 1)),
            yields={GpuType(profile.type): (milli,) for profile in spec.profiles},
            eligible=eligible if spec.spot.allowed else eligible & ~self._spot,
            pods_per_replica=spec.pods_per_replica,
            mixable=True,
            wanted_milli=wanted * milli,
        )

    def _eligible(self, template: PodTemplate) -> int:
        constraints = constraints_of(placement_spec(template))
        if constraints not in self._masks:
            self._masks[constraints] = eligible_mask(constraints, self._nodes)
        return self._masks[constraints]


def _by_type(yields: Mapping[str, tuple[int, ...]]) -> dict[GpuType, tuple[int, ...]]:
    return {GpuType(kind): milli for kind, milli in yields.items()}


def _without_measurements(job: TrainingJob) -> TrainingJob:
    """The job as its spec alone has it, on which what is kept for long depends."""
    return job.model_copy(update={"status": TrainingJobStatus()})


def wanted_replicas(job: InferenceJob, role: RoleSpec) -> int:
    """How many replicas of a role there should be: the pinned count, or the fewest allowed.

    The count that is pinned by `spec.replicas` is that of the first role.
    """
    if job.spec.replicas is not None and role is job.spec.roles[0]:
        return job.spec.replicas
    return role.replicas.min


def _same(some: tuple[NodeView, ...], others: tuple[NodeView, ...]) -> bool:
    return len(some) == len(others) and all(map(operator.is_, some, others))


def _training_job(  # noqa: PLR0913 - all that a job is made of
    view: JobView,
    resource: TrainingJob,
    roles: tuple[Role, ...],
    cluster: Cluster,
    now: datetime,
    *,
    pinned: bool,
) -> Job:
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
        restart_seconds=restart_seconds(resource, now),
        checkpoint_seconds=int(min(spec.checkpoint.interval, WEEK).total_seconds()) // 2,
    )


def _inference_job(
    view: JobView,
    resource: InferenceJob,
    roles: tuple[Role, ...],
    cluster: Cluster,
    *,
    pinned: bool,
) -> Job:
    """Spot shares hold for the job as a whole: that of the most careful role that allows spot."""
    specs = resource.spec.roles
    shares = [role.spot.max_share_percent for role in specs if role.spot.allowed]
    required = [cluster.level_index(role.topology.required) for role in specs]
    return Job(
        name=JobName(view.name),
        queue=QueueName(resource.spec.queue),
        priority=view.priority or 0,
        roles=roles,
        gang=False,
        sequence=_sequence(resource),
        required_level=max((level for level in required if level is not None), default=None),
        spot_percent=min(shares, default=0),
        running=running_assignments(resource),
        pinned=pinned,
        restart_seconds=REPLICA_START_SECONDS,
    )


def _sequence(resource: TrainingJob | InferenceJob) -> int:
    """Older jobs first, by the second in which they were made."""
    created = resource.metadata.creation_timestamp
    return int(created.timestamp()) if created else 0


def _steady(node: Node) -> Node:
    """A node without what closes it for a time; that is told by its availability instead."""
    taints = tuple(t for t in node.spec.taints if not t.key.startswith("node.kubernetes.io/"))
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=False, taints=taints)
    )


def _mask(bits: Iterable[bool]) -> int:
    """An integer with one bit for each node, the first lowest."""
    text = "".join("1" if bit else "0" for bit in bits)
    return int(text[::-1], 2) if text else 0
