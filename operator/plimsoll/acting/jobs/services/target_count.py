"""The replica count to set on a target, and when a count set by others is left alone."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from plimsoll.acting.conditions.conditions import Fact, is_news, whole_second, with_conditions
from plimsoll.acting.step import JobEvent
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus, TargetStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.snapshot import JobView, TargetView
from plimsoll.observe.targets.targets import CONTEST_WINDOW, MOST_OVERRIDES, is_contested
from plimsoll.planning.disruption.backoff import ABLE_TO_SCALE
from plimsoll.planning.serving.replicas import wanted_replicas
from plimsoll.vocabulary.reasons import Reason

MOST_TIMES = 16
SCALE_PAUSE = timedelta(seconds=60)
"""How long a target is left alone after the API server refused a write."""


def count_of(job: InferenceJob, target: TargetView) -> int:
    """The count while no plan sets another: replicas with a place, and those waiting for one.

    It never falls below the number of places, and never exceeds what is wanted.
    """
    status = job.status
    places = status.placement.assignments if status.placement else ()
    wanted = wanted_replicas(job, job.spec.roles[0], places)
    before = target.replicas if status.target is None else status.target.replicas
    return max(len(places), min(before, wanted))


def with_count(
    status: InferenceJobStatus, count: int, target: TargetView, now: datetime
) -> InferenceJobStatus:
    """The status with the count to set on the target, and whether others changed the last one.

    A different count is an override only if the target had reached the one before: otherwise we may
    have died before we set it.
    """
    before = status.target or TargetStatus(replicas=count, found=target.replicas)
    news: dict[str, object] = {"replicas": count, "reached": target.replicas == count}
    if before.reached and target.replicas != before.replicas:
        times = (*_recent(before.overridden_times, now), whole_second(now))
        news["overridden_times"] = times[-MOST_TIMES:]
    return status.model_copy(update={"target": before.model_copy(update=news)})


def _recent(times: Iterable[datetime], now: datetime) -> list[datetime]:
    return [at for at in times if now - at < CONTEST_WINDOW]


def contest_ends(status: InferenceJobStatus, now: datetime) -> datetime | None:
    """Until when others may keep their own count; None if the target is not contested."""
    times = status.target.overridden_times if status.target else ()
    if not is_contested(times, now):
        return None
    return sorted(_recent(times, now))[-MOST_OVERRIDES] + CONTEST_WINDOW


def is_paused(status: InferenceJobStatus, now: datetime) -> bool:
    """Whether the API server refused a write recently."""
    found = condition(status.conditions, ABLE_TO_SCALE)
    if found is None or found.reason != Reason.FAILED_UPDATE_SCALE:
        return False
    return now - found.last_transition_time < SCALE_PAUSE


def with_ability(
    status: InferenceJobStatus, view: JobView, target: TargetView, now: datetime
) -> tuple[InferenceJobStatus, tuple[JobEvent, ...]]:
    """The status with whether the target can be scaled, and events for what is new about that."""
    if is_paused(status, now):
        return status, ()
    ends = contest_ends(status, now)
    fact = Fact.true(ABLE_TO_SCALE, Reason.SUCCEEDED_GET_SCALE)
    if ends is not None:
        fact = Fact.false(ABLE_TO_SCALE, Reason.TARGET_CONTESTED, _contest(target, ends))
    if not is_news(status, fact):
        return status, ()
    before = status.reason, status.message
    status = with_conditions(status, view, now, [fact])
    if ends is not None:
        return status, (JobEvent(fact.reason, fact.message, warning=True),)
    return status.model_copy(update={"reason": before[0], "message": before[1]}), ()


def _contest(target: TargetView, ends: datetime) -> str:
    """Who contests the target, until when it is left alone, and what to do."""
    return (
        f"{target.manager} keeps setting spec.replicas of {target.reference}, last to"
        f" {target.replicas}: it is left alone until {ends:%H:%M:%S} UTC. Let only one of the two"
        " scale it: remove the HPA, KEDA or replicas in a manifest, or this job"
    )
