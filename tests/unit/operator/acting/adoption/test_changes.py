"""What is to be written for a Job, from what is there: each change follows from the last."""

from typing import Any

from plimsoll.acting.adoption.changes import (
    Change,
    HoldPods,
    LetGo,
    Remove,
    Revise,
    StandFor,
    adoption_changes,
    remarks,
)
from plimsoll.acting.writes.adoption import held, let_go
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_stand_in, seen_job
from support.clusters.seen import NOW, seen
from support.objects.batch_jobs import GATE, a_batch_job
from support.objects.job_manifests import a_training_job

SUSPENDED = [{"type": "Suspended", "status": "True"}]


def changes(*manifests: Manifest, advises: bool = False) -> list[Change]:
    return [*adoption_changes(seen(*manifests).adopted, advises=advises)]


def said(*manifests: Manifest) -> list[str]:
    return [each.said.reason for each in remarks(seen(*manifests).adopted)]


def a_job(job: Manifest, spec: Manifest | None = None, **status: Any) -> Manifest:  # noqa: ANN401 - a status
    job["spec"] |= spec or {}
    return seen_job(job, **status)


def test_a_suspended_job_is_held_first_then_stood_for_and_then_left_alone() -> None:
    bare = a_batch_job(held=False, suspend=True)
    (first,) = changes(a_job(bare))
    assert isinstance(first, HoldPods)
    (second,) = changes(a_job(a_batch_job()))
    assert isinstance(second, StandFor)
    assert changes(a_job(a_batch_job()), a_stand_in(a_batch_job())) == []


def test_a_job_is_not_held_while_it_still_has_pods() -> None:
    assert changes(a_job(a_batch_job(held=False, suspend=True), active=1)) == []
    assert changes(a_job(a_batch_job(held=False))) == []
    assert said(a_job(a_batch_job(held=False))) == ["AlreadyRuns"]


def test_what_annotations_change_is_revised_and_what_users_set_stays() -> None:
    before, after = a_batch_job(), a_batch_job(annotations={"checkpoint.interval": "5m"})
    stand_in = a_stand_in(before, "a", "b")
    stand_in["spec"]["suspend"] = True
    (change,) = changes(a_job(after), stand_in)
    assert isinstance(change, Revise)
    assert change.patch == {"checkpoint": {"interval": "5m"}}
    assert changes(a_job(before), stand_in) == []


def test_what_annotations_no_longer_say_is_taken_back() -> None:
    before, after = a_batch_job(annotations={"topology.required": "rack"}), a_batch_job()
    (change,) = changes(a_job(after), a_stand_in(before))
    assert isinstance(change, Revise)
    assert change.patch == {"topology": {"required": None}}


def test_a_waiting_job_of_another_shape_is_stood_for_anew() -> None:
    (change,) = changes(a_job(a_batch_job(gpus=4)), a_stand_in(a_batch_job()))
    assert isinstance(change, Remove)
    assert not change.unless_asked
    assert changes(a_job(a_batch_job(gpus=4)), a_stand_in(a_batch_job(), "a", "b")) == []


def test_a_job_that_no_longer_asks_is_let_go_once_it_is_suspended() -> None:
    stand_in = a_stand_in(a_batch_job(), "a", "b")
    running = a_job(a_batch_job(queue=None), {"suspend": False}, active=2)
    assert changes(running, stand_in) == []
    assert said(running, stand_in) == ["Adopted"]
    (change,) = changes(a_job(a_batch_job(queue=None), conditions=SUSPENDED), stand_in)
    assert isinstance(change, LetGo)
    free = a_job(a_batch_job(queue=None, held=False))
    (change,) = changes(free, stand_in)
    assert isinstance(change, Remove)
    assert change.unless_asked


def test_a_job_that_was_never_stood_for_is_let_go_too() -> None:
    (change,) = changes(a_job(a_batch_job(queue=None)))
    assert isinstance(change, LetGo)


def test_a_claim_without_its_job_is_removed_unless_the_job_asks_after_all() -> None:
    ref = {"apiVersion": "batch/v1", "kind": "Job", "name": "gone", "uid": "u"}
    forged = a_training_job("forged", workloadRef={**ref, "gpuResource": "nvidia.com/gpu"})
    (change,) = changes(forged)
    assert isinstance(change, Remove)
    assert change.unless_asked


def test_a_job_that_is_over_is_left_as_it_ended() -> None:
    for kind in ("Complete", "Failed"):
        over = [{"type": kind, "status": "True"}]
        assert changes(a_job(a_batch_job(), conditions=over)) == []
        let_be = a_job(a_batch_job(queue=None), conditions=over)
        assert changes(let_be, a_stand_in(a_batch_job(), "a", "b")) == []


def test_while_plans_are_advice_no_job_is_touched() -> None:
    assert changes(a_job(a_batch_job(held=False, suspend=True)), advises=True) == []
    assert changes(a_job(a_batch_job(queue=None)), advises=True) == []
    (change,) = changes(a_job(a_batch_job()), advises=True)
    assert isinstance(change, StandFor)


def test_our_gate_is_put_beside_those_of_others_and_only_ours_is_taken_away() -> None:
    other = {"name": "example.com/other"}
    job = a_batch_job(held=False, suspend=True, pod={"schedulingGates": [other]})
    (hold,) = changes(a_job(job))
    assert isinstance(hold, HoldPods)
    _, operation = held(hold.workload, NOW)
    gates = "/spec/template/spec/schedulingGates"
    assert operation == {"op": "add", "path": f"{gates}/-", "value": {"name": GATE}}
    both = a_batch_job(queue=None, pod={"schedulingGates": [other, {"name": GATE}]}, held=False)
    (free,) = changes(a_job(both, {"suspend": True}))
    assert isinstance(free, LetGo)
    same, removal, resumption = let_go(free.workload)
    assert (same["op"], same["path"]) == ("replace", "/metadata/resourceVersion")
    assert removal == {"op": "remove", "path": f"{gates}/1"}
    assert (resumption["path"], resumption["value"]) == ("/spec/suspend", False)
