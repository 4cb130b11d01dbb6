"""How a job is told that its deadline keeps it off spot: its condition `SpotUsable`, and an event.

The condition is there once it has been False, and its message says how things stood at that time.
"""

from dataclasses import replace

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.parts.conditions import Condition, condition, with_condition
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.build import wants_place
from plimsoll.telemetry import Reason

SPOT_USABLE = "SpotUsable"
_AGAIN = "there is time for an interruption"


def is_spot_told(view: JobView, turn: Turn) -> bool:
    """Whether a job says already whether its deadline keeps it off spot, or has no need to."""
    if not wants_place(view):
        return True
    found = condition(view.resource.status.conditions, SPOT_USABLE)
    said = found is not None and found.status == "False"
    return said == (view.name in turn.off_spot)


def with_spot_told(step: Step, turn: Turn) -> Step:
    """The step, which also says whether the job's deadline keeps it off spot if that is new."""
    if is_spot_told(step.job, turn):
        return step
    why = turn.off_spot.get(step.job.name)
    reason = Reason.PLANNED if why is None else Reason.DEADLINE_AT_RISK
    news = Condition(
        type=SPOT_USABLE,
        status="True" if why is None else "False",
        reason=reason,
        message=why or _AGAIN,
        last_transition_time=whole_second(turn.now),
        observed_generation=step.job.resource.metadata.generation,
    )
    conditions = with_condition(step.status.conditions, news)
    status = step.status.model_copy(update={"conditions": conditions})
    events = () if why is None else (JobEvent(reason, why),)
    return replace(step, status=status, events=(*step.events, *events))
