"""Plain pods of PodGroups as they are planned: when they are a gang, how they stand and end."""

import copy
from typing import Any

import pytest

from plimsoll.acting.adoption.changes import Change, LetGo, Remove, adoption_changes, remarks
from plimsoll.observe.adoption.gangs import gang_of
from plimsoll.observe.adoption.workload_view import Outcome
from plimsoll.observe.adoption.workloads import Workload
from plimsoll.observe.observer import Observer
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import a_stand_in, candidate, only, problem, view
from support.clusters.seen import NOW, objects_of, seen
from support.objects.batch_jobs import GATE, QUEUE
from support.objects.manifests import GONE, edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated, sent

GROUP = a_pod_group()
FIRST, SECOND = gated(a_grouped_pod(0)), gated(a_grouped_pod(1))
STANDS = a_stand_in(GROUP, FIRST, SECOND, on=("a", "b"))
SENT = (sent(a_grouped_pod(0), "a"), sent(a_grouped_pod(1), "b"))


def unlabelled(group: Manifest = GROUP) -> Manifest:
    """The group, as it no longer asks to be planned."""
    return edited(group, {"metadata.labels": {}})


def changes(*manifests: Manifest) -> list[Change]:
    """What is due for workloads."""
    return [*adoption_changes(seen(*manifests).adopted, advises=False)]


def said(*manifests: Manifest) -> dict[str, str]:
    """What is told to users of workloads, by reason."""
    found = remarks(seen(*manifests).adopted)
    return {each.said.reason.value: each.said.message for each in found}


def wanted(found: Workload) -> bool:
    return found.wanted is not None and found.problem is None


def test_its_pods_are_one_gang_once_all_wait_behind_the_gate() -> None:
    found = only(GROUP, FIRST, SECOND)
    assert found.wanted is not None
    assert found.candidate.is_held
    gang = gang_of(found.candidate)
    assert (gang.count, gang.gpus, gang.gpu_resource) == (2, 1, "nvidia.com/gpu")
    spec = found.wanted.manifest["spec"]
    assert (spec["workers"]["min"], spec["workers"]["max"]) == (2, 2)
    assert "schedulingGroup" not in spec["workers"]["template"]["spec"]
    meta = found.wanted.manifest["metadata"]
    assert (meta["name"], meta["ownerReferences"][0]["kind"]) == ("podgroup-train", "PodGroup")


def test_nothing_stands_for_it_before_and_that_is_said() -> None:
    for pods in ((), (FIRST,)):
        assert not wanted(only(GROUP, *pods))
        assert not changes(GROUP, *pods)
        assert said(GROUP, *pods) == {
            "Adopted": "planned once all its 2 pods wait behind the scheduling gate"
            " plimsoll.dev/placement, as many as spec.schedulingPolicy.gang.minCount says"
        }
    assert not said(GROUP, FIRST, SECOND)


def test_once_its_pods_have_started_nothing_is_planned_anew() -> None:
    for pods in (SENT, (SENT[0], SECOND)):
        found = only(GROUP, STANDS, *pods)
        assert (found.wanted, found.problem, found.candidate.view.suspended) == (None, None, False)
        assert not changes(GROUP, STANDS, *pods)
        assert not said(GROUP, STANDS, *pods)


def test_what_stands_for_it_has_its_pods_and_those_of_no_other_group() -> None:
    other, unnamed = gated(a_grouped_pod(0, "other")), edited(FIRST, {"spec.schedulingGroup": GONE})
    unnamed["metadata"]["name"] = "unnamed"
    elsewhere = edited(FIRST, {"metadata.namespace": "elsewhere"})
    job = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "j", "controller": True}
    of_a_job = edited(gated(a_grouped_pod(7)), {"metadata.ownerReferences": [job]})
    others = (other, unnamed, elsewhere, of_a_job)
    (seen_job,) = seen(GROUP, STANDS, SENT[0], SECOND, *others).jobs
    assert [(pod.name, pod.replica, pod.revision) for pod in seen_job.pods] == [
        ("train-1", -1, -1),
        ("train-0", 0, 1),
    ]


def test_pods_that_a_controller_of_ones_own_made_are_planned_as_well() -> None:
    mine = {"apiVersion": "example.com/v1", "kind": "Run", "name": "r", "uid": "r"}
    owners = {"metadata.ownerReferences": [{**mine, "controller": True}]}
    assert wanted(only(*(edited(each, owners) for each in (GROUP, FIRST, SECOND))))


@pytest.mark.parametrize(
    ("phases", "outcome"),
    [
        (("Running", "Running"), None),
        (("Succeeded", "Running"), None),
        (("Succeeded", "Succeeded"), Outcome(failed=False, message="2 pods succeeded")),
        (
            ("Running", "Failed"),
            Outcome(
                failed=True,
                message="pod train-1 failed (Evicted: no memory), and plain pods are not made"
                " again",
            ),
        ),
    ],
)
def test_it_ends_as_its_pods_do(phases: tuple[str, str], outcome: Outcome | None) -> None:
    pods = [sent(a_grouped_pod(n), "a", phase=phase) for n, phase in enumerate(phases)]
    for pod in pods:
        if pod["status"]["phase"] == "Failed":
            pod["status"] |= {"reason": "Evicted", "message": "no memory"}
    found = view(GROUP, *pods)
    assert found.outcome == outcome
    assert found.due == 2 - phases.count("Succeeded")
    assert (found.parallelism, found.can_stop) == (2, False)


