"""Learn what replicas carry from load and latency while they serve; kept from look to look.

For each GPU type the starting point is what its profile states, or what the job's status says was
measured before this process started; without either, the load its replicas carry when first seen.
Of several types that serve at once, each is learned from its own replicas where those can be told
apart; otherwise load that is not mostly served by one type is evidence about none. Several request
sizes are corrected alike: replicas divide their time between them.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from plimsoll.api.inference_job import InferenceJob, RoleStatus
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.api.parts.roles import ANY_SIZE, Role
from plimsoll.observe.measured.demand import JobDemand, LearnedCapacity, Range, RoleDemand
from plimsoll.planning.serving.replicas import role_status
from plimsoll.rounding import in_steps
from plimsoll.signals.load.foresight.aim import allowed_share
from plimsoll.signals.load.phases import objectives_of
from plimsoll_placement.estimate.serving.capacity import (
    BELIEF_SECONDS,
    MOST_CHANGE,
    Measurement,
    capacity,
    carried,
)
from plimsoll_placement.estimate.serving.margin import Lateness, margin_after

MOST_MEASUREMENTS = 2000
MOST_BELIEVED_SECONDS = 86_400.0
MOSTLY = 0.8
STEPS_TO_DOUBLE = 16
"""Learned figures move in steps of about 4 %, so that few looks trigger a new plan."""

LEAST_SECONDS = 1e-3
DOUBLED_SECONDS = 1800.0
"""The fastest that belief may double."""
BEYOND = 1.2
"""Belief rises no farther than this times what was carried for minutes."""

Key = tuple[str, str, str]
"""A job's uid, a role and a GPU type."""
Loads = Mapping[str, float]
"""By bucket."""


@dataclass(slots=True)
class _Page:
    """What is believed of a type by bucket, how long it was measured, and what was seen since.

    `factor`: how much of that its replicas carry, as was learned since from loads and latencies.
    `margin`: what is made of that, since more or fewer requests were late than may be.
    """

    believed: dict[str, float]
    believed_seconds: float
    factor: float = 1.0
    margin: float = 1.0
    seen: deque[Measurement] = field(default_factory=lambda: deque(maxlen=MOST_MEASUREMENTS))

    @property
    def carries(self) -> float:
        """How much of what is believed its replicas carry, all in all."""
        return max(self.factor * self.margin, 1 / MOST_CHANGE)

    def note(self, seen: Measurement, lateness: Lateness | None) -> None:
        """Learn from a look: at once that less is carried, slowly that more is.

        What was believed too early would take away the replicas on which the objective depends.
        """
        if lateness is not None:
            load = seen.utilisation / self.carries
            self.margin = margin_after(self.margin, lateness, load, seen.seconds)
        self.seen.append(seen)
        learned = capacity(self.seen, belief_seconds=self.believed_seconds)
        soon = self.factor * 2 ** (seen.seconds / DOUBLED_SECONDS)
        self.factor = min(learned, soon, max(self.factor, BEYOND * carried(self.seen)))

    def utilisation(self, loads: Loads) -> float | None:
        """The share of a replica's time that loads take; None if a bucket's is unknown."""
        total = 0.0
        for bucket, load in loads.items():
            carries = self.believed.get(bucket) or self.believed.get(ANY_SIZE)
            if not carries:
                return None
            total += load / carries
        return total


@dataclass(frozen=True, slots=True)
class _Evidence:
    """What one replica of a GPU type carried, and latency as a share of the objective.

    Requests that waited for several looks tell little of the load in the last one. `lateness`: None
    if no histogram tells how many requests were late.
    """

    kind: str
    loads: Loads
    latency: Range
    waited_seconds: float
    lateness: Lateness | None


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
        for role in job.spec.roles:
            role_demand = demand.of(role.name)
            for each in _evidence(job, role, role_demand, demand) if role_demand else ():
                self._note(job, role, each, seconds)

    def learned(self, job: InferenceJob, role: Role) -> tuple[LearnedCapacity, ...]:
        """What is known of a role's types now, omitting those without observations.

        That a profile is right is no news either.
        """
        status = role_status(job, role)
        reported = {(each.type, each.bucket) for each in (status.measured if status else ())}
        kinds = sorted({profile.type for profile in role.profiles})
        return tuple(
            each
            for kind in kinds
            for each in self._capacities(job, role, kind)
            if (kind, each.bucket) in reported or each.load not in _stated(role, kind, each.bucket)
        )

    def _capacities(self, job: InferenceJob, role: Role, kind: str) -> Iterator[LearnedCapacity]:
        page = self._pages.get((job.metadata.uid, role.name, kind))
        if page is None or not page.seen:
            return
        factor = in_steps(page.carries, STEPS_TO_DOUBLE)
        seconds = page.believed_seconds + sum(each.seconds for each in page.seen)
        for bucket, believed in sorted(page.believed.items()):
            yield LearnedCapacity(kind, believed * factor, seconds, bucket)

    def _note(self, job: InferenceJob, role: Role, seen: _Evidence, seconds: float) -> None:
        key = (job.metadata.uid, role.name, seen.kind)
        page = self._pages.get(key)
        if page is None:
            first = _first_page(role, role_status(job, role), seen.kind, seen.loads)
            if first is None:
                return
            page = self._pages[key] = first
        utilisation = page.utilisation(seen.loads)
        if utilisation is not None:
            told = seconds * min(1.0, seconds / max(seen.waited_seconds, seconds, LEAST_SECONDS))
            page.note(Measurement(utilisation, *seen.latency, told), seen.lateness)


