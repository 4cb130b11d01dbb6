"""What jobs that run the same program have measured: a better guess than what GPUs' figures say.

A program is submitted many times. Jobs of one namespace run the same one if their workers are
alike, or if they bear the same label `plimsoll.dev/program`. Nobody learns from others' namespaces:
what a job reports costs at most those who wrote it.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from decimal import Decimal
from statistics import median_low
from typing import Final, NamedTuple

from plimsoll.api.kinds import Job
from plimsoll.api.parts.progress import MeasuredRate
from plimsoll.api.training_job import TrainingJob, TrainingJobSpec
from plimsoll.observe.assumed.scaling import scaled
from plimsoll.observe.labels import PROGRAM
from plimsoll.observe.readable import readable
from plimsoll.remembered import once_for_each
from plimsoll.rounding import in_steps

_STEPS_TO_DOUBLE: Final = 10
"""What is learned goes in steps of 7 %, so that not every report changes what is expected."""
_FEWEST: Final = 2
"""So many jobs must run a program before one learns of the others."""
_MOST_TEACHERS: Final = 64
"""So many jobs of a program are learned of, so that a turn costs little where there are many."""
_LONG_ENOUGH: Final = 60
"""Seconds of a run by which others may learn."""
_MOST_STEPS: Final = 32
"""Steps that are learned of on one GPU type."""

Program = tuple[object, ...]
"""What jobs of the same program have in common."""

Rates = Mapping[str, float]
"""The rate of a program with one worker by GPU type, in units of its jobs' work per second."""

_What = tuple[str, int, bool, int, int]
"""A GPU type, the workers, whether they are on several nodes, passes, doublings of the batch."""


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of a program.

    `steps`: how long they took at some sizes with some batches, by GPU type; the rates in it say
    nothing.
    """

    rates: Rates = field(default_factory=dict[str, float])
    steps: Mapping[str, tuple[MeasuredRate, ...]] = field(
        default_factory=dict[str, tuple[MeasuredRate, ...]]
    )


NOTHING: Final = Learned()


class _Step(NamedTuple):
    """How long a step with a batch took on so many nodes, rounded."""

    sample_seconds: float
    batch: int
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class _Seen:
    """What one job has measured, and since when it is there."""

    since: str
    rates: Rates
    steps: Mapping[_What, _Step]


@dataclass(slots=True)
class _Group:
    """The jobs of a program, what each has measured, and what follows."""

    members: dict[str, _Seen] = field(default_factory=dict[str, _Seen])
    learned: Learned = NOTHING


class Alike:
    """What the jobs of each program have measured, one snapshot after the other."""

    def __init__(self) -> None:
        self._groups: dict[Program, _Group] = {}
        self._known: dict[str, tuple[TrainingJob, Program]] = {}

    def turn_to(self, jobs: Sequence[Job]) -> AbstractSet[Program]:
        """Learn from these jobs, and from no others; the programs of which other is known now."""
        before, touched = self._known, set[Program]()
        self._known = {}
        for job in jobs:
            if not isinstance(job, TrainingJob):
                continue
            uid = job.metadata.uid
            known = before.pop(uid, None)
            if known is None or known[0] is not job:
                known = self._known_anew(job, known, touched)
            self._known[uid] = known
        for uid, (_, program) in before.items():
            del self._groups[program].members[uid]
            touched.add(program)
        return {program for program in touched if self._has_learned(program)}

    def of(self, uid: str) -> Learned:
        """What is known of the program of a job; the same object while it is the same."""
        known = self._known.get(uid)
        return NOTHING if known is None else self._groups[known[1]].learned

    def uids(self, programs: AbstractSet[Program]) -> AbstractSet[str]:
        """The jobs that run these."""
        return {uid for program in programs for uid in self._groups[program].members}

    def _known_anew(
        self, job: TrainingJob, known: tuple[TrainingJob, Program] | None, touched: set[Program]
    ) -> tuple[TrainingJob, Program]:
        uid = job.metadata.uid
        # One whose program cannot be read runs it alone.
        program = readable(job, lambda: _program(job)) or (uid,)
        if known is not None and known[1] != program:
            del self._groups[known[1]].members[uid]
            touched.add(known[1])
        members = self._groups.setdefault(program, _Group()).members
        measured = readable(job, lambda: _seen(job)) or _Seen("", {}, {})
        if members.get(uid) != measured:
            members[uid] = measured
            touched.add(program)
        return job, program

    def _has_learned(self, program: Program) -> bool:
        group = self._groups[program]
        if not group.members:
            del self._groups[program]
            return False
        are_several = len(group.members) >= _FEWEST
        learned = _learned(_teachers(group)) if are_several else NOTHING
        is_new = learned != group.learned
        if is_new:
            group.learned = learned
        return is_new


def _program(job: TrainingJob) -> Program:
    """What a job has in common with those that run the same, and count their work alike."""
    spec = job.spec
    unit = spec.work.unit if spec.work is not None else None
    batch = spec.batch.size if spec.batch is not None else None
    named = job.metadata.labels.get(PROGRAM)
    what = ("", named) if named else (_workers(spec),)
    return job.metadata.namespace, *what, spec.workers.gpus_per_worker, unit, batch


@once_for_each
def _workers(spec: TrainingJobSpec) -> str:
    """The workers' pods as written."""
    return spec.workers.template.model_dump_json(by_alias=True, exclude_unset=True)


