"""Explain why a job waits and what would let it run, in users' terms."""

from collections.abc import Iterable
from datetime import timedelta

from plimsoll.acting.conditions.speeds import speeds_of
from plimsoll.cli.analysis.fates import places, report
from plimsoll.cli.analysis.trial import Trial
from plimsoll.cli.jobs.speeds import speeds
from plimsoll.cli.output.report import JobLine, Place
from plimsoll.cli.output.results import EarliestStart, GivingWay, Lost, Remedy, Speed, Why
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.build import wants_place
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.serving.target_jobs import is_target_known, unusable_target
from plimsoll.planning.training.expected_end import expected_ends
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement import explain
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain.request import asks
from plimsoll_placement.model import Assignment, Job, JobName
from plimsoll_placement.ranges import out_of_range
from plimsoll_placement.state.ledger import Ledger

_MILLI = 1000
_HOUR = 3600
_SELF_EVIDENT = frozenset(
    {
        Reason.PRIORITY_CLASS_NOT_FOUND,
        Reason.QUEUE_NOT_FOUND,
        Reason.QUEUE_NOT_ALLOWED,
        Reason.PRIORITY_NOT_ALLOWED,
        Reason.INVALID_SPEC,
        Reason.MANAGED_ELSEWHERE,
        Reason.POD_REFUSED,
        Reason.PODS_READY_TIMEOUT,
        Reason.NODE_UNREACHABLE,
        Reason.RESERVED,
        Reason.SUSPENDED,
        Reason.TOO_MANY_JOBS,
        Reason.WAITING_FOR_SPOT,
    }
)
"""Reasons given before planning, whose message itself says what to do."""


class Explaining:
    """Explains jobs of one plan."""

    def __init__(self, trial: Trial, effort: Effort | None = None) -> None:
        self.trial = trial
        ends = expected_ends(trial.snapshot)
        self._ends = {JobName(name): seconds for name, seconds in ends.items()}
        problem, placements = trial.result.problem, trial.result.solution.placements
        self._again = explain.Again(problem, placements, effort or Effort())
        self._lines = {(j.kind, j.namespace, j.name): j for j in report(trial).jobs}

    def line(self, view: JobView) -> JobLine | None:
        """The plan's line about a job; None if it is over."""
        meta = view.resource.metadata
        return self._lines.get((view.resource.kind, meta.namespace, meta.name))

    def why(self, view: JobView, most: int = 3) -> Why | None:
        """Everything known about a job; None if it is over."""
        line = self.line(view)
        if line is None:
            return None
        asking, fast = self._asking(view, line), _speeds(view)
        if asking is None:
            return Why(line, speeds=fast)
        remedies = self._remedies(asking, most)
        return Why(line, remedies, *self._otherwise(line, asking), speeds=fast)

    def earliest_start(self, view: JobView) -> EarliestStart | None:
        """When a job that waits could start; None if it does not wait, or that is not known."""
        line = self.line(view)
        asking = self._asking(view, line) if line is not None and not line.place else None
        start = explain.earliest_start(self._again, asking, self._ends) if asking else None
        return self._start(start) if start else None

    def _asking(self, view: JobView, line: JobLine) -> Job | None:
        """What the job still asks for; None if nothing, or if that cannot be computed with."""
        if not wants_place(view) or line.reason in _SELF_EVIDENT:
            return None
        job = job_of(self.trial, view)
        if job is None:
            return None
        held = self._again.placements.get(job.name, ())
        return next(iter(asks(Ledger(self._again.problem), job, held)), None)

    def _remedies(self, asking: Job, most: int) -> tuple[Remedy, ...]:
        return tuple(
            Remedy(
                changes=tuple(c.sentence() for c in proof.relaxation.changes),
                place=places_of(asking, proof.assignments),
                displaced=tuple(map(str, proof.displaced)),
                others_stay=proof.others_stay,
                certain=proof.is_certain,
            )
            for proof in explain.proofs(self._again, asking, most)
        )

    def _otherwise(
        self, line: JobLine, asking: Job
    ) -> tuple[GivingWay | None, EarliestStart | None]:
        """Which jobs would give way to a waiting job, and when it could start otherwise."""
        if line.place:
            return None, None
        gives = explain.giving_way(self._again, asking)
        start = explain.earliest_start(self._again, asking, self._ends)
        return (
            _giving_way(asking, gives) if gives and gives.losses else None,
            self._start(start) if start else None,
        )

    def _start(self, start: explain.Start) -> EarliestStart:
        now, in_turn = self.trial.snapshot.now, start.in_turn_seconds
        return EarliestStart(
            at=now + timedelta(seconds=start.seconds),
            after=tuple(map(str, start.after)),
            in_turn_at=None if in_turn is None else now + timedelta(seconds=in_turn),
        )


def _speeds(view: JobView) -> tuple[Speed, ...]:
    """The speeds that the plan takes a job to have."""
    job = view.training
    return () if job is None else speeds(job, speeds_of(job))


def job_of(trial: Trial, view: JobView) -> Job | None:
    """The solver's job, even if it was left out of the problem because it cannot run.

    None if what it asks for is not known, as its target cannot be used, or beyond computing.
    """
    known = trial.result.problem.job_by_name.get(JobName(view.name))
    if known is not None:
        return known
    if not is_target_known(view) or unusable_target(view) is not None:
        return None
    builder = ProblemBuilder()
    cluster = builder.cluster(trial.snapshot)
    job = builder.job(view, cluster, trial.snapshot.now, pinned=False)
    return None if out_of_range(job) else job


def places_of(job: Job, assignments: Iterable[Assignment]) -> tuple[Place, ...]:
    """Where the pods are, by role."""
    return tuple(places((job.role(each.role), each) for each in assignments))


def _giving_way(asking: Job, gives: explain.GivingWay) -> GivingWay:
    return GivingWay(
        priority=gives.priority,
        place=places_of(asking, gives.assignments),
        losses=tuple(map(_lost, gives.losses)),
        gpu_hours_lost=gpu_hours(gives.gpu_seconds),
        gpu_hours_gained=gpu_hours(gives.gain.gpu_seconds),
        gain_hours=gives.gain.seconds / _HOUR,
        pays=gives.gain.pays,
        gpu_hours_allowed=None if gives.gain.beyond is None else gpu_hours(gives.gain.beyond),
    )


def _lost(loss: explain.Loss) -> Lost:
    return Lost(
        job=str(loss.job),
        priority=loss.priority,
        stops=loss.stops,
        gpus=loss.held_milli / _MILLI,
        gpu_hours_lost=gpu_hours(loss.gpu_seconds),
    )


def gpu_hours(gpu_seconds: int) -> float:
    """GPU-seconds in hours, rounded for people."""
    return round(gpu_seconds / _HOUR, 3)
