"""Workloads of other kinds with the label are planned from their manifests."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_workloads import a_pod_of, a_stand_in, jobs_of, jobset_of
from support.clusters.seen import at, objects_of
from support.clusters.snapshot_files import snapshot_of
from support.objects.batch_jobs import a_batch_job
from support.objects.manifests import GONE, edited
from support.objects.pod_groups import a_grouped_pod, a_pod_group
from support.objects.workloads import (
    REPLICA_SPECS,
    a_jobset,
    a_kubeflow_job,
    a_train_job,
    asking,
    held,
    suspended,
    templates,
)
from support.programs.cli_runs import plan, run, written

NODE = fake_node("node", gpus=4)
JOBSET = asking(a_jobset(workers=2, gpus=2))
BATCH_JOB = a_batch_job(gpus=2, held=False)
TRAIN = asking(a_train_job(workers=2, gpus=2))


def line_of(
    folder: Path, capsys: pytest.CaptureFixture[str], name: str, *manifests: Manifest
) -> dict[str, Any]:
    return plan(capsys, "-f", written(folder, "all.yaml", NODE, *manifests)).job(name)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_jobset_is_planned_whether_it_is_held_or_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_held: bool
) -> None:
    line = line_of(tmp_path, capsys, "jobset-train", held(JOBSET) if is_held else JOBSET)
    assert line["action"] == "Admit"
    assert line["place"][0]["nodes"] == {"node": 4}


@pytest.mark.parametrize("kind", REPLICA_SPECS)
def test_a_kubeflow_job_is_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    job = asking(a_kubeflow_job(kind, Master=(1, 0), Worker=(2, 1)))
    line = line_of(tmp_path, capsys, f"{kind.lower()}-train", job)
    assert line["place"][0]["nodes"] == {"node": 2}


@pytest.mark.parametrize(
    "workload", [JOBSET, a_batch_job(gpus=2, held=False)], ids=["JobSet", "Job"]
)
def test_gates_of_others_do_not_matter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workload: Manifest
) -> None:
    gated = copy.deepcopy(workload)
    for pod in templates(gated):
        pod["schedulingGates"] = [{"name": "example.com/quota"}]
    line = line_of(tmp_path, capsys, f"{workload['kind'].lower()}-train", gated)
    assert line["place"][0]["nodes"] == {"node": 4}


def test_what_has_no_room_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = line_of(tmp_path, capsys, "jobset-train", asking(a_jobset(workers=5)))
    assert line["reason"] == "CannotFit"


AT = "spec.replicatedJobs.0"


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ({"spec.replicatedJobs": GONE}, "spec: describes no pods, and so asks for no GPU: "),
        ({f"{AT}.replicas": 0}, "spec.replicatedJobs[workers].replicas of JobSet train: 0 pods"),
        ({f"{AT}.replicas": -1}, "spec.replicatedJobs[0].replicas: Expected `int`"),
        ({f"{AT}.replicas": "two"}, "spec.replicatedJobs[0].replicas: Expected `int`"),
        ({"spec.suspend": "yes"}, "spec.suspend: Expected `bool`"),
        (
            {f"{AT}.template.spec.template.spec.containers.0.resources": {}},
            "spec.replicatedJobs[workers].template.spec.template.spec.containers[0].resources",
        ),
        (
            {"metadata.annotations": {"plimsoll.dev/wrok.amount": "1"}},
            "annotation plimsoll.dev/wrok.amount: is unknown",
        ),
        (
            {"spec.managedBy": "kueue.x-k8s.io/multikueue"},
            "JobSet train has spec.managedBy kueue.x-k8s.io/multikueue, so Kueue manages it: ",
        ),
        (
            {"spec.managedBy": "example.com/other"},
            "JobSet train has spec.managedBy example.com/other, which makes its pods: ",
        ),
    ],
)
def test_what_makes_a_jobset_unusable_is_said_of_its_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edits: Manifest, said: str
) -> None:
    cluster = written(tmp_path, "cluster.yaml", NODE)
    file = written(tmp_path, "jobset.yaml", edited(JOBSET, edits))
    ran = run(capsys, "plan", "-f", file, "--cluster", cluster)
    assert ran.status == 2
    assert f"{tmp_path}/jobset.yaml: JobSet train: {said}" in ran.err


def test_of_a_trainjob_alone_it_is_said_that_its_pods_are_not_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = written(tmp_path, "cluster.yaml", NODE)
    ran = run(capsys, "plan", "-f", written(tmp_path, "job.yaml", TRAIN), "--cluster", cluster)
    assert ran.status == 2
    assert (
        f"{tmp_path}/job.yaml: TrainJob train: its pods are known only once its controller has"
        " made them into a JobSet: apply it"
    ) in ran.err


def with_uid(workload: Manifest) -> Manifest:
    uid = f"uid-{workload['kind']}-{workload['metadata']['name']}"
    return edited(workload, {"metadata.uid": uid})


def test_a_trainjob_with_its_jobset_is_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = with_uid(held(TRAIN))
    made = with_uid(jobset_of(job, gated=True))
    line = line_of(tmp_path, capsys, "trainjob-train", job, made)
    assert line["place"][0]["nodes"] == {"node": 4}


@pytest.mark.parametrize("kind", ["JobSet", "TrainJob", "PyTorchJob"])
def test_a_workload_without_the_label_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    bare = {
        "JobSet": a_jobset(),
        "TrainJob": a_train_job(),
        "PyTorchJob": a_kubeflow_job(Worker=(2, 1)),
    }
    ran = plan(capsys, "-v", "-f", written(tmp_path, "all.yaml", NODE, bare[kind]))
    assert ran.err == f"Skipped: 1 {kind}.\n"
    assert ran.report["jobs"] == []


def a_running_set(folder: Path) -> str:
    """The snapshot of a cluster in which a JobSet of two workers runs."""
    jobset = suspended(held(JOBSET), suspend=False)
    (workers,) = ({**job, "status": {"active": 2}} for job in jobs_of(jobset))
    stand_in = at(a_stand_in(jobset), "node", "node")
    pods = [a_pod_of(workers, n, "node", gpus=2, stand_in="jobset-train") for n in range(2)]
    return str(snapshot_of(objects_of(NODE, jobset, workers, stand_in, *pods), folder))


def in_team(workload: Manifest) -> Manifest:
    """The workload in the namespace of the snapshot."""
    return edited(workload, {"metadata.namespace": "team"})


def test_a_jobset_that_runs_keeps_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = a_running_set(tmp_path)
    file = written(tmp_path, "jobset.yaml", in_team(JOBSET))
    ran = run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", "json")
    assert ran.status == 0, ran.err
    (applied,) = json.loads(ran.out)["applied"]
    job = applied["why"]["job"]
    assert (job["action"], job["place"][0]["nodes"]) == ("Keep", {"node": 4})


def test_a_jobset_that_runs_cannot_change_its_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = a_running_set(tmp_path)
    file = written(tmp_path, "jobset.yaml", in_team(asking(a_jobset(workers=3, gpus=2))))
    ran = run(capsys, "simulate", "-f", file, "--snapshot", snapshot)
    assert ran.status == 2
    assert "JobSet train: the JobSet's parallelism changed while it runs" in ran.err


POD_GROUP, PLAIN_PODS = a_pod_group(), [a_grouped_pod(number) for number in range(2)]


def test_plain_pods_of_a_pod_group_are_planned_as_the_policy_holds_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = line_of(tmp_path, capsys, "podgroup-train", POD_GROUP, *PLAIN_PODS)
    assert line["place"][0]["nodes"] == {"node": 2}


def test_of_a_pod_group_without_all_its_pods_it_is_said_what_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "all.yaml", NODE, POD_GROUP, PLAIN_PODS[0])
    ran = run(capsys, "plan", "-f", file)
    assert ran.status == 2
    assert "PodGroup train: planned once all its 2 pods wait" in ran.err
