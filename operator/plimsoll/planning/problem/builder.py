"""Build the solver's jobs: their roles, the yield of each GPU type, and what a stop costs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.inference_job import Role as RoleSpec
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.observe.kept import same
from plimsoll.observe.snapshot import JobView, NodeView, Snapshot
from plimsoll.observe.volumes import claims_of_job
from plimsoll.planning.cluster.cluster import Cluster, Level, Made, cluster_of, levels_of, made
from plimsoll.planning.cluster.domain_sizes import DomainSizes
from plimsoll.planning.cluster.interconnect import Networks
from plimsoll.planning.cluster.interruptions import interruption_rate
from plimsoll.planning.cluster.overhead import Overheads
from plimsoll.planning.cluster.pod_requests import WORKER, shape_beside_its_like
from plimsoll.planning.cluster.power_model import planned_percent, power_of
from plimsoll.planning.cluster.shrunk_nodes import ShrunkNodes
from plimsoll.planning.cluster.surge import with_surge_counted
from plimsoll.planning.disruption.overdue import is_overdue, priority_grace
from plimsoll.planning.faults import Faults, Guard
from plimsoll.planning.power.job_power import with_measured_draw
from plimsoll.planning.problem.companions import companions
from plimsoll.planning.problem.crossing import with_fair_crossing
from plimsoll.planning.problem.jobs import inference_job, training_job
from plimsoll.planning.problem.node_masks import NodeMasks, avoids_nodes
from plimsoll.planning.problem.renewal import Renewals
from plimsoll.planning.problem.steady_jobs import SteadyJobs
from plimsoll.planning.problem.weights import counts_completion
from plimsoll.planning.quota.reservation import Reservations
from plimsoll.planning.serving.replicas import served_by, services
from plimsoll.planning.serving.shared_load import with_shared_load
from plimsoll.planning.serving.size_groups import part_name
from plimsoll.planning.spot.deadlines import SpotRulesMaker
from plimsoll.planning.training.batch_limits import allowed_counts
from plimsoll.planning.training.completion import TERMS, completion_aim
from plimsoll.planning.training.exploration import Exploration
from plimsoll.planning.training.order import head_start_milli
from plimsoll.planning.training.rates import training_yields
from plimsoll.planning.training.relocation import Relocations
from plimsoll.planning.training.stopping import (
    REPLICA_START_SECONDS,
    payback_seconds,
    stop_seconds,
)
from plimsoll.planning.training.urgency import PLAIN_MILLI, urgency_milli
from plimsoll_placement.explain import Feasibilities
from plimsoll_placement.model import Arrival, GpuType, Job, Role
from plimsoll_placement.state.fragmentation import arrivals

Facts = tuple[bool, int | None, tuple[Level, ...], Networks]
"""What a job depends on besides its resource, the nodes and the time: see `ProblemBuilder.job`."""
Times = tuple[int, int, bool, datetime | None, Mapping[GpuType, int]]
"""What in a job changes with time, and the largest domains of the level that it prefers."""


class ProblemBuilder:
    """Builds the solver's jobs, and caches what does not change.

    Roles depend on a job's spec, on the load in its status, and on the nodes' labels and taints;
    these stay the same from one snapshot to the next as long as nothing has changed.
    """

    def __init__(self) -> None:
        self.faults = Faults()
        self.relocations, self.reservations = Relocations(), Reservations()
        self.renewals = Renewals()
        self.spot_rules = SpotRulesMaker()
        self._exploration = Exploration()
        self._counts_completion, self._grace = False, priority_grace(None)
        self.forget()

    def forget(self) -> None:
        """Forget what is only kept because it follows from what was seen, not what was learned."""
        self.feasibilities = Feasibilities()
        self.masks = NodeMasks()
        self.steady = SteadyJobs()
        self._overheads, self._shrunk = Overheads(), ShrunkNodes()
        self._domain_sizes = DomainSizes(())
        self._roles: dict[tuple[str, int], tuple[object, tuple[Role, ...]]] = {}
        self._cluster: tuple[object, tuple[NodeView, ...], Cluster] | None = None
        self._jobs: dict[str, tuple[TrainingJob | InferenceJob, Facts, Job]] = {}
        self._dated: dict[str, tuple[Job, Times, Job]] = {}
        self._past: tuple[Sequence[JobView], tuple[Arrival, ...]] = ((), ())

    def cluster(self, snapshot: Snapshot) -> Cluster:
        """The solver's cluster, rebuilt only if nodes, pools, domains or levels have changed."""
        self._grace = priority_grace(snapshot.policy)
        completion = counts_completion(snapshot.policy)
        if completion != self._counts_completion:
            self._counts_completion = completion
            self._jobs.clear()
        pools = tuple(
            (p.metadata.name, p.spec, interruption_rate(p), power_of(p)) for p in snapshot.pools
        )
        domains = tuple(
            (each.metadata.name, each.spec, planned_percent(each))
            for each in snapshot.power_domains
        )
        guard = self.faults.guard(snapshot.now)
        overhead = self._overheads.of(snapshot.present, guard)
        facts = (pools, domains, levels_of(snapshot), overhead)
        known, snapshot = self._cluster, with_surge_counted(snapshot)
        snapshot = self._shrunk.with_room(snapshot, self._overheads, overhead, guard)
        if known is None or known[0] != facts or not same(known[1], snapshot.nodes):
            before: Made = made(*known[1:]) if known is not None and known[0] == facts else {}
            known = self._cluster = (facts, snapshot.nodes, cluster_of(snapshot, before, overhead))
            if self.masks.see(snapshot.nodes, known[2]):
                self._roles.clear()
                self._jobs.clear()
            self._domain_sizes = DomainSizes(known[2].nodes)
        self._see_storage(snapshot)
        return known[2]

    def _see_storage(self, snapshot: Snapshot) -> None:
        """Forget the jobs whose claims can be reached from other nodes than before."""
        moved = self.masks.see_storage(snapshot.reach)
        for view in snapshot.jobs if moved else ():
            if not moved.isdisjoint(claims_of_job(view.resource)):
                self._roles.pop((view.uid, view.resource.metadata.generation), None)
                self._jobs.pop(view.uid, None)
                self.steady.forget(view)

    def begin(self, snapshot: Snapshot, cluster: Cluster, cut_off: AbstractSet[str]) -> None:
        """Begin a turn: forget jobs that are gone, and what no longer holds of steady ones."""
        self._forget_others(snapshot.jobs)
        sizes = self._domain_sizes if self._counts_completion else None
        shared = (snapshot.policy, cut_off, sizes)
        self.steady.begin(snapshot.now, cluster, *shared, masks=self.masks.version)

    def _forget_others(self, jobs: Sequence[JobView]) -> None:
        """Forget jobs that are gone, once there are more than jobs."""
        if max(map(len, (self._jobs, self._dated, self._roles))) <= len(jobs):
            return
        uids = {view.uid for view in jobs}
        for known in (self._jobs, self._dated):
            for uid in known.keys() - uids:
                del known[uid]
        generations = {(view.uid, view.resource.metadata.generation) for view in jobs}
        for key in self._roles.keys() - generations:
            del self._roles[key]

    def job(self, view: JobView, cluster: Cluster, now: datetime, *, pinned: bool) -> Job:
        """The solver's job; `pinned` if the plan must leave it as it is."""
        lasting = self._lasting(view, cluster, now, pinned=pinned)
        times = self._times(view, lasting, now)
        known = self._dated.get(view.uid)
        if known is not None and known[0] is lasting and known[1] == times:
            return known[2]
        job = self._at(view.resource, lasting, times, now)
        # The same object as long as it is equal, so that others can know it again.
        job = known[2] if known is not None and known[2] == job else job
        self._dated[view.uid] = (lasting, times, job)
        return job

    def _lasting(self, view: JobView, cluster: Cluster, now: datetime, *, pinned: bool) -> Job:
        """What in a job does not change with time, as long as it avoids no nodes for a while."""
        facts = (pinned, view.priority, cluster.levels, cluster.networks)
        known = self._jobs.get(view.uid)
        if known is not None and _says_the_same(known[0], view.resource) and known[1] == facts:
            return known[2]
        job = self._job(view, cluster, now, pinned=pinned)
        if not avoids_nodes(view.resource):
            self._jobs[view.uid] = (view.resource, facts, job)
        return job

    def _times(self, view: JobView, job: Job, now: datetime) -> Times:
        resource = view.resource
        is_training = isinstance(resource, TrainingJob)
        urgency = urgency_milli(resource, now) if is_training else PLAIN_MILLI
        if not (is_training and job.running):
            urgency += head_start_milli(resource)
        overdue = is_overdue(view, self._grace, now)
        domains: Mapping[GpuType, int] = {}
        if self._counts_completion and job.gang and job.preferred_level is not None:
            domains = self._domain_sizes.largest(job.preferred_level, job.roles[0].shape.gpu_milli)
        return stop_seconds(resource, now), urgency, overdue, _running_at(resource, now), domains

    def _at(
        self, resource: TrainingJob | InferenceJob, job: Job, times: Times, now: datetime
    ) -> Job:
        """The job at this time."""
        stop, urgency, overdue, *_ = times
        job = replace(job, urgency_milli=urgency, overdue=overdue)
        if isinstance(resource, TrainingJob):
            return self._with_stop(resource, replace(job, restart_seconds=stop), now)
        return replace(job, restart_seconds=REPLICA_START_SECONDS, payback_seconds=stop)

    def _with_stop(self, resource: TrainingJob, job: Job, now: datetime) -> Job:
        """The job with what plans count for a stop.

        If jobs count by their completion, that decides what their sizes are worth as well.
        """
        stop = job.restart_seconds
        if not self._counts_completion:
            return replace(job, payback_seconds=payback_seconds(resource, stop, now))
        role, *others = job.roles
        aim = completion_aim(resource, role.counts, stop, now)
        role = replace(role, yields=_by_type(aim.yields))
        job = replace(job, roles=(role, *others), payback_seconds=aim.restart_seconds)
        return with_fair_crossing(job, self._domain_sizes)

    def eligible(self, view: JobView) -> int:
        """The nodes on which a training job's workers may run, as a bit mask."""
        assert view.training is not None  # noqa: S101 - only called for training jobs
        job = view.training
        return self.masks.eligible(job.spec.workers.template, job.metadata.namespace)

    def exploring(self, jobs: Sequence[Job], snapshot: Snapshot, cluster: Cluster) -> list[Job]:
        """The jobs, some of which may look at sizes that they never tried."""
        power = TERMS.fairness if self._counts_completion else 1.0
        return self._exploration.of(jobs, snapshot, cluster.supply_milli, power=power)

    def on_spot_only(self, job: Job) -> Job:
        """The job, with places for its workers on spot alone."""
        workers, *others = job.roles
        workers = replace(workers, eligible=workers.eligible & self.masks.spot)
        return replace(job, roles=(workers, *others))

    def _job(self, view: JobView, cluster: Cluster, now: datetime, *, pinned: bool) -> Job:
        resource = view.resource
        roles = self.masks.at_present(resource, self.roles(view), now)
        roles = tuple(with_measured_draw(role, resource) for role in roles)
        if isinstance(resource, TrainingJob):
            if resource.status.measured and not self._counts_completion:
                roles = (_as_measured(roles[0], resource), *roles[1:])
            return training_job(view, resource, roles, cluster, pinned=pinned)
        roles = tuple(with_shared_load(role, resource) for role in roles)
        return inference_job(view, resource, roles, cluster, pinned=pinned)

    def roles(self, view: JobView) -> tuple[Role, ...]:
        """The roles of a job according to its spec."""
        key = (view.uid, view.resource.metadata.generation)
        # What a spec leaves out and which of its versions is in force may change while it does not:
        # see `plimsoll.observe.assumed` and `plimsoll.observe.standing`.
        filled: tuple[object, ...] = view.training.spec.accelerators if view.training else ()
        served: tuple[object, ...] = served_by(view.inference) if view.inference else ()
        basis = (*filled, *served, view.refusal and view.resource.spec)
        known = self._roles.get(key)
        if known is None or known[0] != basis:
            known = self._roles[key] = (basis, self._make_roles(view.resource))
        return known[1]

    def past(self, finished: Sequence[JobView], guard: Guard) -> tuple[Arrival, ...]:
        """The pods that finished jobs came with, from which future arrivals are forecast."""
        if not same(self._past[0], finished):
            self._past = finished, arrivals(self._all_roles(finished, guard))
        return self._past[1]

    def _all_roles(self, views: Iterable[JobView], guard: Guard) -> Iterator[Role]:
        for view in views:
            with guard(view):
                yield from self.roles(view)

    def _make_roles(self, resource: TrainingJob | InferenceJob) -> tuple[Role, ...]:
        if isinstance(resource, TrainingJob):
            workers = self._worker_role(resource)
            assert self._cluster is not None  # noqa: S101 - jobs are built for a cluster
            beside = companions(resource, workers.counts, self.masks, self._cluster[2])
            return (workers, *beside)
        return tuple(
            role for spec in resource.spec.roles for role in self._replica_roles(resource, spec)
        )

    def _worker_role(self, job: TrainingJob) -> Role:
        workers, counts = job.spec.workers, allowed_counts(job)
        return Role(
            name=WORKER,
            shape=shape_beside_its_like(
                job, WORKER, workers.template, workers.milli_gpus_per_worker, "Training"
            ),
            counts=counts,
            yields=_by_type(training_yields(_without_measurements(job), counts)),
            eligible=self.masks.eligible(workers.template, job.metadata.namespace),
        )

    def _replica_roles(self, job: InferenceJob, spec: RoleSpec) -> Iterable[Role]:
        """A role, or one part of it for each group of request sizes.

        Only the first part is required: if there is too little capacity, its replicas take all
        sizes.
        """
        eligible = self.masks.eligible(spec.template, job.metadata.namespace)
        size, use = spec.milli_gpus_per_pod, spec.utilization or "Mixed"
        shape = shape_beside_its_like(job, spec.name, spec.template, size, use)
        groups = services(job, spec)
        for number, (group, each) in enumerate(groups.items()):
            yield Role(
                name=part_name(spec.name, group),
                shape=replace(shape, gpu_memory_bytes=spec.shared_weights_bytes),
                counts=tuple(range(min(1, each.most) if not number else 0, each.most + 1)),
                yields=_by_type({kind: (milli,) for kind, milli in each.yields.items()}),
                eligible=eligible if spec.spot.allowed else eligible & ~self.masks.spot,
                pods_per_replica=spec.pods_per_replica,
                mixable=True,
                wanted_milli=each.wanted_milli,
                wanted_count=each.fewest,
                fineness=each.fineness,
            )


def _by_type(yields: Mapping[str, tuple[int, ...]]) -> dict[GpuType, tuple[int, ...]]:
    return {GpuType(kind): milli for kind, milli in yields.items()}


def _without_measurements(job: TrainingJob) -> TrainingJob:
    """The job as given by its spec alone, on which cached roles depend."""
    return job.model_copy(update={"status": TrainingJobStatus()})


def _as_measured(role: Role, resource: TrainingJob) -> Role:
    """The role with the worth of its sizes by measurements."""
    return replace(role, yields=_by_type(training_yields(resource, role.counts)))


def _says_the_same(some: TrainingJob | InferenceJob, other: TrainingJob | InferenceJob) -> bool:
    """Whether two versions of a job differ in nothing that it is made of, as after a write."""
    return some is other or (
        some.spec is other.spec
        and some.status is other.status
        and some.metadata.creation_timestamp == other.metadata.creation_timestamp
    )


def _running_at(resource: TrainingJob | InferenceJob, now: datetime) -> datetime | None:
    """The minute, for a gang that has a place: how long it has run and still runs counts."""
    is_placed = isinstance(resource, TrainingJob) and resource.status.placement is not None
    return now.replace(second=0, microsecond=0) if is_placed else None