def latency_share(
    promised: ServiceLevel, role: str, latencies: Mapping[str, Range]
) -> Range | None:
    """Latency as a share of the role's objective, the worst of several, if known."""
    shares = [
        (low / objective.total_seconds(), high / objective.total_seconds())
        for name, objective in objectives_of(promised, role).items()
        if name in latencies
        for low, high in (latencies[name],)
    ]
    return (max(low for low, _ in shares), max(high for _, high in shares)) if shares else None


def lateness_of(promised: ServiceLevel, role: str, late: Mapping[str, float]) -> Lateness | None:
    """How many requests missed the role's objective, the worst of several, if known."""
    shares = [late[name] for name in objectives_of(promised, role) if name in late]
    return Lateness(max(shares), allowed_share(promised)) if shares else None


def _evidence(
    job: InferenceJob, role: Role, demand: RoleDemand, whole: JobDemand
) -> Iterator[_Evidence]:
    """What a look says about each GPU type."""
    status = role_status(job, role)
    if demand.types:
        for each in demand.types:
            latency = latency_share(job.spec.slo, role.name, each.latencies)
            if latency is not None and each.load > 0:
                load = {ANY_SIZE: each.load / each.replicas}
                waited = _waited(job.spec.slo, role.name, each.latencies)
                late = lateness_of(job.spec.slo, role.name, each.late)
                yield _Evidence(each.gpu_type, load, latency, waited, late)
        return
    exact = {name: (time, time) for name, time in whole.latencies.items()}
    times = {**exact, **whole.latency_ranges}
    latency = latency_share(job.spec.slo, role.name, times)
    kind, ready = _main_type(status) if status else ("", 0)
    loads = {load.bucket: load.observed / ready for load in demand.loads if ready and load.observed}
    apart = status is not None and any(load.size_group for load in status.loads)
    if latency is not None and loads and not apart:
        waited = _waited(job.spec.slo, role.name, times)
        late = lateness_of(job.spec.slo, role.name, whole.late)
        yield _Evidence(kind, loads, latency, waited, late)


def _waited(promised: ServiceLevel, role: str, latencies: Mapping[str, Range]) -> float:
    """The seconds that requests surely took; those between tokens do not add up to any wait."""
    names = objectives_of(promised, role).keys() & latencies.keys()
    return max((latencies[name][0] for name in names), default=0.0)


def _main_type(status: RoleStatus) -> tuple[str, int]:
    """The GPU type of nearly all ready replicas, and their number; "" if there is none."""
    ready: dict[str, int] = defaultdict(int)
    for pool in status.pools:
        ready[pool.accelerator_type] += pool.ready
    total = sum(ready.values())
    kind = max(ready, key=lambda kind: ready[kind], default="")
    return (kind, total) if total and ready[kind] >= MOSTLY * total else ("", 0)


def _first_page(role: Role, status: RoleStatus | None, kind: str, seen: Loads) -> _Page | None:
    """What is believed first; None if nothing is, and what was seen says too little."""
    measured = [each for each in (status.measured if status else ()) if each.type == kind]
    known = {each.bucket: float(each.load) for each in measured if each.load}
    stated = {
        profile.bucket: load
        for profile in role.profiles
        for load in _stated(role, kind, profile.bucket)
    }
    seconds = max((min(each.seconds, MOST_BELIEVED_SECONDS) for each in measured), default=0.0)
    believed = {**stated, **known}
    if not believed and [*seen] == [ANY_SIZE]:
        believed = dict(seen)
    return _Page(believed, max(seconds, BELIEF_SECONDS)) if believed else None


def _stated(role: Role, kind: str, bucket: str) -> Sequence[float]:
    return [
        float(profile.load)
        for profile in role.profiles
        if (profile.type, profile.bucket) == (kind, bucket) and profile.load is not None
    ]
