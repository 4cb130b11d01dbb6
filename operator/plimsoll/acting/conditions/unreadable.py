"""The status of an object that cannot be read, as a merge patch, since it has no model."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from plimsoll.acting.conditions.conditions import LONGEST_MESSAGE, whole_second
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects.times import rfc3339
from plimsoll.observe.refused import RefusedObject
from plimsoll.vocabulary.reasons import Reason

ACCEPTED: Final = "Accepted"
"""The condition that is False while an object cannot be acted on in its present form."""
_JOBS: Final = frozenset(kind.definition.kind for kind in (TrainingJob, InferenceJob))
_Conditions = list[Mapping[str, Any]]


def refused_status(refused: RefusedObject, now: datetime) -> dict[str, Any]:
    """The merge patch of its status; empty if the status already says all of this."""
    message = refused.why[:LONGEST_MESSAGE]
    waits = refused.kind in _JOBS and not refused.status.get("placement")
    kinds = ("Admitted", ACCEPTED) if waits else (ACCEPTED,)
    conditions = _conditions(refused)
    for kind in kinds:
        conditions = _with(conditions, _condition(kind, refused, message, now))
    news: dict[str, Any] = {"conditions": conditions, "observedGeneration": refused.generation}
    if refused.kind in _JOBS:
        news |= {"reason": Reason.INVALID_SPEC.value, "message": message}
    return {key: value for key, value in news.items() if refused.status.get(key) != value}


def _conditions(refused: RefusedObject) -> _Conditions:
    """The conditions on the API server, as far as they are well-formed."""
    there = refused.status.get("conditions")
    found = cast("list[object]", there) if isinstance(there, list) else []
    return [cast("Mapping[str, Any]", each) for each in found if isinstance(each, dict)]


def _condition(kind: str, refused: RefusedObject, message: str, now: datetime) -> Mapping[str, Any]:
    return {
        "type": kind,
        "status": "False",
        "reason": Reason.INVALID_SPEC.value,
        "message": message,
        "lastTransitionTime": rfc3339(whole_second(now)),
        "observedGeneration": refused.generation,
    }


def _with(conditions: _Conditions, news: Mapping[str, Any]) -> _Conditions:
    """The conditions with one replaced; it keeps its transition time if its status is unchanged."""
    old = next((each for each in conditions if each.get("type") == news["type"]), None)
    if old is None:
        return [*conditions, news]
    if old.get("status") == news["status"] and "lastTransitionTime" in old:
        news = {**news, "lastTransitionTime": old["lastTransitionTime"]}
    return [news if each is old else each for each in conditions]
