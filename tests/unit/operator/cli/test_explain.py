"""`plimsoll explain` says, on a recorded snapshot or on manifests, what one job can do."""

import json
from pathlib import Path

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100
from support.clusters.recorded_clusters import (
    NODE,
    URGENT,
    a_crowded_node,
    a_job,
    a_running_job,
    a_snapshot,
)
from support.objects.job_manifests import a_policy, a_queue, without_speeds
from support.objects.manifests import H100, edited, job_queue
from support.programs.cli_runs import Ran, run, written


def explained(tmp_path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> Ran:
    file = a_snapshot(tmp_path, *a_crowded_node())
    return run(capsys, "explain", *arguments, "--snapshot", file)


def test_an_explanation_says_what_a_job_waits_for_whom_and_until_when(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = explained(tmp_path, capsys, "waits", "-o", "json")
    assert ran.status == 0, ran.err
    why = json.loads(ran.out)
    assert (why["job"]["action"], why["job"]["reason"]) == ("Hold", "LowerPriority")
    (remedy,) = why["remedies"]
    assert remedy["changes"] == [f"free 2 GPUs of {H100} on one node (node-1)"]
    assert remedy["place"] == [
        {"role": "worker", "acceleratorType": H100, "gpus": 4, "nodes": {"node-1": 4}}
    ]
    assert remedy["certain"]
    assert not remedy["displaced"]
    gives = why["givingWay"]
    assert gives["priority"] == 1001
    (loss,) = gives["losses"]
    assert (loss["job"], loss["stops"], loss["gpus"]) == ("TrainingJob/default/runs", True, 6)
    assert loss["gpuHoursLost"] > 0
    assert why["earliestStart"] == {
        "at": "2026-11-21T13:00:00Z",
        "after": ["TrainingJob/default/runs"],
        "inTurnAt": "2026-11-21T13:00:00Z",
    }


def test_people_read_the_same_in_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = explained(tmp_path, capsys, "tj/waits").out
    assert (
        "TrainingJob default/waits (queue default, priority 0): Hold: LowerPriority: needs" in out
    )
    assert f"  - free 2 GPUs of {H100} on one node (node-1)\n    then it runs on 4 ×" in out
    assert "at priority 1001 it would run at once" in out
    assert "TrainingJob/default/runs (priority 1000) would stop: 6 GPUs" in out
    assert "Earliest start: 2026-11-21 13:00 UTC, when TrainingJob/default/runs" in out


def test_a_change_that_does_not_pay_is_said_to_be_too_dear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job that runs has worked for an hour and never saves; the other is as important."""
    never = {"checkpoint": {"interval": "168h"}}
    runs, waits = a_running_job("runs", 6, **never), a_job("waits", 4, priorityClassName="urgent")
    file = a_snapshot(tmp_path, NODE, URGENT, runs, waits)
    ran = run(capsys, "explain", "waits", "--snapshot", file)
    assert "jobs that would lose more work than it gains hold 6" not in ran.out
    policy = a_policy(disruptionPrice={"horizon": "30m"})
    ran = run(
        capsys,
        "explain",
        "waits",
        "--snapshot",
        a_snapshot(tmp_path, policy, NODE, URGENT, runs, waits),
    )
    assert "jobs that would lose more work than it gains hold 6" in ran.out
    assert "Jobs that would have to give way:\n  - TrainingJob/default/runs (priority 0)" in ran.out
    assert (
        "This is not done: 2.00 GPU-hours gained in 0.5 h are too little by the policy's"
        " `disruptionPrice`." in ran.out
    )


def test_work_of_a_higher_priority_is_not_for_sale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would have room beside, but a lower priority has nothing to pay with."""
    runs = a_running_job("runs", 4, priorityClassName="urgent")
    nodes = [NODE, fake_node("node-2", gpus=4)]
    file = a_snapshot(tmp_path, *nodes, URGENT, runs, a_job("waits", 8))
    ran = run(capsys, "explain", "waits", "--snapshot", file)
    assert (
        "This is not done: the unsaved work of a higher priority is never spent on a lower one."
        in ran.out
    )


def test_what_the_disruption_budget_forbids_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The job that runs would do well to make room, but four hours of work are too much."""
    runs = a_running_job("runs", 4, checkpoint={"interval": "168h"})
    nodes = [NODE, fake_node("node-2", gpus=4)]
    file = a_snapshot(tmp_path, *nodes, runs, a_job("waits", 8))
    out = run(capsys, "explain", "waits", "--snapshot", file).out
    assert "TrainingJob/default/runs (priority 0) would move or shrink: 4 GPUs" in out
    assert (
        "This is not done: the policy's `disruptionBudgets` let plans throw away 1.00 GPU-hours"
        " at present." in out
    )
    policy = a_policy(disruptionBudgets=[])
    file = a_snapshot(tmp_path, policy, *nodes, runs, a_job("waits", 8))
    assert "Admit" in run(capsys, "explain", "waits", "--snapshot", file).out


def test_lines_are_no_longer_than_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "72")
    out = explained(tmp_path, capsys, "waits").out
    assert max(map(len, out.splitlines())) <= 72


def test_for_a_job_that_runs_it_is_explained_where(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = explained(tmp_path, capsys, "TrainingJob/default/runs").out
    assert "priority 1000): Keep" in out
    assert f"runs: 6 × {H100} on node-1" in out
    assert "let it run" not in out


@pytest.mark.parametrize("reason", ["Restarting", "CannotStart"])
def test_of_a_job_that_has_a_place_and_does_not_run_it_is_said_why(
    reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = a_running_job("retries", 6)
    message = "retries-0 on node-1 failed with exit code 1 (Error)"
    job["status"] |= {"reason": reason, "message": message}
    file = a_snapshot(tmp_path, NODE, job)
    out = run(capsys, "explain", "retries", "--snapshot", file).out
    assert f"Keep: {reason}: {message}" in out
    assert f"has its place: 6 × {H100} on node-1" in out


def test_speeds_that_nobody_stated_are_said_to_be_assumed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [NODE, fake_node("node-2", A100, gpus=8)]
    silent = without_speeds(a_job("silent", 4))
    file = a_snapshot(tmp_path, *nodes, silent)
    printed = json.loads(run(capsys, "explain", "silent", "--snapshot", file, "-o", "json").out)
    found = {each["acceleratorType"]: each for each in printed["speeds"]}
    assert {kind: each["basis"] for kind, each in found.items()} == {
        A100: "Assumed",
        H100: "Assumed",
    }
    assert found[H100]["percent"] == 100 > found[A100]["percent"]
    out = run(capsys, "explain", "silent", "--snapshot", file).out
    assert f"{H100} 100 % of the fastest, assumed" in out
    new = written(tmp_path, "new.yaml", without_speeds(a_job("new", 4)))
    out = run(capsys, "simulate", "-f", new, "--snapshot", file).out
    assert f"{H100} 100 % of the fastest, assumed" in out


def test_manifests_do_as_well_as_a_snapshot(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = edited(job_queue(), {"spec.quotas.0.limit": 2, "spec.quotas.0.guaranteed": 0})
    job = a_job("waits", 4, queue="research")
    file = written(tmp_path, "cluster.yaml", NODE, queue, job)
    ran = run(capsys, "explain", "waits", "--cluster", file)
    assert ran.status == 0, ran.err
    assert f"  - raise the limit of queue research for {H100} by 2\n" in ran.out


def test_a_message_that_is_the_remedy_itself_is_enough(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "cluster.yaml", NODE, a_job("waits", 1, queue="nosuch"))
    ran = run(capsys, "explain", "waits", "--cluster", file)
    assert "QueueNotFound: there is no JobQueue nosuch: create it" in ran.out
    assert "let it run" not in ran.out


@pytest.mark.parametrize("gpus", [4_000_000_000, 10**30])
def test_of_a_job_that_asks_for_too_much_to_compute_with_that_is_said(
    gpus: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, "cluster.yaml", NODE, a_job("waits", gpus))
    ran = run(capsys, "explain", "waits", "--cluster", file)
    assert ran.status == 0
    assert "GPUs at its largest; 1048576 are the most" in ran.out
    assert "let it run" not in ran.out


@pytest.mark.parametrize(
    ("job", "said"),
    [
        ("wait", "wait: no such job: did you mean waits?"),
        ("zzz", "zzz: no such job: use one of runs, waits"),
        ("pod/waits", "pod/…: is not a kind of job: use trainingjob (tj) or inferencejob (ij)"),
        ("ij/waits", "ij/waits: no such job: did you mean waits?"),
    ],
)
def test_a_job_that_is_not_there_is_answered_with_those_that_are(
    job: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = explained(tmp_path, capsys, job)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err == f"plimsoll: {said}\n"


def test_one_name_in_two_namespaces_must_be_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = [edited(a_job("train", 1), {"metadata.namespace": name}) for name in ("a", "b")]
    file = written(tmp_path, "cluster.yaml", NODE, *jobs)
    ran = run(capsys, "explain", "train", "--cluster", file)
    assert ran.status == 2
    assert "use one of TrainingJob/a/train, TrainingJob/b/train" in ran.err
    assert run(capsys, "explain", "train", "-n", "b", "--cluster", file).status == 0
    assert run(capsys, "explain", "tj/a/train", "--cluster", file).status == 0


def test_without_a_cluster_a_user_reads_what_to_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = run(capsys, "explain", "x", "--kubeconfig", str(tmp_path / "none"))
    assert ran.status == 2
    assert "no cluster configured: " in ran.err
    assert "name one with --kubeconfig and --context, or read a file with --snapshot" in ran.err


def test_a_cluster_that_does_not_answer_is_said_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = {
        "clusters": [{"name": "gone", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": ""}}],
        "current-context": "gone",
    }
    ran = run(capsys, "explain", "x", "--kubeconfig", written(tmp_path, "config", config))
    assert ran.status == 2
    assert "the cluster does not respond: the API server cannot be reached" in ran.err


def test_two_sources_at_once_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "explain", "x", "--snapshot", "a", "--cluster", "b")
    assert (ran.status, "omit one" in ran.err) == (2, True)


def test_of_a_job_beyond_a_limit_nothing_else_is_said_to_let_it_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queue = a_queue("default", maxJobs=1)
    file = written(tmp_path, "cluster.yaml", NODE, queue, a_job("first", 1), a_job("second", 1))
    ran = run(capsys, "explain", "second", "--cluster", file)
    assert "TooManyJobs: queue default has more than 1 job" in ran.out
    assert "let it run" not in ran.out
    assert "Earliest start" not in ran.out
