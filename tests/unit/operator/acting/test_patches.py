from collections.abc import Callable
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from plimsoll.acting.jobs.release import released
from plimsoll.acting.patches import merge_patch, status_of, status_operations, status_patch
from plimsoll.api.model import status_wire_of
from plimsoll.api.training_job import TrainingJobStatus, TrainingPlacement
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.cluster.patches import merged
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_training_job, an_inference_job

Document = dict[str, JsonValue]

READY = TrainingJobStatus(reason="Ready")

SCALARS = st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"])
KEYS = st.sampled_from(["one", "two", "three"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = cast("st.SearchStrategy[Document]", st.dictionaries(KEYS, VALUES, max_size=3))


@given(DOCUMENTS, DOCUMENTS)
def test_the_patch_leads_from_one_document_to_the_other(old: Document, new: Document) -> None:
    assert merged(old, merge_patch(old, new)) == new


@given(DOCUMENTS)
def test_between_equals_there_is_nothing_to_send(document: Document) -> None:
    assert merge_patch(document, document) == {}


@given(DOCUMENTS, DOCUMENTS)
def test_what_stays_is_not_sent(old: Document, new: Document) -> None:
    patch = merge_patch(old, new)
    assert all(patch[key] != old[key] for key in patch.keys() & old.keys())


def test_a_first_status_is_sent_with_its_defaults() -> None:
    """As users read it: `restarts: 0` is written, not left out."""
    patch = status_patch(TrainingJobStatus(), TrainingJobStatus(reason="Pending"))
    assert patch["reason"] == "Pending"
    assert patch["restarts"] == 0
    assert None not in patch.values()


def test_what_has_nothing_to_say_is_not_written() -> None:
    """Else `kubectl describe` shows a dozen names without a value."""
    assert not {"restartTimes", "message"} & status_patch(TrainingJobStatus(), READY).keys()


def test_what_has_nothing_to_say_any_more_is_taken_out() -> None:
    spoke = TrainingJobStatus(message="waits", restart_times=(NOW,), reason="Ready")
    now = TrainingJobStatus.model_validate(status_wire_of(spoke))
    assert status_patch(now, READY) == {"message": None, "restartTimes": None}


def test_a_place_that_is_given_up_is_taken_out() -> None:
    placed = TrainingJobStatus(
        placement=TrainingPlacement(revision=1, accelerator_type="x", pool="", workers=1),
        restarts=2,
    )
    now = TrainingJobStatus.model_validate(status_wire_of(placed))
    assert status_patch(now, now.model_copy(update={"placement": None})) == {"placement": None}


@pytest.mark.parametrize("builder", [a_training_job, an_inference_job])
def test_a_status_that_is_replaced_keeps_what_a_newer_version_wrote(
    builder: Callable[[str], Manifest],
) -> None:
    plans = [{"likelihood": "0.5"}]
    (view,) = seen(at(builder("job"), "n-1", score=7, plans=plans)).jobs
    now = released(view.resource.status.model_copy(update={"message": "waits"}))
    sent = status_of(view.resource, now)["status"]
    assert sent["message"] == "waits"
    assert "placement" not in sent
    assert (sent["score"], sent["plans"]) == (7, plans)


def test_operations_leave_alone_what_has_not_changed() -> None:
    raw = {
        "metadata": {"uid": "u"},
        "status": {"restarts": 1, "message": "runs", "reason": "R", "unknown": {"x": 1}},
    }
    old = TrainingJobStatus.model_validate(raw["status"])
    new = old.model_copy(update={"restarts": 2})
    operations = status_operations(raw, new)
    assert operations[:2] == [
        {"op": "test", "path": "/metadata/uid", "value": "u"},
        {"op": "test", "path": "/status", "value": raw["status"]},
    ]
    set_ = {each["path"]: each["value"] for each in operations[2:]}
    assert set_["/status/restarts"] == 2
    assert {each["op"] for each in operations[2:]} == {"add"}
    assert not {"/status/message", "/status/reason", "/status/unknown"} & set_.keys()


def test_operations_remove_only_what_is_there() -> None:
    """A status that says a field is empty, and one that leaves it out, are the same."""
    new = TrainingJobStatus(reason="Ready", message="", nodes_summary="")
    for status, removed in (({"message": ""}, ["/status/message"]), ({}, [])):
        raw = {"metadata": {"uid": "u"}, "status": {"reason": "R", **status}}
        operations = status_operations(raw, new)
        assert [each["path"] for each in operations if each["op"] == "remove"] == removed
