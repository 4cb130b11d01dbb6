"""The operator's own way from metrics to counts, look by look, for a service of two phases.

Queries, readings, forecasts and what is learned are the operator's `LoadWatch`; what is wanted and
what a replica carries goes through the job's status, and counts come from there as plans take them.
Left out is the solver: all replicas that are wanted get a place, on the type that is told.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from plimsoll.acting.conditions.offered_load import measured
from plimsoll.api.inference_job import InferenceJob, InferencePlacement, PoolReplicas, RoleStatus
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import Role
from plimsoll.clock import Clock
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.serving.autoscaling import scaled_loads
from plimsoll.planning.serving.replicas import role_status, services, wanted_replicas
from plimsoll.signals.load.load_watch import LoadTerms, LoadWatch
from plimsoll_bench.phases.fleet import ROLES, Fleet, Promise, Replica
from plimsoll_bench.phases.scrapes import Scrapes, time_of

UID: Final = "chat"
MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """How often the operator looks and how far back, and how it is told to forecast and scale."""

    look_seconds: int
    window_seconds: int
    horizon_seconds: float
    quantile: float | None
    down_seconds: float


Stated = Mapping[str, Mapping[str, float]]
"""What a replica carries by its profile, by role and GPU type."""


def service_of(stated: Stated, promise: Promise, terms: Terms) -> InferenceJob:
    """The service as its owner would write it."""
    template = {"spec": {"containers": [{"name": "server", "image": "vllm"}]}}
    roles = [
        {
            "name": name,
            "replicas": {"min": 1, "max": MOST},
            "gpusPerReplica": 1,
            "template": template,
            "profiles": [
                {"type": kind, "load": f"{load:.6g}"} for kind, load in stated[name].items()
            ],
        }
        for name in ROLES
    ]
    spec: dict[str, Any] = {
        "roles": roles,
        "load": {
            "server": "VLLM",
            "forecast": {
                "horizon": f"{terms.horizon_seconds:g}s",
                **({"quantile": str(terms.quantile)} if terms.quantile else {}),
            },
        },
        "scaling": {"down": {"stabilizationWindow": f"{terms.down_seconds:g}s"}},
        "slo": {
            "timeToFirstToken": f"{1000 * promise.first_token:g}ms",
            "timePerOutputToken": f"{1000 * promise.output_token:g}ms",
            "attainmentPercent": str(Decimal(repr(100 * promise.share))),
        },
    }
    metadata = {"name": "chat", "namespace": "team", "uid": UID, "generation": 1}
    manifest = {"metadata": metadata, "spec": spec}
    return InferenceJob.model_validate(manifest)


class Choosing:
    """Looks at a fleet and sets its counts. `kind` says on which type a role's next replica is."""

    def __init__(
        self,
        fleet: Fleet,
        job: InferenceJob,
        terms: Terms,
        kind: Callable[[Fleet, str], str],
        scrape_seconds: float,
    ) -> None:
        self.job = job
        self.scrapes = Scrapes(fleet, scrape_seconds, terms.window_seconds)
        self._fleet, self._kind = fleet, kind
        clock = Clock(self._now, lambda: fleet.now, lambda: 0.0)
        watch_terms = LoadTerms(terms.look_seconds, terms.window_seconds, clock=clock)
        self._watch = LoadWatch(self.scrapes, self, lambda: None, terms=watch_terms)

    def services(self) -> tuple[InferenceJob, ...]:
        """The service."""
        return (self.job,)

    def pods_of_services(self) -> list[PodView]:
        """Its pods."""
        return [_pod(each, self._fleet.now) for each in self._fleet.replicas]

    def node_start_time(self) -> timedelta:
        """Nodes are there."""
        return timedelta()

    async def look(self) -> None:
        """Look once, and add and remove replicas."""
        self._write(None)
        await self._watch.look(self._now())
        [demand] = self._watch.current()
        self._write(demand)
        for role in self.job.spec.roles:
            self._scale(role)

    def _now(self) -> datetime:
        return time_of(self._fleet.now)

    def _write(self, demand: JobDemand | None) -> None:
        """Bring the status up to date."""
        roles = tuple(self._role(role, demand) for role in self.job.spec.roles)
        places = tuple(place for role in self.job.spec.roles for place in self._places(role))
        placement = InferencePlacement(revision=1, assignments=places)
        status = self.job.status.model_copy(update={"roles": roles, "placement": placement})
        self.job = self.job.model_copy(update={"status": status})

    def _role(self, role: Role, demand: JobDemand | None) -> RoleStatus:
        found = role_status(self.job, role) or RoleStatus(name=role.name)
        role_demand = demand.of(role.name) if demand is not None else None
        update: dict[str, object] = {"pools": tuple(self._pools(role))}
        if role_demand is not None:
            update["loads"] = scaled_loads(self.job, role, role_demand, self._now())
            update["measured"] = measured(found, role_demand)
        return found.model_copy(update=update)

    def _pools(self, role: Role) -> Iterator[PoolReplicas]:
        mine = self._fleet.of(role.name)
        for kind in sorted({each.gpu_type for each in mine}):
            ready = sum(each.serves(self._fleet.now) for each in mine if each.gpu_type == kind)
            yield PoolReplicas(pool="pool", accelerator_type=kind, ready=ready)

    def _places(self, role: Role) -> list[Assignment]:
        return [
            Assignment(
                role=each.role,
                replica=each.number,
                nodes=("node",),
                pool="pool",
                accelerator_type=each.gpu_type,
                revision=1,
            )
            for each in self._fleet.of(role.name)
        ]

    def _scale(self, role: Role) -> None:
        """As many as are wanted; those go first that are not ready, then the newest."""
        while wanted_replicas(self.job, role, self._places(role)) > len(self._fleet.of(role.name)):
            self._fleet.add(role.name, self._kind(self._fleet, role.name))
        [service] = services(self.job, role).values()
        mine = self._fleet.of(role.name)
        carried = sum(service.yields.get(each.gpu_type, 0) for each in mine)
        least = max(role.replicas.min, service.fewest)
        for replica in sorted(mine, key=lambda each: (each.serves(self._fleet.now), -each.number)):
            carried -= service.yields.get(replica.gpu_type, 0)
            if len(self._fleet.of(role.name)) <= least or carried < service.wanted_load:
                return
            replica.leaves = True


def _pod(replica: Replica, now: float) -> PodView:
    created, ready = time_of(replica.created), replica.serves(now)
    return PodView(
        name=replica.name,
        namespace="team",
        uid=replica.name,
        job_uid=UID,
        role=replica.role,
        replica=replica.number,
        rank=0,
        revision=1,
        template_hash="",
        wanted_node="node",
        node="node",
        phase="Running",
        ready=ready,
        created=created,
        requests=Requests(),
        ready_since=time_of(replica.ready) if ready else None,
    )
