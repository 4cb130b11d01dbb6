"""How workloads of each kind are held and let go: the patches, and what they are of."""

import pytest

from plimsoll.acting.adoption.changes import Change, HoldPods, LetGo, StandFor, adoption_changes
from plimsoll.acting.writes.adoption import gated_parts, held, let_go, ungated
from plimsoll.observe.adoption.kinds.adapter import Candidate, Operation
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import (
    SUSPENDED,
    a_stand_in,
    at_rest,
    candidate,
    jobs_of,
    jobset_of,
)
from support.clusters.seen import NOW, seen
from support.objects import workloads
from support.objects.batch_jobs import GATE
from support.objects.manifests import edited
from support.objects.workloads import (
    REPLICA_SPECS,
    a_jobset,
    a_kubeflow_job,
    a_train_job,
    asking,
    replicated,
    suspended,
)

OTHER = "example.com/other"
NO_LONGER: Manifest = {"metadata.labels": {}}


def changes(*manifests: Manifest) -> list[Change]:
    return [*adoption_changes(seen(*manifests).adopted, advises=False)]


def to_hold(*manifests: Manifest) -> list[Operation]:
    (change,) = changes(*manifests)
    assert isinstance(change, HoldPods)
    return without_version(held(change.workload, NOW), change.workload)


def to_let_go(*manifests: Manifest) -> list[Operation]:
    (change,) = changes(*manifests)
    assert isinstance(change, LetGo)
    return without_version(let_go(change.workload), change.workload)


def without_version(operations: list[Operation], of: Candidate) -> list[Operation]:
    """The operations after the first one, which makes sure that the workload is as it was seen."""
    same, *others = operations
    version = of.item.metadata.resource_version
    assert same == {"op": "replace", "path": "/metadata/resourceVersion", "value": version}
    return others


def gates(pointer: str) -> str:
    return f"{pointer}/spec/schedulingGates"


def a_set(*, gate: str = "") -> Manifest:
    """A suspended JobSet: of a driver, of workers, and of others that wait for somebody else."""
    waits = [{"name": OTHER}, *([{"name": GATE}] if gate else [])]
    jobs = [
        replicated("driver"),
        replicated("workers", gpus=1),
        replicated("others", gpus=1, pod={"schedulingGates": waits}),
    ]
    if gate:
        jobs[1]["template"]["spec"]["template"]["spec"]["schedulingGates"] = [{"name": GATE}]
    return at_rest(suspended(asking(a_jobset(replicatedJobs=jobs))))


AT = "/spec/replicatedJobs/{}/template/spec/template"


def test_the_pods_of_a_jobset_with_gpus_are_held_beside_the_gates_of_others() -> None:
    assert to_hold(a_set()) == [
        {"op": "add", "path": gates(AT.format(1)), "value": [{"name": GATE}]},
        {"op": "add", "path": gates(f"{AT.format(2)}") + "/-", "value": {"name": GATE}},
    ]


