from datetime import timedelta
from typing import Any

import pytest

from plimsoll.acting.conditions.unreadable import refused_status
from plimsoll.observe.refused import RefusedObject, refused_object
from support.clusters.seen import NOW

WHY = "spec.workers.min: should be a valid integer; it is 'many'"


def refused(kind: str = "TrainingJob", status: object = None) -> RefusedObject:
    meta = {"name": "x", "namespace": "team", "uid": "u", "resourceVersion": "7", "generation": 3}
    return refused_object({"kind": kind, "metadata": meta, "status": status}, WHY)


def condition_of(status: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(each for each in status["conditions"] if each["type"] == kind)


def test_a_job_that_cannot_be_read_says_why_it_waits() -> None:
    status = refused_status(refused(), NOW)
    assert (status["reason"], status["message"]) == ("InvalidSpec", WHY)
    assert status["observedGeneration"] == 3
    for kind in ("Admitted", "Accepted"):
        assert condition_of(status, kind)["status"] == "False"


def test_a_job_with_a_place_is_not_said_to_have_lost_it() -> None:
    admitted = {"type": "Admitted", "status": "True", "lastTransitionTime": "2026-11-21T11:00:00Z"}
    there = {"placement": {"workers": 2}, "conditions": [admitted]}
    status = refused_status(refused(status=there), NOW)
    assert condition_of(status, "Admitted") == admitted
    assert condition_of(status, "Accepted")["message"] == WHY


def test_what_is_said_already_is_not_written_again() -> None:
    first = refused_status(refused(), NOW)
    assert refused_status(refused(status=first), NOW + timedelta(hours=1)) == {}


@pytest.mark.parametrize("kind", ["JobQueue", "GPUPool", "PlacementPolicy", "PowerDomain"])
def test_kinds_without_a_reason_say_it_in_a_condition(kind: str) -> None:
    status = refused_status(refused(kind), NOW)
    assert set(status) == {"conditions", "observedGeneration"}


@pytest.mark.parametrize("there", ["text", 7, [1], {"conditions": 7}, {"conditions": ["x", None]}])
def test_a_status_that_makes_no_sense_either_is_written_over(there: object) -> None:
    assert refused_status(refused(status=there), NOW)["reason"] == "InvalidSpec"
