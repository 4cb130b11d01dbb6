"""Report power caps, a deadline that rules out spot, and measured power in a job's status.

The condition `PowerCapped` exists once it has been True. Its beginning and its end each bring an
event while the job has pods on nodes; limits that change in between only change its message. The
condition `SpotUsable` exists once it has been False, with an event whenever it becomes False, and
its message keeps describing that moment. Measured power has neither condition nor event.
"""

from dataclasses import replace
from typing import Final

from plimsoll.acting.conditions.conditions import Fact
from plimsoll.acting.step import Step, Turn
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.conditions import condition, is_true
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.problem.build import wants_place
from plimsoll.vocabulary.reasons import Reason

POWER_CAPPED: Final = "PowerCapped"
SPOT_USABLE: Final = "SpotUsable"
_NOT_CAPPED: Final = "its GPUs are no longer limited"
_IN_TIME: Final = "there is time for an interruption"


def power_cap_facts(view: JobView, status: JobStatus, turn: Turn) -> tuple[Fact, ...]:
    """Whether and how the job's GPUs are power-capped."""
    why, was_capped = turn.capped.get(view.name), is_true(status.conditions, POWER_CAPPED)
    if why is None and not was_capped:
        return ()
    fact = Fact.false(POWER_CAPPED, Reason.POWER_RELEASED, _NOT_CAPPED)
    if why is not None:
        fact = Fact.true(POWER_CAPPED, Reason.POWER_CAPPED, why)
    has_turned = was_capped != (why is not None)
    return (fact.with_event() if has_turned and _is_on_nodes(view) else fact,)


def spot_facts(view: JobView, status: JobStatus, turn: Turn) -> tuple[Fact, ...]:
    """Whether the job's deadline keeps it off spot."""
    why, found = turn.off_spot.get(view.name), condition(status.conditions, SPOT_USABLE)
    was_off = found is not None and found.status == "False"
    if not wants_place(view) or was_off == (why is not None):
        return ()
    if why is None:
        return (Fact.true(SPOT_USABLE, Reason.PLANNED, _IN_TIME),)
    return (Fact.false(SPOT_USABLE, Reason.DEADLINE_AT_RISK, why).with_event(),)


def with_power(step: Step, turn: Turn) -> Step:
    """The step, which also reports the job's measured power if that is new."""
    powers = turn.powers.get(step.job.name)
    if powers is None:
        return step
    return replace(step, status=step.status.model_copy(update={"power": powers}))


def _is_on_nodes(view: JobView) -> bool:
    """Whether the job has pods on nodes; a job that has ended gets no more events."""
    return any(pod.node and not pod.is_over for pod in view.pods)
