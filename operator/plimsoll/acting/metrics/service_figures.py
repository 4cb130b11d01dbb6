"""What services want, as metrics: for dashboards, and for scaling them by other means.

An HPA or KEDA may follow these while Plimsoll only advises, or while `spec.replicas` pins the
count; so they report what the load asks for, whatever is pinned.
"""

from plimsoll.acting.metrics.service_starts import ServiceStarts
from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus
from plimsoll.api.parts.roles import Role
from plimsoll.observe.measured.demand import BucketDemand
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.serving.autoscaling import scaled_loads
from plimsoll.planning.serving.grouping import grouped
from plimsoll.planning.serving.replicas import capacities, role_status, wanted_replicas
from plimsoll.vocabulary import metrics

_FIGURES = (
    metrics.SERVICE_WANTED_REPLICAS,
    metrics.SERVICE_WANTED_LOAD,
    metrics.SERVICE_OBSERVED_LOAD,
    metrics.SERVICE_FORESEEN_LOAD,
    metrics.SERVICE_KV_CACHE,
    metrics.SERVICE_CAPACITY,
    metrics.SERVICE_QUANTILE,
    metrics.SERVICE_UNSERVED,
    metrics.SERVICE_ALLOWED,
    metrics.SERVICE_PLACED_REPLICAS,
    metrics.SERVICE_READY_REPLICAS,
    metrics.SERVICE_ATTAINMENT,
    metrics.SERVICE_OBJECTIVE,
)

_WHOLE_PERCENT = 100.0


class ServiceFigures:
    """Reports all services' figures; while plans are only advice, remembers what was wanted."""

    def __init__(self) -> None:
        self._advised: dict[tuple[str, str], tuple[BucketLoad, ...]] = {}
        self._starts = ServiceStarts()

    def report(self, snapshot: Snapshot, *, advises: bool) -> None:
        """Report the present figures; services that are gone are dropped."""
        before, self._advised = self._advised, {}
        _clear()
        for view in snapshot.jobs:
            if view.inference is not None and not view.inference.spec.suspend:
                job = _unpinned(view.inference)
                if advises:
                    job = self._with_advice(view, job, before, snapshot)
                _report_level(job)
                for role in job.spec.roles:
                    _report(view, job, role)
        self._starts.report(snapshot)

    def forget(self) -> None:
        """Stop reporting: another replica does."""
        self._advised = {}
        self._starts.forget()
        _clear()

    def _with_advice(
        self,
        view: JobView,
        job: InferenceJob,
        before: dict[tuple[str, str], tuple[BucketLoad, ...]],
        snapshot: Snapshot,
    ) -> InferenceJob:
        """The job as its status would be if it were written."""
        for role in job.spec.roles:
            key = view.uid, role.name
            if key in before:
                job = _with_loads(job, role, before[key])
            demand = view.demand.of(role.name) if view.demand else None
            if demand is not None:
                loads = scaled_loads(job, role, demand, snapshot.now)
                job = _with_loads(job, role, grouped(job, role, loads, snapshot.pools))
            status = role_status(job, role)
            if status is not None and status.loads:
                self._advised[key] = status.loads
        return job


def _unpinned(job: InferenceJob) -> InferenceJob:
    if job.spec.replicas is None:
        return job
    return job.model_copy(update={"spec": job.spec.model_copy(update={"replicas": None})})


def _with_loads(job: InferenceJob, role: Role, loads: tuple[BucketLoad, ...]) -> InferenceJob:
    status = role_status(job, role) or RoleStatus(name=role.name)
    others = tuple(each for each in job.status.roles if each.name != role.name)
    roles = (*others, status.model_copy(update={"loads": loads}))
    return job.model_copy(update={"status": job.status.model_copy(update={"roles": roles})})


def _report(view: JobView, job: InferenceJob, role: Role) -> None:
    labels = (job.metadata.namespace, job.metadata.name, role.name)
    placement = job.status.placement
    places = placement.assignments if placement else ()
    mine = [place for place in places if place.role == role.name]
    status = role_status(job, role)
    metrics.SERVICE_WANTED_REPLICAS.labels(*labels).set(wanted_replicas(job, role, mine))
    metrics.SERVICE_PLACED_REPLICAS.labels(*labels).set(len(mine))
    metrics.SERVICE_READY_REPLICAS.labels(*labels).set(status.ready if status else 0)
    for load in status.loads if status else ():
        metrics.SERVICE_WANTED_LOAD.labels(*labels, load.bucket).set(float(load.wanted))
    demand = view.demand.of(role.name) if view.demand else None
    for each in demand.loads if demand else ():
        _report_load(each, (*labels, each.bucket))
    if view.demand and role.name in view.demand.kv_cache_used:
        metrics.SERVICE_KV_CACHE.labels(*labels).set(view.demand.kv_cache_used[role.name])
    for (gpu_type, bucket), carried in capacities(job, role).items():
        metrics.SERVICE_CAPACITY.labels(*labels, gpu_type, bucket).set(carried)


def _report_load(load: BucketDemand, labels: tuple[str, ...]) -> None:
    metrics.SERVICE_OBSERVED_LOAD.labels(*labels).set(load.observed)
    metrics.SERVICE_FORESEEN_LOAD.labels(*labels).set(load.foreseen)
    if load.quantile is not None:
        metrics.SERVICE_QUANTILE.labels(*labels).set(load.quantile)
    if load.share is not None:
        metrics.SERVICE_ALLOWED.labels(*labels).set(_WHOLE_PERCENT * load.share)
    if load.unserved is not None:
        metrics.SERVICE_UNSERVED.labels(*labels).set(_WHOLE_PERCENT * load.unserved.share)


def _report_level(job: InferenceJob) -> None:
    labels = (job.metadata.namespace, job.metadata.name)
    met = job.status.slo_attainment_percent
    metrics.SERVICE_OBJECTIVE.labels(*labels).set(float(job.spec.slo.attainment_percent))
    if met is not None:
        metrics.SERVICE_ATTAINMENT.labels(*labels).set(float(met))


def _clear() -> None:
    for figure in _FIGURES:
        figure.clear()