def test_a_pod_that_somebody_deletes_has_not_failed() -> None:
    going = edited(
        sent(a_grouped_pod(1), "b", phase="Failed"),
        {"metadata.deletionTimestamp": "2026-11-21T12:00:00Z"},
    )
    assert view(GROUP, SENT[0], going).outcome is None


def test_what_stands_for_it_is_removed_once_its_pods_are_gone() -> None:
    for pods in ((), (FIRST,)):
        (change,) = changes(GROUP, STANDS, *pods)
        assert isinstance(change, Remove)
        assert not change.unless_asked
    assert "1 of its 2 pods are gone" in said(GROUP, STANDS, SENT[0])["ReplicasMissing"]
    assert not changes(GROUP, STANDS, SENT[0])


def test_pods_of_a_group_without_the_label_lose_the_gate_and_no_other() -> None:
    found = changes(unlabelled(), FIRST, sent(a_grouped_pod(1), "b"), STANDS)
    removed, let_go = sorted(found, key=lambda each: isinstance(each, LetGo))
    assert isinstance(removed, Remove)
    assert isinstance(let_go, LetGo)
    assert let_go.workload.title == "Pod train-0"
    pod = let_go.workload
    assert pod.adapter.let_go(pod) == [{"op": "remove", "path": "/spec/schedulingGates/0"}]
    assert pod.adapter.resource.named("train-0", "team").url.endswith("/pods/train-0")


def test_pods_wait_for_a_group_that_is_not_there_yet() -> None:
    assert not changes(FIRST, SECOND)
    assert not changes(a_pod_group("another"), FIRST, SECOND)


def strays() -> list[Manifest]:
    return [FIRST, a_grouped_pod(1), a_grouped_pod(2, gpus=0)]


BASIC = edited(GROUP, {"spec.schedulingPolicy": {"basic": {}}})
PERMITTED = edited(GROUP, {"metadata.annotations": {"plimsoll.dev/disruption.maxPerDay": "3"}})
SIZED = edited(GROUP, {"metadata.annotations": {"plimsoll.dev/workers.min": "1"}})
LARGER = edited(SECOND, {"spec.containers.0.resources.limits": {"nvidia.com/gpu": 4}})
KUEUE = edited(SECOND, {"metadata.labels": {"kueue.x-k8s.io/queue-name": "team"}})


@pytest.mark.parametrize(
    ("manifests", "words"),
    [
        ((BASIC, FIRST), "spec.schedulingPolicy.basic: says not how many pods belong together"),
        ((PERMITTED, FIRST, SECOND), "annotation plimsoll.dev/disruption: plans never disturb"),
        ((SIZED, FIRST, SECOND), "PodGroup train cannot change its size"),
        (
            (GROUP, FIRST, LARGER),
            "Pod/train-1: its pods with GPUs differ from those of Pod/train-0",
        ),
        ((GROUP, FIRST, KUEUE), "Pod/train-1 has the label kueue.x-k8s.io/queue-name"),
    ],
)
def test_what_cannot_be_planned_is_refused_with_the_remedy(
    manifests: tuple[Manifest, ...], words: str
) -> None:
    assert words in problem(*manifests)


def test_pods_that_do_not_wait_or_are_too_many_are_told_of() -> None:
    said_of = said(GROUP, *strays())["InvalidSpec"]
    assert "spec.schedulingGates of pods train-1, train-2: lacks plimsoll.dev/placement" in said_of
    third = gated(a_grouped_pod(2))
    assert (
        "gang.minCount: is 2, and 1 pods more wait"
        in said(GROUP, FIRST, SECOND, third)["InvalidSpec"]
    )
    assert wanted(only(GROUP, FIRST, SECOND, third))
    assert gang_of(candidate(GROUP, FIRST, SECOND, third)).count == 2


def test_that_it_cannot_be_suspended_once_it_runs_is_said() -> None:
    stopped = edited(STANDS, {"spec.suspend": True})
    assert "delete them to stop it" in said(GROUP, stopped, *SENT)["AlreadyRuns"]
    assert not said(GROUP, stopped, FIRST, SECOND)


def test_what_has_not_changed_is_the_same_object() -> None:
    observer, objects = Observer(), objects_of(GROUP, STANDS, *SENT)
    before, after = (observer.snapshot(objects, NOW).adopted for _ in range(2))
    assert before is after


def test_pods_are_known_by_their_group_and_not_by_what_they_say() -> None:
    labels: dict[str, Any] = {QUEUE: "default", "plimsoll.dev/job-uid": "uid-of-another"}
    forged = edited(copy.deepcopy(SENT[0]), {"metadata.labels": labels})
    (seen_job,) = seen(GROUP, STANDS, forged, SECOND).jobs
    assert {(pod.name, pod.revision) for pod in seen_job.pods} == {("train-0", -1), ("train-1", -1)}
    assert GATE in str(SECOND)
