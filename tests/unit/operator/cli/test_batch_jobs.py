"""A batch/v1 Job with the label is planned from its manifest, as the operator would plan it."""

import json
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_stand_in, placed_pods
from support.clusters.seen import at, objects_of
from support.clusters.snapshot_files import snapshot_of
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_training_job
from support.objects.manifests import edited
from support.programs.cli_runs import Ran, plan, run, written

NODE = fake_node("node", gpus=4)
IN_TEAM = {"metadata.namespace": "team"}


def simulated(
    folder: Path, capsys: pytest.CaptureFixture[str], *cluster: Manifest, job: Manifest
) -> Ran:
    files = "--cluster", written(folder, "cluster.yaml", NODE, *cluster)
    return run(capsys, "simulate", "-f", written(folder, "job.yaml", job), *files, "-o", "json")


def answer(ran: Ran) -> dict[str, Any]:
    """What is said of the one job that is applied."""
    assert ran.status == 0, ran.err
    (applied,) = json.loads(ran.out)["applied"]
    return applied


@pytest.mark.parametrize("held", [True, False])
def test_it_is_said_where_a_job_would_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, held: bool
) -> None:
    job = a_batch_job("bert", workers=2, gpus=2, held=held)
    applied = answer(simulated(tmp_path, capsys, job=job))
    assert applied["why"]["job"]["name"] == "job-bert"
    assert applied["why"]["job"]["place"][0]["nodes"] == {"node": 4}
    assert applied["starts"] == "now"


def test_it_is_said_why_a_job_would_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = a_batch_job("bert", workers=5)
    applied = answer(simulated(tmp_path, capsys, job=job))
    assert applied["why"]["job"]["reason"] == "CannotFit"
    cluster = written(tmp_path, "all.yaml", NODE, job)
    for name in ("job-bert", "bert", "job/bert", "Job/default/bert"):
        said = run(capsys, "explain", name, "--cluster", cluster).out
        assert said.startswith("TrainingJob default/job-bert (queue default, ")


def test_a_job_is_planned_with_what_its_annotations_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"workers.min": "1", "workers.max": "3", "work.amount": "3600"}
    job = a_batch_job("bert", workers=5, annotations=said)
    line = plan(capsys, "-f", written(tmp_path, "all.yaml", NODE, job)).job("job-bert")
    assert line["action"] == "Admit"
    assert line["place"][0]["nodes"] in ({"node": 1}, {"node": 2}, {"node": 3})


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        (
            {"spec.template.spec.containers.0.resources": {}},
            "spec.template.spec.containers[0].resources.limits: asks for no GPU: set",
        ),
        (
            {"metadata.annotations": {"plimsoll.dev/wrok.amount": "1"}},
            "annotation plimsoll.dev/wrok.amount: is unknown: remove it, or use one of",
        ),
        (
            {"metadata.annotations": {"plimsoll.dev/work.amount": "much"}},
            "annotation plimsoll.dev/work.amount: ",
        ),
        (
            {"spec.managedBy": "kueue.x-k8s.io/multikueue"},
            "Job train has spec.managedBy kueue.x-k8s.io/multikueue, so Kueue manages it: ",
        ),
        ({"spec.parallelism": "two"}, "spec.parallelism: Expected `int"),
        ({"metadata.labels": {"plimsoll.dev/queue": 7}}, "metadata.labels[...]: Expected `str`"),
    ],
)
def test_what_makes_a_job_unusable_is_said_of_its_manifest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edits: Manifest, said: str
) -> None:
    ran = simulated(tmp_path, capsys, job=edited(a_batch_job(), edits))
    assert ran.status == 2
    assert f"{tmp_path}/job.yaml: Job train: {said}" in ran.err


def test_a_name_that_is_taken_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = a_training_job("job-train")
    ran = simulated(tmp_path, capsys, other, job=a_batch_job())
    assert ran.status == 2
    assert "Job train: TrainingJob job-train exists and stands for something else: " in ran.err


def test_a_job_without_the_label_is_skipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "all.yaml", NODE, a_batch_job(queue=None, held=False))
    ran = plan(capsys, "-v", "-f", file)
    assert ran.err == "Skipped: 1 Job.\n"
    assert ran.report["jobs"] == []


def a_running_job(folder: Path) -> tuple[Manifest, str]:
    """A Job of two workers that runs, and the snapshot of its cluster."""
    job = edited(a_batch_job(), {"spec.suspend": False, "status": {"active": 2}})
    stand_in = at(a_stand_in(job), "node", "node")
    objects = objects_of(NODE, job, stand_in, *placed_pods(job, stand_in))
    return edited(a_batch_job(held=False), IN_TEAM), str(snapshot_of(objects, folder))


def test_a_job_that_runs_keeps_its_place_when_applied_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, snapshot = a_running_job(tmp_path)
    file = written(tmp_path, "job.yaml", job)
    ran = run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", "json")
    applied = answer(ran)
    assert applied["why"]["job"]["action"] == "Keep"
    assert applied["why"]["job"]["place"][0]["nodes"] == {"node": 2}


def test_a_job_that_runs_cannot_change_its_shape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job, snapshot = a_running_job(tmp_path)
    file = written(tmp_path, "job.yaml", edited(job, {"spec.parallelism": 1}))
    ran = run(capsys, "simulate", "-f", file, "--snapshot", snapshot)
    assert ran.status == 2
    assert "Job train: the Job's parallelism changed while it runs" in ran.err


def test_a_job_of_the_cluster_is_told_apart_from_one_that_nobody_stands_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    live = edited(a_batch_job(), {**IN_TEAM, "metadata.uid": "u"})
    file = written(tmp_path, "all.yaml", NODE, live)
    assert plan(capsys, "--cluster", file).report["jobs"] == []
    assert plan(capsys, "-f", file).job("job-train")["action"] == "Admit"
