"""Compute the steps of a turn: what to write for each job, skipping jobs with nothing to do."""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from plimsoll.acting.conditions.conditions import reported
from plimsoll.acting.conditions.job_faults import fault_step, with_fault, without_fault
from plimsoll.acting.conditions.offered_load import with_load, without_numbers
from plimsoll.acting.conditions.simple import power_cap_facts, spot_facts, with_power
from plimsoll.acting.conditions.slow_workers import with_stragglers
from plimsoll.acting.conditions.standing import with_standing
from plimsoll.acting.jobs.draining import with_draining
from plimsoll.acting.jobs.gangs.adopted import with_pods_kept
from plimsoll.acting.jobs.gangs.first_place import untold
from plimsoll.acting.jobs.gangs.gang_start import waits_in_place
from plimsoll.acting.jobs.gangs.training import training_step
from plimsoll.acting.jobs.refusal import pods_refused
from plimsoll.acting.jobs.services.inference import inference_step
from plimsoll.acting.jobs.services.target import target_refused, target_step
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.actions import Hold
from plimsoll.planning.disruption.backoff import REFUSALS
from plimsoll.planning.faults import Faults, Stage

Inputs = tuple[JobView, *tuple[object, ...]]
"""A job, and what a turn has for it."""
REPORT_INTERVAL = timedelta(seconds=15)
"""The least time between updates of a waiting job's numbers while its reason stays the same."""


class Steps:
    """Computes steps turn by turn, and remembers which jobs had nothing to do."""

    def __init__(self, faults: Faults | None = None) -> None:
        self._faults = faults or Faults()
        self._idle: dict[str, tuple[Inputs, datetime | None]] = {}
        self._at_rest: dict[str, JobView] = {}
        """The jobs that had nothing to do, and have nothing until they change or are named."""
        self._reported: dict[str, datetime] = {}

    def of(self, turn: Turn, busy: AbstractSet[str]) -> Iterator[Step]:
        """The steps of a turn; `busy` holds the uids of jobs whose last step is not done."""
        self._forget(turn.snapshot.jobs)
        known, named = self._at_rest, turn.named
        awake = (
            view
            for view in turn.snapshot.jobs
            if known.get(view.uid) is not view or view.name in named
        )
        for view in sorted(awake, key=_importance):
            step = None if view.uid in busy or _is_going(view) else self._due(view, turn)
            if step is not None:
                yield step

    def _due(self, view: JobView, turn: Turn) -> Step | None:
        """The step of a job, or None if there is nothing to do."""
        decided, inputs = view.name in turn.decided, _inputs(view, turn)
        if not decided and self._rests(view.uid, inputs, turn.now):
            return None
        step = self._safe_step(view, turn)
        if step is None or not step.is_idle:
            return step
        if not decided:
            self._idle[view.uid] = inputs, step.rests_until
            if step.rests_until is None and view.name not in turn.named:
                self._at_rest[view.uid] = view
        return None

    def _safe_step(self, view: JobView, turn: Turn) -> Step | None:
        """The step of a job; an error in one job does not affect the others."""
        fault = turn.faults.get(view.name)
        if fault is not None and fault.stage is Stage.ACT:
            return fault_step(view, fault, turn)
        try:
            if _waits_as_reported(view, turn):
                return None
            return self._patient(_with_power_and_standing(self._step(view, turn), turn), turn)
        except Exception as error:  # noqa: BLE001 - around one object: it is held, the others go on
            return fault_step(view, self._faults.add(view, error, turn.now, Stage.ACT), turn)

    def _rests(self, uid: str, inputs: Inputs, now: datetime) -> bool:
        """Whether a job had nothing to do in this state, and time alone has not changed that."""
        known, until = self._idle.get(uid, (None, None))
        is_same = known is not None and known[0] is inputs[0] and known[1:] == inputs[1:]
        return is_same and (until is None or now < until)

    def _step(self, view: JobView, turn: Turn) -> Step:
        if view.uid in turn.refused and view.target is not None:
            return target_refused(view, turn.refused[view.uid].message, turn)
        if view.uid in turn.refused and view.training is not None and view.stays:
            why = turn.refused[view.uid]
            return waits_in_place(view, view.training.status, turn, why.reason, why.message)
        if view.uid in turn.refused:
            return with_pods_kept(pods_refused(view, turn.refused[view.uid], turn))
        if view.training is not None:
            step = with_stragglers(training_step(view, view.training, turn), turn)
            return for_this_spec(_with_facts(step, turn))
        assert view.inference is not None  # noqa: S101 - a job is one or the other
        step_of = target_step if view.inference.spec.target_ref else inference_step
        return for_this_spec(_with_facts(step_of(view, view.inference, turn), turn))

    def _patient(self, step: Step, turn: Turn) -> Step:
        """The step, without its status if that only updates numbers too soon after the last."""
        step = untold(step, turn)
        if not step.has_writes:
            return step
        last = self._reported.get(step.job.uid)
        if last is not None and turn.now - last < REPORT_INTERVAL and _reports_only_numbers(step):
            return replace(step, status=step.job.status_written, waits=True)
        self._reported[step.job.uid] = turn.now
        return step

    def _forget(self, jobs: Sequence[JobView]) -> None:
        if max(len(self._idle), len(self._reported)) <= len(jobs):
            return
        alive = {view.uid for view in jobs}
        for known in (self._idle, self._at_rest, self._reported):
            for uid in known.keys() - alive:
                del known[uid]


