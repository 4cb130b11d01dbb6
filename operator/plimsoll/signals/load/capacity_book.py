"""Learn what replicas carry from load and latency while they serve; kept from look to look.

For each GPU type the starting point is what its profile states, or what the job's status says was
measured before this process started; without either, the load its replicas carry when first seen.
Load that is not mostly served by one type is evidence about none.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from plimsoll.api.inference_job import InferenceJob, RoleStatus
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.observe.measured.demand import JobDemand, LearnedCapacity
from plimsoll.planning.rounding import in_steps
from plimsoll.planning.serving.replicas import role_status
from plimsoll_placement.estimate.serving.capacity import BELIEF_SECONDS, Measurement, capacity

MOST_MEASUREMENTS = 2000
MOST_BELIEVED_SECONDS = 86_400.0
MOSTLY = 0.8
STEPS_TO_DOUBLE = 16
"""Learned figures move in steps of about 4 %, so that few looks trigger a new plan."""

Key = tuple[str, str, str]
"""A job's uid, a role and a GPU type."""


@dataclass(slots=True)
class _Page:
    """The figure believed of a type, how long it was measured, and what was seen since."""

    believed: float
    believed_seconds: float
    seen: deque[Measurement] = field(default_factory=lambda: deque(maxlen=MOST_MEASUREMENTS))


class CapacityBook:
    """Remembers what replicas carried. A job with a changed spec starts anew."""

    def __init__(self) -> None:
        self._pages: dict[Key, _Page] = {}
        self._generation: dict[str, int] = {}

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._pages = {key: page for key, page in self._pages.items() if key[0] in kept}
        self._generation = {uid: n for uid, n in self._generation.items() if uid in kept}

    def look(self, job: InferenceJob, demand: JobDemand, seconds: float) -> None:
        """Record each role's load over the last seconds, and the latency of its requests."""
        uid = job.metadata.uid
        if self._generation.get(uid) != job.metadata.generation:
            self._generation[uid] = job.metadata.generation
            self._pages = {key: page for key, page in self._pages.items() if key[0] != uid}
        latency = latency_share(job.spec.slo, demand.latencies)
        if latency is None:
            return
        for role in job.spec.roles:
            role_demand = demand.of(role.name)
            if (
                role_demand is not None
                and len(role_demand.loads) == 1
                and role_demand.loads[0].observed > 0
            ):
                self._note(job, role, role_demand.loads[0].observed, latency, seconds)

    def learned(self, job: InferenceJob, role: Role) -> tuple[LearnedCapacity, ...]:
        """What is known of a role's types now, omitting those without observations.

        That a profile is right is no news either.
        """
        status = role_status(job, role)
        reported = {each.type for each in status.measured} if status else set[str]()
        kinds = sorted({profile.type for profile in role.profiles})
        found = [each for kind in kinds if (each := self._capacity(job, role, kind)) is not None]
        return tuple(
            each
            for each in found
            if each.gpu_type in reported or each.load not in _stated(role, each.gpu_type)
        )

    def _capacity(self, job: InferenceJob, role: Role, kind: str) -> LearnedCapacity | None:
        page = self._pages.get((job.metadata.uid, role.name, kind))
        if page is None or not page.seen:
            return None
        learned = capacity(page.seen, belief_seconds=page.believed_seconds)
        factor = in_steps(learned, STEPS_TO_DOUBLE)
        seconds = page.believed_seconds + sum(each.seconds for each in page.seen)
        return LearnedCapacity(kind, page.believed * factor, seconds)

    def _note(
        self, job: InferenceJob, role: Role, load: float, latency: float, seconds: float
    ) -> None:
        status = role_status(job, role)
        kind, ready = _main_type(status) if status else ("", 0)
        if not ready:
            return
        key = (job.metadata.uid, role.name, kind)
        page = self._pages.get(key)
        if page is None:
            page = self._pages[key] = _first_page(role, status, kind, load / ready)
        page.seen.append(Measurement(load / ready / page.believed, latency, seconds))


def latency_share(promised: ServiceLevel, latencies: Mapping[str, float]) -> float | None:
    """Latency as a share of the objective, the worst of several, if known."""
    objectives: Mapping[str, timedelta | None] = {
        "TimeToFirstToken": promised.time_to_first_token,
        "TimePerOutputToken": promised.time_per_output_token,
        "Latency": promised.latency,
    }
    shares = [
        latencies[name] / objective.total_seconds()
        for name, objective in objectives.items()
        if objective is not None and name in latencies
    ]
    return max(shares, default=None)


def _main_type(status: RoleStatus) -> tuple[str, int]:
    """The GPU type of nearly all ready replicas, and their number; "" if there is none."""
    ready: dict[str, int] = defaultdict(int)
    for pool in status.pools:
        ready[pool.accelerator_type] += pool.ready
    total = sum(ready.values())
    kind = max(ready, key=lambda kind: ready[kind], default="")
    return (kind, total) if total and ready[kind] >= MOSTLY * total else ("", 0)


def _first_page(role: Role, status: RoleStatus | None, kind: str, seen: float) -> _Page:
    for measured in status.measured if status else ():
        if measured.type == kind and measured.load:
            known = min(measured.seconds, MOST_BELIEVED_SECONDS)
            return _Page(float(measured.load), max(known, BELIEF_SECONDS))
    return _Page(next(_stated(role, kind), seen), BELIEF_SECONDS)


def _stated(role: Role, kind: str) -> Iterator[float]:
    for profile in role.profiles:
        if profile.type == kind and profile.bucket == ANY_SIZE and profile.load is not None:
            yield float(profile.load)
