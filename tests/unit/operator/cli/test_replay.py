"""`plimsoll replay` makes the plan of a snapshot again, and says whether it is the recorded one."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli.inputs.sources import described
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.recorded_clusters import a_crowded_node, a_job, a_snapshot
from support.clusters.seen import objects_of
from support.clusters.snapshot_files import TAKEN, snapshot_of
from support.objects.manifests import H100, edited
from support.programs.cli_runs import plan, run, written


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """What the operator writes of a node with a job that runs, one that waits and one that fits."""
    cluster = written(tmp_path, "cluster.yaml", *a_crowded_node(), a_job("small", 1))
    return snapshot_of(described([cluster], (), TAKEN).objects, tmp_path)


def replayed(capsys: pytest.CaptureFixture[str], file: Path, status: int) -> dict[str, Any]:
    ran = run(capsys, "replay", str(file), "-o", "json")
    assert ran.status == status, ran.err
    return json.loads(ran.out)


def test_the_plan_is_the_one_that_was_recorded(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed = replayed(capsys, snapshot, 0)
    assert (printed["same"], printed["differences"]) == (True, [])
    assert printed["taken"] == "2026-11-21T12:00:30.000125Z"
    actions = {job["name"]: job["action"] for job in printed["report"]["jobs"]}
    assert actions == {"runs": "Keep", "small": "Admit", "waits": "Hold"}


def test_a_cluster_without_nodes_was_planned_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = snapshot_of(objects_of(), tmp_path)
    assert replayed(capsys, file, 0)["report"]["jobs"] == []


def test_waiting_jobs_are_explained(snapshot: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (why,) = replayed(capsys, snapshot, 0)["waiting"]
    assert why["job"]["name"] == "waits"
    assert why["remedies"][0]["changes"] == [f"free 3 GPUs of {H100} on one node (node-1)"]
    out = run(capsys, "replay", str(snapshot), "--explain", "0").out
    assert "let it run" not in out
    assert "This is the plan that was made at 2026-11-21 12:00 UTC by version " in out


def test_what_differs_is_reported_and_is_an_exit_status(
    snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(snapshot.read_text())
    content["items"] = [
        each if each["kind"] != "Node" else fake_node("node-1", gpus=16)
        for each in content["items"]
    ]
    file = tmp_path / "edited.yaml"
    file.write_text(yaml.safe_dump(content))
    printed = replayed(capsys, file, 1)
    assert {each["job"]: each["recorded"] for each in printed["differences"]} == {
        "TrainingJob/default/waits": ""
    }
    out = run(capsys, "replay", str(file)).out
    assert f"TrainingJob/default/waits: then waiting; now {H100} on node-1" in out
    assert "The file was edited, or this version plans differently." in out


def test_a_snapshot_is_a_cluster_to_plan_for_as_well(
    snapshot: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = written(tmp_path, "more.yaml", edited(fake_node("node-2"), {}))
    ran = plan(capsys, "--cluster", str(snapshot), "-f", more)
    assert ran.job("waits")["action"] == "Admit"


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (None, "plimsoll: is missing, so no plan is recorded: use a file that the operator"),
        ({"snapshotVersion": 99}, "plimsoll.snapshotVersion: is 99, but this program reads 1: use"),
        ({"snapshotVersion": "x"}, "plimsoll.snapshotVersion: Expected `int`, got `str`"),
        ({"snapshotVersion": 1}, "plimsoll: Object missing required field `taken`"),
        ("hello", "plimsoll: Expected `object`, got `str`"),
    ],
)
def test_a_file_without_a_head_that_can_be_read_is_refused(
    head: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = Path(a_snapshot(tmp_path, *a_crowded_node()))
    content = json.loads(file.read_text())
    content["plimsoll"] = head
    file.write_text(json.dumps(content))
    ran = run(capsys, "replay", str(file))
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"plimsoll: {file}: {said}")


def test_a_file_that_is_not_there_is_said_so(capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "replay", "/none.json")
    assert (ran.status, ran.err) == (
        2,
        "plimsoll: /none.json: cannot be read: No such file or directory\n",
    )


def test_a_file_that_is_cut_off_is_said_so(
    snapshot: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    snapshot.write_text(snapshot.read_text()[:1000])
    ran = run(capsys, "explain", "waits", "--snapshot", str(snapshot))
    assert ran.status == 2
    assert f"{snapshot}: is not YAML: " in ran.err
