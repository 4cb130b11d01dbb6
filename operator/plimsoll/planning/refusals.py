"""What a plan makes of pods that the API server refused: a while without asking for them again.

A job of which nothing runs waits that long. A service keeps the replicas that it has and gets no
others, until it is time to try again or its spec changes. Each trial may take others' places for
nothing, so the pause is longer after each that failed.
"""

from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.conditions import Condition, condition
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.actions import Hold
from plimsoll.telemetry import Reason

ABLE_TO_SCALE: Final = "AbleToScale"
"""The condition of services that tells what stands against their having other replicas."""
REFUSAL_PAUSE: Final = timedelta(seconds=60)
"""How long refused pods are not asked for again, unless the job's spec changes."""
LONGEST_PAUSE: Final = timedelta(minutes=30)
"""How long at most, when they were refused again and again."""


def refusal_pause(status: JobStatus) -> timedelta:
    """How long refused pods are not asked for again: twice as long with each refusal in a row."""
    return min(LONGEST_PAUSE, REFUSAL_PAUSE * 2 ** min(max(0, status.refusals - 1), 16))


def refused_of_late(view: JobView, now: datetime) -> Hold | None:
    """The API server would not have the job's pods, and nothing says that it would now."""
    found = condition(view.resource.status.conditions, "Admitted")
    if found is None or found.reason != Reason.POD_REFUSED or not _holds(view, found, now):
        return None
    return Hold(view.name, Reason.POD_REFUSED, found.message, hopeless=True)


def growth_refusal(status: InferenceJobStatus) -> Condition | None:
    """What was said of new replicas, while others run; Unknown while it is tried again."""
    found = condition(status.conditions, ABLE_TO_SCALE)
    return found if found is not None and found.reason == Reason.POD_REFUSED else None


def may_not_grow(view: JobView, now: datetime) -> bool:
    """Whether new replicas of a service were refused of late."""
    found = growth_refusal(view.inference.status) if view.inference is not None else None
    return found is not None and found.status == "False" and _holds(view, found, now)


def _holds(view: JobView, refusal: Condition, now: datetime) -> bool:
    same = refusal.observed_generation == view.resource.metadata.generation
    pause = refusal_pause(view.resource.status)
    return same and now - refusal.last_transition_time <= pause
