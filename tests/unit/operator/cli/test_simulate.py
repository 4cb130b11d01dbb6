"""`plimsoll simulate` compares the cluster with a job to the cluster without it."""

import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from support.clusters.recorded_clusters import (
    TAKEN,
    URGENT,
    a_crowded_node,
    a_job,
    a_running_job,
    a_snapshot,
)
from support.objects.job_manifests import an_inference_job
from support.objects.manifests import Manifest, edited, gpu_pool
from support.programs.cli_runs import Ran, run, written


def on(*kinds: str) -> dict[str, Any]:
    """Types on which a job is equally fast."""
    rates = [{"type": kind, "throughput": [{"workers": 1, "rate": 1}]} for kind in kinds]
    return {"accelerators": rates}


RATE: dict[str, Any] = {"work": {"amount": 3600}, **on(H100)}


def simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], job: Manifest, *, output: str = "json"
) -> Ran:
    pool = edited(gpu_pool(), {"spec.pricePerGPUHour": "2.5"})
    snapshot = a_snapshot(tmp_path, *a_crowded_node(), pool)
    file = written(tmp_path, "job.yaml", job)
    return run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", output)


def answer(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_for_a_job_that_fits_it_is_explained_where_and_at_what_cost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = answer(simulated(tmp_path, capsys, a_job("new", 2, **RATE)))
    (new,) = printed["applied"]
    assert new["why"]["job"]["action"] == "Admit"
    assert new["why"]["job"]["place"][0]["nodes"] == {"node-1": 2}
    assert new["starts"] == "now"
    restore = 60
    assert new["cost"] == {
        "dollarsPerHour": 5.0,
        "watts": 2 * (560 - 75),
        "seconds": 3600 + restore,
        "dollars": 5.08,
        "lateSeconds": None,
    }
    assert printed["others"] == []


def test_that_a_job_cannot_make_its_deadline_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for minutes, said in ((30, "  ends: 31 min after its deadline\n"), (61, "")):
        deadline = datetime.fromisoformat(TAKEN) + timedelta(minutes=minutes)
        work = {"amount": 3600, "deadline": deadline.isoformat()}
        ran = simulated(tmp_path, capsys, a_job("new", 2, work=work, **on(H100)), output="table")
        assert "  takes: 1 h 1 min, " in ran.out
        assert ("after its deadline" in ran.out) is bool(said)
        assert said in ran.out


def test_a_service_that_sleeps_is_not_reported_as_waiting_for_room(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = an_inference_job("new", loads={H100: 10}, role={"replicas": {"min": 0, "max": 2}})
    (new,) = answer(simulated(tmp_path, capsys, service))["applied"]
    assert new["why"]["job"]["reason"] == "ScaledToZero"
    assert (new["starts"], new["cost"]) == ("as soon as its load asks for a replica", None)


def test_a_job_without_known_work_has_no_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (new,) = answer(simulated(tmp_path, capsys, a_job("new", 2)))["applied"]
    assert (new["cost"]["seconds"], new["cost"]["dollars"]) == (None, None)


def test_without_a_price_nothing_is_said_to_cost_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot = a_snapshot(tmp_path, *a_crowded_node(), gpu_pool())
    file = written(tmp_path, "job.yaml", a_job("new", 2, **RATE))
    options = ("simulate", "-f", file, "--snapshot", snapshot)
    (new,) = answer(run(capsys, *options, "-o", "json"))["applied"]
    assert (new["cost"]["dollarsPerHour"], new["cost"]["dollars"]) == (None, None)
    assert "  draws: 970 W\n" in run(capsys, *options).out


def test_a_preempted_job_is_listed_with_what_it_loses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    most = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "most-urgent"},
        "value": 9000,
    }
    snapshot = a_snapshot(tmp_path, *a_crowded_node(), most)
    file = written(tmp_path, "job.yaml", a_job("new", 8, priorityClassName="most-urgent"))
    printed = answer(run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", "json"))
    (new,) = printed["applied"]
    assert new["starts"] == "as soon as the others have given way"
    (other,) = printed["others"]
    assert (other["job"], other["fate"]) == ("TrainingJob/default/runs", "stops")
    assert other["before"][0]["nodes"] == {"node-1": 6}
    assert other["after"] == []
    assert printed["gpuHoursLost"] == other["gpuHoursLost"] > 0
    table = run(capsys, "simulate", "-f", file, "--snapshot", snapshot).out
    assert f"runs (priority 1000) stops, without it on 6 × {H100} on node-1; " in table
    assert table.endswith("Nothing was changed.\n")


def test_a_job_that_would_have_started_and_waits_now_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    running = [each for each in a_crowded_node() if each["metadata"]["name"] != "waits"]
    snapshot = a_snapshot(tmp_path, *running, a_job("small", 2))
    file = written(tmp_path, "job.yaml", a_job("new", 2, priorityClassName="urgent"))
    printed = answer(run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", "json"))
    assert [each["starts"] for each in printed["applied"]] == ["now"]
    (other,) = printed["others"]
    assert (other["job"], other["fate"]) == (
        "TrainingJob/default/small",
        "waits instead of starting",
    )
    assert printed["gpuHoursLost"] == 0


def test_for_a_job_that_would_wait_it_is_explained_when_it_could_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = simulated(tmp_path, capsys, a_job("new", 3), output="table")
    assert "Hold: LowerPriority: " in ran.out
    assert "starts: about 2026-11-21 13:00 UTC, when other jobs should have ended" in ran.out
    assert "No effect on other jobs." in ran.out


def test_a_job_that_waits_and_takes_nothing_from_others_has_no_effect_on_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [fake_node("a", gpus=2), fake_node("b", gpus=4), fake_node("c", A100, gpus=8)]
    jobs = [a_job("two", 2, **on(H100, A100)), a_job("four", 4, **on(H100))]
    jobs += [a_job("six", 6, **on(H100, A100))]
    for job in jobs:
        job["spec"]["priorityClassName"] = "urgent"
    snapshot = a_snapshot(tmp_path, URGENT, *nodes, *jobs)
    file = written(tmp_path, "job.yaml", a_job("a-new", 8, **on(A100)))
    printed = answer(run(capsys, "simulate", "-f", file, "--snapshot", snapshot, "-o", "json"))
    assert printed["applied"][0]["why"]["job"]["action"] == "Hold"
    assert printed["others"] == []


def test_a_job_that_runs_already_is_simulated_with_its_new_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grown = a_running_job("runs", 8, priorityClassName="urgent")
    del grown["status"], grown["metadata"]["uid"]
    (new,) = answer(simulated(tmp_path, capsys, grown))["applied"]
    assert new["why"]["job"]["place"][0]["nodes"] == {"node-1": 8}


def test_a_file_without_jobs_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = simulated(tmp_path, capsys, gpu_pool())
    assert ran.status == 2
    said = "a TrainingJob, an InferenceJob, or a Job with the label plimsoll.dev/queue\n"
    assert ran.err.endswith(f"job.yaml: nothing to simulate: add {said}")


def test_what_is_wrong_with_the_job_is_reported_by_field(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = simulated(tmp_path, capsys, a_job("new", 1, qeue="x"))
    assert ran.status == 2
    assert "TrainingJob new: spec.qeue: is unknown: did you mean queue?" in ran.err


def test_the_cluster_may_come_by_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(a_snapshot(tmp_path, *a_crowded_node())).read_text()
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    file = written(tmp_path, "job.yaml", a_job("new", 2))
    (new,) = answer(run(capsys, "simulate", "-f", file, "--cluster", "-", "-o", "json"))["applied"]
    assert new["why"]["job"]["action"] == "Admit"
