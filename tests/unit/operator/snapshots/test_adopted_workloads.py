"""A snapshot holds of workloads of other kinds what their plan depends on, and nothing private."""

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll.cli.inputs.sources import described
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import JobView
from plimsoll.snapshots.writing import document
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import a_pod_of, a_stand_in, at_rest, jobs_of, jobset_of
from support.clusters.seen import objects_of
from support.clusters.snapshot_files import TAKEN, input_of, planned, snapshot_of
from support.objects.manifests import edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated, sent
from support.objects.workloads import (
    a_jobset,
    a_kubeflow_job,
    a_train_job,
    asking,
    held,
    replicated,
    suspended,
    templates,
)

SECRET = "hunter2"
NOTES = {"annotations": {"note": SECRET}, "labels": {"of": SECRET}}
PRIVATE: dict[str, Any] = {
    "env": [{"name": "TOKEN", "value": SECRET}],
    "args": [f"--password={SECRET}"],
    "command": [SECRET],
    "image": f"registry.example/{SECRET}:1",
    "volumeMounts": [{"name": SECRET, "mountPath": f"/{SECRET}"}],
}
LEFT_OUT = ("image", "command", "args", "env", "volumes", "trainer", "trainingRuntimeSpec")
FAILED = {"type": "FailureTarget", "status": "True", "reason": "Why", "message": SECRET}


def private(workload: Manifest) -> Manifest:
    """The workload with something private wherever there can be."""
    meta = workload["metadata"]
    edits: Manifest = {
        "metadata.annotations": {**meta.get("annotations", {}), "note": SECRET},
        "metadata.labels": {**meta.get("labels", {}), "of": SECRET},
        "status.conditions": [FAILED, *workload.get("status", {}).get("conditions", [])],
    }
    workload = edited(workload, edits)
    for each in templates(workload):
        each["volumes"] = [{"name": "v", "secret": {"secretName": SECRET}}]
        each["containers"][0] |= PRIVATE
    return workload


def a_private_set() -> list[Manifest]:
    """A JobSet that runs, its Jobs, of which one has ended in part, its pods and its stand-in."""
    jobs = [replicated("workers", workers=3, gpus=1), replicated("driver")]
    for each in jobs:
        each["template"]["metadata"] = NOTES
        each["template"]["spec"]["template"]["metadata"] = NOTES
    said = {"work.amount": "1000"}
    jobset = suspended(held(asking(a_jobset(replicatedJobs=jobs), said)), suspend=False)
    workers, driver = jobs_of(jobset)
    workers = {**workers, "status": {"succeeded": 1, "active": 2}}
    on = ("n-0", "n-0", "n-0")
    return [
        private(jobset),
        private(workers),
        private(driver),
        a_stand_in(jobset, workers, driver, on=on),
        *(a_pod_of(workers, n, "n-0", stand_in="jobset-train") for n in range(2)),
        a_pod_of(driver, 0, "n-0", gpus=0),
    ]


def a_private_train_job() -> list[Manifest]:
    """A TrainJob that waits, and what Trainer has made of it."""
    job = at_rest(held(asking(a_train_job("waits"))))
    patch = {"manager": "example.com/other", "trainingRuntimeSpec": {"note": SECRET}}
    job["spec"]["runtimePatches"].append(patch)
    job["spec"]["trainer"] |= PRIVATE
    jobset = at_rest(jobset_of(job, gated=True))
    (made,) = jobs_of(jobset)
    return [private(job), private(jobset), private(made), a_stand_in(job, jobset)]


def a_private_pytorch_job() -> list[Manifest]:
    """An elastic PyTorchJob that waits, and that training-operator would resize."""
    job = held(asking(a_kubeflow_job(Master=(1, 1), Worker=(1, 1))))
    metric = {"type": "External", "external": {"metric": {"name": SECRET}}}
    policy = {"maxReplicas": 4, "rdzvId": SECRET, "metrics": [metric]}
    job = at_rest(edited(job, {"spec.elasticPolicy": policy}))
    return [private(job), a_stand_in(job)]


def a_private_pod_group() -> list[Manifest]:
    """A PodGroup of which one pod runs, and one is sent to its node."""
    group = edited(a_pod_group(), {"metadata.annotations": {"note": SECRET}})
    pods = [a_grouped_pod(number) for number in range(2)]
    stand_in = a_stand_in(group, *map(gated, pods), on=("n-1", "n-1"))
    there = [sent(pods[0], "n-1"), sent(pods[1], "n-1", phase="Pending")]
    for each in there:
        each["spec"]["containers"][0] |= PRIVATE
    return [group, stand_in, *there]


def everything() -> Objects:
    return objects_of(
        *(fake_node(f"n-{n}", gpus=4) for n in range(2)),
        *a_private_set(),
        *a_private_train_job(),
        *a_private_pytorch_job(),
        *a_private_pod_group(),
    )


def again(objects: Objects, folder: Path) -> Objects:
    """The objects as they are read from the file that is written of them."""
    found = described([str(snapshot_of(objects, folder))], (), TAKEN)
    assert not found.ignored
    return found.objects


def jobs(objects: Objects) -> dict[str, JobView]:
    return {each.resource.metadata.name: each for each in Observer().snapshot(objects, TAKEN).jobs}


def written(objects: Objects) -> list[Manifest]:
    """All workloads that are in the file."""
    items = json.loads(b"".join(document(planned(objects))))["items"]
    kinds = {"Job", "JobSet", "TrainJob", "PodGroup", "PyTorchJob"}
    return [each for each in items if each["kind"] in kinds]


def test_nothing_private_is_written() -> None:
    assert len(written(everything())) == 8
    assert SECRET not in b"".join(document(planned(everything()))).decode()


def test_no_image_command_or_annotation_is_written_but_those_that_say_how_to_plan() -> None:
    for each in written(everything()):
        notes = each["metadata"].get("annotations", {})
        assert notes.keys() <= {"plimsoll.dev/work.amount"}, each
        text = json.dumps(each)
        assert not [word for word in LEFT_OUT if f'"{word}"' in text]


def test_what_is_read_again_is_the_same_problem(tmp_path: Path) -> None:
    objects = everything()
    assert input_of(again(objects, tmp_path)) == input_of(objects)
    assert len(input_of(objects).problem.jobs) == 4


@pytest.mark.parametrize(
    "name", ["jobset-train", "trainjob-waits", "pytorchjob-train", "podgroup-train"]
)
def test_a_workload_is_read_again_as_it_stands(tmp_path: Path, name: str) -> None:
    objects = everything()
    before, after = (jobs(each)[name] for each in (objects, again(objects, tmp_path)))
    assert after.workload == before.workload
    assert after.workload is not None
    assert (after.beside, after.refusal) == (before.beside, None)
    assert [(pod.name, pod.node) for pod in after.pods] == [
        (pod.name, pod.node) for pod in before.pods
    ]


def test_a_jobset_is_read_again_with_what_its_jobs_have_left(tmp_path: Path) -> None:
    found = jobs(again(everything(), tmp_path))["jobset-train"]
    assert found.workload is not None
    assert (found.workload.parallelism, found.workload.due, found.beside) == (3, 2, 1)
    assert [pod.node for pod in found.pods] == ["n-0", "n-0"]


def test_an_elastic_job_that_resizes_itself_still_does_when_it_is_read_again(
    tmp_path: Path,
) -> None:
    found = jobs(again(everything(), tmp_path))["pytorchjob-train"]
    assert found.workload is not None
    assert found.workload.sizing is None
