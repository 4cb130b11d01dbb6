"""The steps of a turn: for each job what is to be written, those with nothing to do left out."""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta

from plimsoll.acting.inference import inference_step
from plimsoll.acting.refusal import pods_refused
from plimsoll.acting.spot import is_spot_told, with_spot_told
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.training import training_step
from plimsoll.api.kinds import JobStatus
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.actions import Hold

RETELL = timedelta(seconds=15)
"""How often at most a waiting job's numbers are told anew while its reason stays the same."""


class Steps:
    """Works out steps turn by turn, and remembers which jobs had nothing to do as they are."""

    def __init__(self) -> None:
        self._idle: dict[str, tuple[JobView, str | None, bool]] = {}
        self._told: dict[str, datetime] = {}

    def of(self, turn: Turn, busy: AbstractSet[str]) -> Iterator[Step]:
        """The steps of a turn; `busy` are the uids of jobs whose last step is not done."""
        self._forget(turn.snapshot.jobs)
        for view in sorted(turn.snapshot.jobs, key=_importance):
            decided = view.name in turn.decided
            facts = (view, turn.short.get(view.name), view.name in turn.off_spot)
            if view.uid in busy or (not decided and self._idle.get(view.uid) == facts):
                continue
            if _is_told(view, turn) or _is_going(view):
                continue
            step = self._patient(self._step(view, turn), turn)
            if not decided and step.is_idle:
                self._idle[view.uid] = facts
            elif not step.is_idle:
                yield step

    def _step(self, view: JobView, turn: Turn) -> Step:
        if view.uid in turn.refused:
            return pods_refused(view, turn.refused[view.uid], turn.now)
        if view.training is not None:
            return for_this_spec(with_spot_told(training_step(view, view.training, turn), turn))
        assert view.inference is not None  # noqa: S101 - a job is one or the other
        return for_this_spec(inference_step(view, view.inference, turn))

    def _patient(self, step: Step, turn: Turn) -> Step:
        """The step, without a status that tells but other numbers too soon after the last."""
        if not step.has_writes:
            return step
        last = self._told.get(step.job.uid)
        if last is not None and turn.now - last < RETELL and _tells_only_numbers(step):
            return replace(step, status=step.job.resource.status, waits=True)
        self._told[step.job.uid] = turn.now
        return step

    def _forget(self, jobs: Iterable[JobView]) -> None:
        alive = {view.uid for view in jobs}
        for known in (self._idle, self._told):
            for uid in known.keys() - alive:
                del known[uid]


def for_this_spec(step: Step) -> Step:
    """The step with a status that speaks of the present spec: what it says holds for it as well."""
    generation, status = step.job.resource.metadata.generation, step.status
    if status.observed_generation in (None, generation):
        return step
    here = {"observed_generation": generation}
    conditions = tuple(each.model_copy(update=here) for each in status.conditions)
    return replace(step, status=status.model_copy(update={**here, "conditions": conditions}))


def _tells_only_numbers(step: Step) -> bool:
    """Whether a step does nothing but say in other words what the status says already."""
    if step.delete or step.create or step.notes:
        return False
    return _without_words(step.status) == _without_words(step.job.resource.status)


def _without_words(status: JobStatus) -> JobStatus:
    conditions = tuple(each.model_copy(update={"message": ""}) for each in status.conditions)
    return status.model_copy(update={"message": "", "conditions": conditions})


def _is_told(view: JobView, turn: Turn) -> bool:
    """Whether a job waits, and says so already in just these words."""
    action, resource = turn.decided.get(view.name), view.resource
    status = resource.status
    return (
        isinstance(action, Hold)
        and (status.reason, status.message) == (action.reason, action.message)
        and status.observed_generation == resource.metadata.generation
        and status.placement is None
        and not view.pods
        and is_spot_told(view, turn)
    )


def _is_going(view: JobView) -> bool:
    """Whether a job is being deleted, and only stays until its pods or somebody else let it go."""
    return view.resource.metadata.deletion_timestamp is not None


def _importance(view: JobView) -> tuple[int, float, str]:
    """Capacity that is free is promised to the most important job first."""
    created = view.resource.metadata.creation_timestamp
    return -(view.priority or 0), created.timestamp() if created else 0.0, view.name