def _with_facts(step: Step, turn: Turn) -> Step:
    """The step, which also reports a service's load, and how spot and power caps affect a job."""
    step, view = with_load(step, turn), step.job
    facts = power_cap_facts(view, step.status, turn)
    if view.training is not None:
        facts = (*spot_facts(view, step.status, turn), *facts)
    return reported(step, facts, turn.now)


def _with_power_and_standing(step: Step, turn: Turn) -> Step:
    """The step, which also reports the power its GPUs draw, and why its spec is not in force."""
    step, fault = with_power(step, turn), turn.faults.get(step.job.name)
    if fault is not None and step.status.placement is not None:
        return with_fault(step, turn, fault)
    return with_standing(without_fault(step), turn.now)


def _inputs(view: JobView, turn: Turn) -> Inputs:
    """Everything that a job's step depends on while the plan has no action for it."""
    name = view.name
    limits = turn.short.get(name), name in turn.off_spot, turn.capped.get(name)
    held = turn.renewal_waits.get(name)
    return view, *limits, held, turn.powers.get(name), turn.faults.get(name)


def for_this_spec(step: Step) -> Step:
    """The step with its status marked as observed for the present spec, for which it still holds.

    Except for refusals of pods and their count: a new spec may make different pods.
    """
    generation, status = step.job.resource.metadata.generation, step.status
    if status.observed_generation in (None, generation):
        return step
    here = {"observed_generation": generation}
    conditions = tuple(
        each if each.reason in REFUSALS else each.model_copy(update=here)
        for each in status.conditions
    )
    update = {**here, "conditions": conditions, "refusals": 0}
    return replace(step, status=status.model_copy(update=update))


def _reports_only_numbers(step: Step) -> bool:
    """Whether a step only rewords or renumbers what the status already reports."""
    if step.does_more_than_report:
        return False
    return _without_words(step.status) == _without_words(step.job.status_written)


def _without_words(status: JobStatus) -> JobStatus:
    conditions = tuple(each.model_copy(update={"message": ""}) for each in status.conditions)
    silent = status.model_copy(update={"message": "", "conditions": conditions})
    return without_numbers(silent) if isinstance(silent, InferenceJobStatus) else silent


def _waits_as_reported(view: JobView, turn: Turn) -> bool:
    """Whether a job waits, and its status already says so in these very words."""
    action, resource = turn.decided.get(view.name), view.resource
    status = resource.status
    return (
        isinstance(action, Hold)
        and (status.reason, status.message) == (action.reason, action.message)
        and status.observed_generation == resource.metadata.generation
        and status.placement is None
        and not view.pods
        and (view.workload is None or view.workload.suspended)
        and with_draining(_with_facts(Step(view, status), turn)).status == status
    )


def _is_going(view: JobView) -> bool:
    """Whether a job is being deleted, and only remains until its pods or finalizers let it go."""
    return view.resource.metadata.deletion_timestamp is not None


def _importance(view: JobView) -> tuple[int, float, str]:
    """Sort key: free capacity goes to the most important job first."""
    created = view.resource.metadata.creation_timestamp
    return -(view.priority or 0), created.timestamp() if created else 0.0, view.name
