"""What replicas carry, as load and latency show while they serve: remembered from look to look.

Of each GPU type what its profile states is believed first, or what the job's status says was
measured before this process began; of a type without either, that what its replicas carry when
they are first seen is just right. What is not served by one type for the most part tells nothing
of any.
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
"""What is learned is told in steps of about 4 %, lest each look be a reason to plan anew."""

Key = tuple[str, str, str]
"""A job's uid, a role and a GPU type."""


@dataclass(slots=True)
class _Page:
    """What was believed of a type, for how long that was measured, and what was seen since."""

    believed: float
    believed_seconds: float
    seen: deque[Measurement] = field(default_factory=lambda: deque(maxlen=MOST_MEASUREMENTS))


class CapacityBook:
    """Remembers what replicas carried. With a changed spec a job begins anew."""

    def __init__(self) -> None:
        self._pages: dict[Key, _Page] = {}
        self._generation: dict[str, int] = {}

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._pages = {key: page for key, page in self._pages.items() if key[0] in kept}
        self._generation = {uid: n for uid, n in self._generation.items() if uid in kept}

    def look(self, job: InferenceJob, demand: JobDemand, seconds: float) -> None:
        """Note how much each role carried in the last seconds, and how long requests took."""
        uid = job.metadata.uid
        if self._generation.get(uid) != job.metadata.generation:
            self._generation[uid] = job.metadata.generation
            self._pages = {key: page for key, page in self._pages.items() if key[0] != uid}
        latency = latency_share(job.spec.slo, demand.latencies)
        if latency is None:
            return
        for role in job.spec.roles:
            asked = demand.of(role.name)
            if asked is not None and len(asked.loads) == 1 and asked.loads[0].observed > 0:
                self._note(job, role, asked.loads[0].observed, latency, seconds)

    def learned(self, job: InferenceJob, role: Role) -> tuple[LearnedCapacity, ...]:
        """What is known of the types of a role now, those of which nothing was seen left out.

        That a profile is right is no news either.
        """
        status = role_status(job, role)
        told = {each.type for each in status.measured} if status else set[str]()
        kinds = sorted({profile.type for profile in role.profiles})
        found = [each for kind in kinds if (each := self._capacity(job, role, kind)) is not None]
        return tuple(
            each
            for each in found
            if each.gpu_type in told or each.load not in _stated(role, each.gpu_type)
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
    """How long requests take as a share of what is promised, of several the worst, if known."""
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
    """The GPU type of nearly all ready replicas and their number; "" where there is none such."""
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