def _seen(job: TrainingJob) -> _Seen:
    """What a job has measured on each type, as if one worker had, and the steps that it took.

    The fewest workers with the smallest batch say most of a rate, if they ran for long enough.
    """
    found: dict[str, MeasuredRate] = {}
    steps: dict[_What, _Step] = {}
    for each in sorted(job.status.measured, key=_says_less):
        if each.rate > 0:
            found.setdefault(each.type, each)
            if each.seconds >= _LONG_ENOUGH and each.batch and each.step_seconds:
                seconds = _rounded(float(each.step_seconds))
                step = _Step(seconds / each.batch, each.batch, each.nodes or 1, seconds)
                steps.setdefault(_what(each, each.batch), step)
    rates = {kind: _rounded(_of_one(job, each)) for kind, each in found.items()}
    return _Seen(_since(job), rates, steps)


def _since(job: TrainingJob) -> str:
    """When a job was created, and what tells it from others of that second."""
    created = job.metadata.creation_timestamp
    return f"{created.isoformat() if created else ''} {job.metadata.uid}"


def _what(measured: MeasuredRate, batch: int) -> _What:
    on_several = (measured.nodes or 1) > 1
    passes = measured.accumulation or 1
    return measured.type, measured.workers, on_several, passes, batch.bit_length()


def _says_less(measured: MeasuredRate) -> tuple[bool, int, int, int]:
    is_short = measured.seconds < _LONG_ENOUGH
    return is_short, measured.workers, measured.batch or 0, -measured.seconds


def _of_one(job: TrainingJob, measured: MeasuredRate) -> float:
    """The rate that one worker would have, without what a larger batch is worth of late."""
    rate = float(measured.rate)
    counts_samples = job.spec.work is not None and job.spec.work.unit == "samples"
    if counts_samples and measured.batch and measured.step_seconds:
        rate = measured.batch / float(measured.step_seconds)
    return rate / scaled(measured.workers)


def _rounded(amount: float) -> float:
    return in_steps(amount, _STEPS_TO_DOUBLE)


def _teachers(group: _Group) -> list[_Seen]:
    """The youngest of those that have measured anything."""
    of = (member for member in group.members.values() if member.rates)
    return heapq.nlargest(_MOST_TEACHERS, of, key=lambda member: member.since)


def _learned(members: Iterable[_Seen]) -> Learned:
    """The median of what the jobs have measured, so that a single one says little."""
    rates = defaultdict[str, list[float]](list)
    steps = defaultdict[_What, list[_Step]](list)
    for member in members:
        for kind, rate in member.rates.items():
            rates[kind].append(rate)
        for what, step in member.steps.items():
            steps[what].append(step)
    return Learned({kind: median_low(of) for kind, of in rates.items()}, _usual(steps))


def _usual(steps: Mapping[_What, list[_Step]]) -> Mapping[str, tuple[MeasuredRate, ...]]:
    """Of each type the steps that most jobs took, each of the median duration of its samples."""
    found = defaultdict[str, list[MeasuredRate]](list)
    for what, of in sorted(steps.items(), key=lambda item: (-len(item[1]), item[0])):
        if len(found[what[0]]) < _MOST_STEPS:
            found[what[0]].append(_as_measured(what, median_low(of)))
    return {kind: tuple(of) for kind, of in found.items()}


def _as_measured(what: _What, step: _Step) -> MeasuredRate:
    kind, workers, _, passes, _ = what
    return MeasuredRate.model_construct(
        type=kind,
        workers=workers,
        batch=step.batch,
        accumulation=passes,
        nodes=step.nodes,
        step_seconds=Decimal(step.seconds),
        rate=Decimal(1),
        seconds=_LONG_ENOUGH,
    )
