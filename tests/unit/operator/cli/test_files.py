"""However the same objects are written down, the plan is the same."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_devcluster.fake_nodes import fake_node
from support.objects.manifests import Manifest, job_queue, training_job
from support.programs.cli_runs import plan, written

OBJECTS = (fake_node("node-1"), job_queue(), training_job())
CONFIG_MAP: Manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}}


def a_list(*items: Manifest, kind: str = "List", api_version: str = "v1") -> Manifest:
    return {"apiVersion": api_version, "kind": kind, "metadata": {}, "items": list(items)}


def in_json(path: Path) -> list[str]:
    (path / "all.json").write_text(json.dumps(a_list(*OBJECTS)))
    return [str(path / "all.json")]


def in_flow_style(path: Path) -> list[str]:
    (path / "all.yaml").write_text(yaml.safe_dump(a_list(*OBJECTS), default_flow_style=True))
    return [str(path / "all.yaml")]


def in_a_list_among_others(path: Path) -> list[str]:
    return [written(path, "all.yaml", CONFIG_MAP, a_list(*OBJECTS[:2], CONFIG_MAP), OBJECTS[2])]


def in_lists_of_one_kind(path: Path) -> list[str]:
    head = ("apiVersion", "kind")
    node, queue, job = (
        {name: value for name, value in each.items() if name not in head} for each in OBJECTS
    )
    ours = "plimsoll.dev/v1alpha1"
    return [
        written(path, "1.yaml", a_list(node, kind="NodeList")),
        written(path, "2.yaml", a_list(queue, kind="JobQueueList", api_version=ours)),
        written(path, "3.yaml", a_list(job, kind="TrainingJobList", api_version=ours)),
    ]


def in_a_folder_and_below(path: Path) -> list[str]:
    written(path, "nodes.yml", OBJECTS[0])
    written(path, "team/a/queue.yaml", OBJECTS[1])
    written(path, "team/a/notes.txt", CONFIG_MAP)
    (path / "team" / "job.json").write_text(json.dumps(OBJECTS[2]))
    return [str(path)]


def twice(path: Path) -> list[str]:
    return [written(path, "all.yaml", *OBJECTS), written(path, "again.yaml", OBJECTS[2])]


def with_nulls_and_empty_documents(path: Path) -> list[str]:
    metadata = {"name": "train", "creationTimestamp": None, "labels": None}
    job = {**OBJECTS[2], "metadata": metadata, "status": None}
    file = written(path, "all.yaml", *OBJECTS[:2], job)
    Path(file).write_text(f"---\n---\n{Path(file).read_text()}\n---\n")
    return [file]


@pytest.mark.parametrize(
    "way",
    [
        in_json,
        in_flow_style,
        in_a_list_among_others,
        in_lists_of_one_kind,
        in_a_folder_and_below,
        twice,
        with_nulls_and_empty_documents,
    ],
)
def test_all_ways_to_write_give_one_plan(
    way: Callable[[Path], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [argument for path in way(tmp_path / "way") for argument in ("-f", path)]
    plain = plan(capsys, "-f", written(tmp_path, "plain.yaml", *OBJECTS))
    assert plain.job("train")["action"] == "Admit"
    assert plan(capsys, *files).report == plain.report


@pytest.fixture(autouse=True)
def folder_of_the_way(tmp_path: Path) -> None:
    (tmp_path / "way").mkdir()


def test_standard_input_is_a_file_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(a_list(*OBJECTS[:2]))))
    job = written(tmp_path, "job.yaml", OBJECTS[2])
    assert plan(capsys, "--cluster", "-", "-f", job).job("train")["action"] == "Admit"


def test_other_kinds_are_passed_over_and_reported_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    foreign = {**CONFIG_MAP, "apiVersion": "example.org/v1", "kind": "TrainingJob"}
    file = written(tmp_path, "all.yaml", *OBJECTS, CONFIG_MAP, foreign)
    assert not plan(capsys, "-f", file).err
    ran = plan(capsys, "-v", "-f", file)
    assert ran.err == "Skipped: 1 ConfigMap, 1 TrainingJob.\n"
    assert len(ran.report["jobs"]) == 1


def a_bare_node(**status: Any) -> Manifest:  # noqa: ANN401 - a node's status
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "bare"},
        "status": {"allocatable": {"nvidia.com/gpu": 4, "cpu": 1.5, "memory": "8Gi"}, **status},
    }


def test_a_node_without_labels_has_gpus_of_the_type_that_the_job_may_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = training_job()
    job["spec"]["accelerators"][0]["type"] = "unknown-nvidia-gpu"
    ran = plan(capsys, "-f", written(tmp_path, "all.yaml", a_bare_node(), job))
    assert ran.job("train")["place"][0]["nodes"] == {"bare": 4}


def test_there_may_be_no_jobs_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = written(tmp_path, "nodes.yaml", a_bare_node())
    assert plan(capsys, "-f", file).report["jobs"] == []
    assert plan(capsys, "-f", file, output="table").out.startswith("There are no jobs.\n")
