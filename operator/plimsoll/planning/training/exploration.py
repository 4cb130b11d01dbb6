"""Let a job try sizes at which it never ran, where a look is cheap.

What is expected of such a size may be wrong either way, and only a look tells. A size that is worth
a look counts as faster by one standard deviation of what is believed of it, so that it is chosen if
it may well be the best (optimism in the face of uncertainty: Auer et al., 2002). The more has been
measured of it or of the like, the less that adds.

A look is cheap on GPUs that are idle while nobody waits for their type, and if it takes little of
the time that the job still runs. All looks of a job together may take `LOOK_SHARE` of its time,
each with a stop to go there and another to come back.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.planning.training.rates import measured_rates, type_deviation
from plimsoll.planning.training.stopping import restart_seconds
from plimsoll.rounding import in_fiftieths
from plimsoll_placement.estimate.throughput.curves import Size, doubts
from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.placing.shortfall import missing

LOOK_SHARE: Final = 0.02
"""The share of its time that a job may be stopped for looks."""
THERE_AND_BACK: Final = 2
MOST_GROWTH: Final = 2
"""On a type where it has run, a job looks at no more than so many times its workers."""


@dataclass(frozen=True, slots=True)
class Looks:
    """The sizes that a job may look at, and how cheap that is: from 0, too dear, to 1, free."""

    sizes: frozenset[Size] = frozenset()
    cheapness: float = 0.0


@dataclass(frozen=True, slots=True)
class Ground:
    """The milli-GPUs of each type that are free for looks, and the time.

    `power`: worth grows with this power of speed.
    """

    idle: Mapping[str, int]
    now: datetime
    power: float = 1.0


class Exploration:
    """Adds to jobs what untried sizes may be worth; remembers it until something changes."""

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}

    def of(
        self, jobs: Sequence[Job], snapshot: Snapshot, supply: Mapping[str, int], *, power: float
    ) -> list[Job]:
        """The jobs, some of which expect more of sizes that they may look at.

        `supply`: all milli-GPUs by type. `power`: worth grows with this power of speed.
        """
        candidates = {job.name: found for job in jobs if (found := _candidate(job, snapshot))}
        idle: Mapping[str, int] = idle_milli(jobs, supply) if candidates else {}
        ground, before, self._known = Ground(idle, snapshot.now, power), self._known, {}
        for job in jobs if idle else ():
            if job.name in candidates:
                known = before.get(job.name)
                self._known[job.name] = _looked_at(job, candidates[job.name], ground, known)
        return [self._known[job.name][3] if job.name in self._known else job for job in jobs]


_Known = tuple[Job, TrainingJob, Looks, Job]


def _looked_at(job: Job, training: TrainingJob, ground: Ground, known: _Known | None) -> _Known:
    """The job, what it may look at, and what it then expects; `known` from the last time."""
    looks = looks_of(job, training, ground)
    if known is not None and known[0] is job and known[1] is training and known[2] == looks:
        return known
    return job, training, looks, hopeful(job, training, looks, power=ground.power)


def idle_milli(jobs: Iterable[Job], supply: Mapping[str, int]) -> Mapping[str, int]:
    """The milli-GPUs of each type that no job holds, without types for which any job waits."""
    held, wanted = Counter[str](), set[str]()
    for job in jobs:
        milli = {role.name: role.shape.gpu_milli for role in job.roles}
        for each in job.running:
            held[each.gpu_type] += milli.get(each.role, 0) * len(each.nodes)
        if _waits(job):
            wanted.update(kind for role in job.roles for kind in role.yields)
    return {kind: all_ - held[kind] for kind, all_ in supply.items() if kind not in wanted}


def _waits(job: Job) -> bool:
    if job.gang:
        return not job.running
    return any(missing(role, job.running) for role in job.roles)


def looks_of(job: Job, training: TrainingJob, ground: Ground) -> Looks:
    """What a running job that was measured may look at."""
    cheapness = _cheapness(training, ground.now)
    sizes = frozenset(_sizes(job, training, ground.idle)) if cheapness else frozenset[Size]()
    return Looks(sizes, cheapness) if sizes else Looks()


def hopeful(job: Job, training: TrainingJob, looks: Looks, *, power: float) -> Job:
    """The job with the sizes that it may look at as fast as they may well be."""
    if not looks.sizes:
        return job
    unsure = doubts(sorted(looks.sizes), measured_rates(training), by_type=type_deviation(training))
    hope = looks.cheapness * power
    factors = {size: in_fiftieths(math.exp(hope * doubt)) for size, doubt in unsure.items()}
    role, *others = job.roles
    yields = {kind: _raised(role, kind, factors) for kind in role.yields}
    return replace(job, roles=(replace(role, yields=yields), *others))


def _raised(role: Role, kind: GpuType, factors: Mapping[Size, float]) -> tuple[int, ...]:
    pairs = zip(role.counts, role.yields[kind], strict=True)
    return tuple(round(milli * factors.get((kind, count), 1.0)) for count, milli in pairs)


def _candidate(job: Job, snapshot: Snapshot) -> TrainingJob | None:
    """A running gang whose present rate is known, that may be moved, and has no deadline."""
    if job.pinned or not job.gang or not job.running:
        return None
    training = snapshot.job_by_name[JobName(job.name)].training
    if training is None or not training.status.measured:
        return None
    if training.spec.work is not None and training.spec.work.deadline is not None:
        return None
    progress = training.status.progress
    return training if progress is not None and progress.rate else None


def _sizes(job: Job, training: TrainingJob, idle: Mapping[str, int]) -> Iterator[Size]:
    """Sizes that were never measured and for which idle GPUs suffice."""
    role, here, held = job.roles[0], job.running[0].gpu_type, job.size(job.running)
    tried = {(each.type, each.workers) for each in training.status.measured}
    kinds = {kind for kind, _ in tried}
    for kind in role.yields:
        least, most = (held + 1, held * MOST_GROWTH) if kind in kinds else (1, max(role.counts))
        more = held if kind == here else 0
        for count in role.counts:
            needs = (count - more) * role.shape.gpu_milli * role.pods_per_replica
            if (kind, count) not in tried and least <= count <= most and needs <= idle.get(kind, 0):
                yield kind, count


def _cheapness(training: TrainingJob, now: datetime) -> float:
    """How little of the stops that a job may spend on looks is spent with one more; 0: too dear."""
    minute = now.replace(second=0, microsecond=0)
    trained = sum(each.seconds for each in training.status.measured)
    left = seconds_left(training, minute)
    lasts = trained + (trained if left is None else max(left, 0))
    looked = len({(each.type, each.workers) for each in training.status.measured})
    spent = THERE_AND_BACK * looked * restart_seconds(training, minute)
    return round(max(1 - spent / (LOOK_SHARE * lasts), 0.0), 1) if lasts > 0 else 0.0
