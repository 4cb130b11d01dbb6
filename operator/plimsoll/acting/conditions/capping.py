"""How a job is told that its GPUs are limited: its condition `PowerCapped`, and events.

There is an event when that begins and one when it ends, while the job has pods on nodes. The
condition is there once it has been True. Limits that change meanwhile change its message only.
"""

from dataclasses import replace
from typing import Final

from plimsoll.acting.conditions.conditions import LONGEST_MESSAGE, whole_second
from plimsoll.acting.step import JobEvent, Step, Turn
from plimsoll.api.parts.conditions import Condition, condition, with_condition
from plimsoll.observe.snapshot import JobView
from plimsoll.telemetry import Reason

POWER_CAPPED: Final = "PowerCapped"
_AGAIN: Final = "its GPUs are limited no longer"


def is_cap_told(view: JobView, turn: Turn) -> bool:
    """Whether a job says already how its GPUs are limited, or has no need to."""
    found, why = (
        condition(view.resource.status.conditions, POWER_CAPPED),
        turn.capped.get(view.name),
    )
    if found is None or found.status == "False":
        return why is None
    return why is not None and found.message == why[:LONGEST_MESSAGE]


def with_cap_told(step: Step, turn: Turn) -> Step:
    """The step, which also says how the job's GPUs are limited if that is new."""
    if is_cap_told(step.job, turn):
        return step
    why = turn.capped.get(step.job.name)
    reason = Reason.POWER_RELEASED if why is None else Reason.POWER_CAPPED
    before = condition(step.status.conditions, POWER_CAPPED)
    news = Condition(
        type=POWER_CAPPED,
        status="False" if why is None else "True",
        reason=reason,
        message=(why or _AGAIN)[:LONGEST_MESSAGE],
        last_transition_time=whole_second(turn.now),
        observed_generation=step.job.resource.metadata.generation,
    )
    status = step.status.model_copy(
        update={"conditions": with_condition(step.status.conditions, news)}
    )
    is_turned = before is None or before.status != news.status
    events = (JobEvent(reason, news.message),) if is_turned and _runs(step.job) else ()
    return replace(step, status=status, events=(*step.events, *events))


def _runs(view: JobView) -> bool:
    """Whether it has pods on nodes; of one that has ended there is nothing more to be told."""
    return any(pod.node and not pod.is_over for pod in view.pods)
