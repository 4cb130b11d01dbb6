"""What becomes of jobs: those that wait, that run already, that are out of the question."""

import re
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from support.objects.manifests import H100, Manifest, edited, gpu_pool, inference_job, training_job
from support.programs.cli_runs import Ran, plan, written

NODE = fake_node("node-1")
URGENT: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "urgent"},
    "value": 1000,
}
UID = "11111111-2222-3333-4444-555555555555"


def a_job(name: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A job of one worker in the queue `default`, which need not exist."""
    edits = {"metadata.name": name, "spec.workers.min": 1, "spec.workers.gpusPerWorker": gpus}
    job = edited(training_job(), {**edits, "spec.workers.max": 1})
    return {**job, "spec": {**job["spec"], **spec}}


def a_running_job(name: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - same
    """The same as an API server holds it while it runs on node-1."""
    job = a_job(name, gpus, **spec)
    assignment = {"role": "worker", "replica": 0, "nodes": ["node-1"], "pool": "", "revision": 1}
    placement = {"revision": 1, "acceleratorType": H100, "pool": "", "workers": 1}
    job["metadata"] |= {"uid": UID, "creationTimestamp": "2026-11-20T12:00:00Z"}
    status = {
        "reason": "Running",
        "placement": {**placement, "assignments": [{**assignment, "acceleratorType": H100}]},
    }
    return {**job, "status": status}


def planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *manifests: Manifest, output: str = "json"
) -> Ran:
    return plan(
        capsys, "-f", written(tmp_path, "all.yaml", NODE, URGENT, *manifests), output=output
    )


@pytest.mark.parametrize(
    ("spec", "reason", "message"),
    [
        ({"queue": "nosuch"}, "QueueNotFound", "there is no JobQueue nosuch: create it"),
        (
            {"priorityClassName": "nosuch"},
            "PriorityClassNotFound",
            "there is no PriorityClass nosuch: create it",
        ),
        ({"suspend": True}, "Suspended", "set spec.suspend to false to let it run"),
    ],
)
def test_a_job_that_cannot_be_planned_waits_with_the_remedy(
    spec: dict[str, Any],
    reason: str,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    job = planned(tmp_path, capsys, a_job("train", 1, **spec)).job("train")
    assert (job["action"], job["reason"], job["place"]) == ("Hold", reason, [])
    assert job["message"].startswith(message)


def test_a_job_that_can_never_fit_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = planned(tmp_path, capsys, a_job("train", 16)).job("train")
    assert (job["action"], job["reason"]) == ("Hold", "CannotFit")


def test_what_runs_keeps_its_place_and_leaves_the_rest_to_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = planned(tmp_path, capsys, a_running_job("old", 6), a_job("new", 4), a_job("small", 2))
    assert ran.job("old")["action"] == "Keep"
    assert ran.job("old")["place"][0]["nodes"] == {"node-1": 6}
    assert ran.job("new")["action"] == "Hold"
    assert ran.job("small")["action"] == "Admit"
    assert ran.report["summary"]["placed"] == 2


def test_a_job_of_higher_priority_takes_the_place_of_one_that_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = (a_running_job("old", 6), a_job("new", 4, priorityClassName="urgent"))
    ran = planned(tmp_path, capsys, *jobs)
    assert ran.job("new")["action"] == "Admit"
    assert (ran.job("old")["action"], ran.job("old")["reason"]) == ("Preempt", "Preempted")
    assert ran.job("old")["place"] == []
    table = planned(tmp_path, capsys, *jobs, output="table").out
    assert "Preempted: makes room for TrainingJob/default/new (priority 1000)" in table


def test_a_job_that_is_over_is_not_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = a_running_job("old", 6)
    done = {"type": "Complete", "status": "True", "reason": "Completed", "message": ""}
    over["status"] = {"conditions": [{**done, "lastTransitionTime": "2026-11-20T13:00:00Z"}]}
    ran = planned(tmp_path, capsys, over, a_job("new", 8))
    assert [job["name"] for job in ran.report["jobs"]] == ["new"]
    assert ran.job("new")["action"] == "Admit"


def test_replicas_without_a_place_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edits = {"spec.replicas": 3, "spec.roles.0.gpusPerReplica": 4}
    service = edited(inference_job(), edits)
    ran = planned(tmp_path, capsys, service)
    assert ran.job("serve")["missing"] == "1 of 3 server replicas"
    table = planned(tmp_path, capsys, service, output="table").out
    assert f"8 × {H100} on node-1; no room for 1 of 3 server replicas" in table


def test_pods_of_others_take_their_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    container = {"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 3}}}
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "other"},
            "spec": {"nodeName": "node-1", "containers": [container]},
            "status": {"phase": phase},
        }
        for name, phase in [("running", "Running"), ("over", "Succeeded")]
    ]
    ran = planned(tmp_path, capsys, *pods, a_job("large", 6), a_job("fits", 5))
    assert ran.job("large")["action"] == "Hold"
    assert ran.job("fits")["action"] == "Admit"
    (gpus,) = ran.report["gpus"]
    assert gpus == {"acceleratorType": H100, "total": 8, "used": 5, "usedByOthers": 3}


def test_a_share_of_a_device_counts_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shared = fake_node("shared", gpus=1, replicas=4)
    job = edited(a_job("small", 1), {"spec.workers.gpusPerWorker": "0.1"})
    file = written(tmp_path, "all.yaml", shared, job)
    ran = plan(capsys, "-f", file)
    assert ran.job("small")["place"][0]["gpus"] == pytest.approx(0.1)
    assert ran.report["gpus"][0]["used"] == pytest.approx(0.25)


def test_what_a_pool_calls_its_gpus_is_what_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = fake_node("unlabelled", labels={"nvidia.com/gpu.product": "", "rack": "r"})
    pool = edited(gpu_pool(), {"spec.nodeSelector": {"rack": "r"}, "spec.gpuType": "Mine"})
    job = edited(a_job("train", 1), {"spec.accelerators.0.type": "Mine"})
    ran = plan(capsys, "-f", written(tmp_path, "all.yaml", node, pool, job))
    assert ran.job("train")["place"][0]["acceleratorType"] == "Mine"


def test_jobs_of_several_namespaces_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [edited(a_job("train", 1), {"metadata.namespace": name}) for name in ("a", "b")]
    lines = planned(tmp_path, capsys, *jobs, output="table").out.splitlines()
    assert lines[0].startswith("NAMESPACE  NAME")
    assert [line.split()[:2] for line in lines[1:3]] == [["a", "train"], ["b", "train"]]


# What is applied to a cluster


def test_a_job_that_is_applied_again_keeps_its_place(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = written(tmp_path, "cluster.yaml", NODE, a_running_job("old", 6))
    again = written(tmp_path, "job.yaml", a_job("old", 6))
    assert plan(capsys, "--cluster", cluster, "-f", again).job("old")["action"] == "Keep"


def test_what_is_applied_takes_the_place_of_what_is_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = written(tmp_path, "cluster.yaml", NODE, URGENT, a_job("train", 16))
    other = written(tmp_path, "other.yaml", fake_node("node-1", gpus=16))
    assert plan(capsys, "--cluster", cluster).job("train")["action"] == "Hold"
    ran = plan(capsys, "--cluster", cluster, "-f", other)
    assert ran.job("train")["action"] == "Admit"
    assert ran.report["gpus"][0]["total"] == 16


def test_what_an_api_server_knows_beyond_our_fields_is_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = a_running_job("old", 6, newField=1)
    assert planned(tmp_path, capsys, job).job("old")["action"] == "Keep"
    del job["metadata"]["uid"]
    assert planned(tmp_path, capsys, job).status == 2


@pytest.mark.parametrize(
    ("amounts", "unit"),
    [({"memory": "8Ei"}, "GiB"), ({"cpu": "9E"}, "CPU"), ({"cpu": "1e1000"}, "CPU")],
)
def test_what_adds_up_to_more_than_numbers_hold_waits_for_a_larger_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], amounts: dict[str, str], unit: str
) -> None:
    containers = [
        {"name": f"c{number}", "image": "x", "resources": {"requests": amounts}}
        for number in range(9)
    ]
    template = "spec.workers.template.spec.containers"
    greedy = edited(a_job("greedy", 1), {template: containers})
    ran = planned(tmp_path, capsys, greedy, a_job("modest", 1))
    held = ran.job("greedy")
    assert held["reason"] == "CannotFit"
    left = "nodes with such GPUs free have at most"
    assert re.search(rf"with \d{{10,}} {unit}; {left}", held["message"])
    assert ran.job("modest")["reason"] == "Admitted"