def test_of_the_gates_of_a_jobset_only_ours_are_taken_away() -> None:
    assert to_let_go(edited(a_set(gate=GATE), NO_LONGER)) == [
        {"op": "remove", "path": gates(AT.format(1)) + "/0"},
        {"op": "remove", "path": gates(AT.format(2)) + "/1"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


def test_a_jobset_of_which_a_part_is_held_is_held_as_a_whole() -> None:
    part = a_set(gate=GATE)
    del part["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["schedulingGates"]
    (operation,) = to_hold(part)
    assert operation["path"] == gates(AT.format(1))


@pytest.mark.parametrize("kind", REPLICA_SPECS)
def test_the_pods_of_a_kubeflow_job_with_gpus_are_held_and_let_go(kind: str) -> None:
    job = asking(a_kubeflow_job(kind, Master=(1, 0), Worker=(2, 1)))
    at = gates(f"/spec/{REPLICA_SPECS[kind]}/Worker/template")
    assert to_hold(at_rest(suspended(job))) == [
        {"op": "add", "path": at, "value": [{"name": GATE}]}
    ]
    free = at_rest(workloads.held(edited(job, NO_LONGER)))
    assert to_let_go(free) == [
        {"op": "remove", "path": f"{at}/0"},
        {"op": "add", "path": "/spec/runPolicy/suspend", "value": False},
    ]


def test_a_trainjob_is_held_by_a_patch_of_its_runtime() -> None:
    job = at_rest(suspended(asking(a_train_job())))
    jobset = at_rest(jobset_of(job))
    jobset["spec"]["replicatedJobs"].append(replicated("launcher"))
    gate = {"spec": {"template": {"spec": {"schedulingGates": [{"name": GATE}]}}}}
    jobs = [{"name": "node", "template": gate}]
    patch = {
        "manager": GATE,
        "time": "2026-11-21T12:00:00Z",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": jobs}}},
    }
    assert to_hold(job, jobset) == [{"op": "add", "path": "/spec/runtimePatches", "value": [patch]}]
    theirs = edited(job, {"spec.runtimePatches": [{"manager": OTHER}]})
    assert to_hold(theirs, jobset) == [
        {"op": "add", "path": "/spec/runtimePatches/-", "value": patch}
    ]


def test_only_our_patch_of_a_trainjobs_runtime_is_taken_away() -> None:
    patches = [{"manager": OTHER}, {"manager": GATE}, {"manager": f"{OTHER}s"}]
    job = edited(at_rest(suspended(a_train_job())), {"spec.runtimePatches": patches})
    assert to_let_go(job, at_rest(jobset_of(job, gated=True))) == [
        {"op": "remove", "path": "/spec/runtimePatches/1"},
        {"op": "add", "path": "/spec/suspend", "value": False},
    ]


EVERY = {
    "JobSet": a_jobset(),
    "PyTorchJob": a_kubeflow_job(Worker=(2, 1)),
    "TrainJob": a_train_job(),
}


def cluster(workload: Manifest, *, gated: bool = True) -> tuple[Manifest, ...]:
    """The workload and what it has made, at rest if it is suspended."""
    made = [jobset_of(workload, gated=gated)] if workload["kind"] == "TrainJob" else []
    return tuple(map(at_rest, (workload, *made)))


@pytest.mark.parametrize("workload", EVERY.values(), ids=EVERY.keys())
def test_it_is_held_first_then_stood_for_and_then_left_alone(workload: Manifest) -> None:
    bare = cluster(suspended(asking(workload)), gated=False)
    assert [type(each) for each in changes(*bare)] == [HoldPods]
    behind = cluster(workloads.held(asking(workload)))
    assert [type(each) for each in changes(*behind)] == [StandFor]
    assert changes(*behind, a_stand_in(*behind)) == []


@pytest.mark.parametrize("workload", EVERY.values(), ids=EVERY.keys())
def test_it_is_held_or_let_go_only_while_it_rests(workload: Manifest) -> None:
    bare = suspended(asking(workload))
    assert changes(*(edited(each, {"status": {}}) for each in cluster(bare, gated=False))) == []
    gone = edited(workloads.held(asking(workload)), NO_LONGER)
    assert changes(*(edited(each, {"status": {}}) for each in cluster(gone))) == []
    assert [type(each) for each in changes(*cluster(gone))] == [LetGo]


def titles(of: Candidate) -> list[str]:
    return [each.title for each in gated_parts(of)]


def a_set_at_rest(*, gated: bool = True) -> list[Manifest]:
    """A JobSet of two Jobs with GPUs and a driver, that no longer asks to be planned, and these."""
    jobs = [replicated("workers", gpus=1, replicas=2), replicated("driver")]
    jobset = at_rest(edited(workloads.held(asking(a_jobset(replicatedJobs=jobs))), NO_LONGER))
    made = jobs_of(jobset if gated else suspended(a_jobset(replicatedJobs=jobs)))
    return [jobset, *(edited(job, {"status": {"conditions": [SUSPENDED]}}) for job in made)]


def test_gated_jobs_of_a_jobset_are_ungated_before_it_is_let_go() -> None:
    found = candidate(*a_set_at_rest())
    assert titles(found) == ["Job train-workers-0", "Job train-workers-1"]
    for part in gated_parts(found):
        assert without_version(ungated(part), part) == [
            {"op": "remove", "path": "/spec/template/spec/schedulingGates/0"}
        ], "they stay suspended: it is their JobSet that resumes them"
    assert titles(candidate(*a_set_at_rest(gated=False))) == []


def test_jobs_that_are_over_are_left_as_they_ended() -> None:
    jobset, first, *others = a_set_at_rest()
    for kind in ("Complete", "Failed"):
        over = {**first, "status": {"conditions": [{"type": kind, "status": "True"}]}}
        over["spec"] = {**over["spec"], "suspend": False}
        assert titles(candidate(jobset, over, *others)) == ["Job train-workers-1"]


def test_gated_jobs_of_a_trainjobs_jobset_are_ungated_before_it_is_let_go() -> None:
    job = edited(at_rest(workloads.held(asking(a_train_job()))), NO_LONGER)
    jobset = at_rest(jobset_of(job, gated=True))
    (made,) = jobs_of(jobset)
    found = candidate(job, jobset, edited(made, {"status": {"conditions": [SUSPENDED]}}))
    assert titles(found) == ["Job train-node-0"]
