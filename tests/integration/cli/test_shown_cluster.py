"""What commands show of a running cluster is what the reference says that they show."""

import csv
import io
import json

import pytest
import yaml

from plimsoll_devcluster.cluster import Cluster
from support.clusters.scene import Scene
from support.clusters.shown_cluster import company
from support.programs.cli_runs import Ran, run
from support.project.shown_output import normal, shown_after

COMMANDS = (
    "status",
    "top jobs -A",
    "top jobs -A --type H100",
    "top nodes",
    "queue",
    "queue research",
)


class Shown:
    """Runs commands on the company's cluster."""

    def __init__(self, scene: Scene, cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
        self.scene, self._cluster, self._capsys = scene, cluster, capsys

    def run(self, command: str) -> Ran:
        kubeconfig = str(self._cluster.kubeconfig)
        return run(self._capsys, *command.split(), "--kubeconfig", kubeconfig)

    def printed(self, command: str) -> str:
        ran = self.run(command)
        assert (ran.status, ran.err) == (0, "")
        return ran.out


@pytest.fixture
def shown(
    scene: Scene,
    control_plane: Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Shown:
    monkeypatch.delenv("COLUMNS", raising=False)
    company(scene)
    return Shown(scene, control_plane, capsys)


def test_commands_print_what_the_reference_shows(shown: Shown) -> None:
    space = shown.scene.namespace
    printed = {each: normal(shown.printed(each), namespace=space) for each in COMMANDS}
    assert printed == {each: shown_after(f"plimsoll {each}") for each in COMMANDS}


def test_a_job_that_waits_is_explained_as_the_reference_shows(shown: Shown) -> None:
    *expected, more = shown_after("plimsoll explain vision")
    said = normal(shown.printed("explain vision"), namespace=shown.scene.namespace)
    assert said[: len(expected)] == expected
    assert more == "…"


def test_programs_get_exact_numbers_and_times(shown: Shown) -> None:
    space = shown.scene.namespace
    status = json.loads(shown.printed("status -o json"))
    assert status["gpus"][0] | {"gpuType": ""} == {
        "gpuType": "",
        "total": 16,
        "used": 6,
        "idle": 2,
        "unusable": 8,
    }
    assert {each["job"] for each in status["waiting"]} == {
        f"TrainingJob/{space}/llama",
        f"TrainingJob/{space}/vision",
    }
    rows = [*csv.DictReader(io.StringIO(shown.printed("queue -o csv")))]
    assert [(row["QUEUE"], row["PARENT"], row["USED"]) for row in rows] == [
        ("research", "-", "6"),
        ("research", "-", "2"),
        ("serving", "research", "2"),
    ]
    nodes = yaml.safe_load(shown.printed("top nodes -o yaml"))["nodes"]
    assert [(node["node"], node["expectedWatts"]) for node in nodes] == [
        ("h100-a", 3510),
        ("h100-b", 600),
        ("l4-a", None),
    ]
    assert "UNIT" in shown.printed("top jobs -A -o wide")


def test_jobs_are_those_of_a_namespace_unless_all_are_asked_for(shown: Shown) -> None:
    own, other = (
        json.loads(shown.printed(f"top jobs -o json {scope}"))["jobs"]
        for scope in (f"-n {shown.scene.namespace}", "-n default")
    )
    assert (len(own), other) == (4, [])
    assert json.loads(shown.printed("top jobs -o json"))["jobs"] == []
    assert json.loads(shown.printed("status -o json -n default"))["waiting"] == []


def test_jobs_and_nodes_are_those_of_a_type_or_a_queue(shown: Shown) -> None:
    def jobs(options: str) -> list[str]:
        found = json.loads(shown.printed(f"top jobs -A -o json {options}"))["jobs"]
        return [each["job"].rpartition("/")[2] for each in found]

    assert jobs("--type l4") == ["chat"]
    assert jobs("--queue research") == ["bert", "llama", "vision"]
    assert jobs("--queue serving --type H100") == []
    nodes = json.loads(shown.printed("top nodes -o json --type NVIDIA-L4"))["nodes"]
    assert [each["node"] for each in nodes] == ["l4-a"]
    none = "There are no jobs on GPUs of type H200 in queue serving.\n"
    assert shown.printed("top jobs -A --type H200 --queue serving") == none
    assert shown.printed("top nodes --type A10") == "There are no nodes with GPUs of type A10.\n"
    ran = shown.run("top nodes --queue research")
    assert (ran.status, ran.err) == (
        2,
        "plimsoll: --queue: nodes have none: omit it, or show jobs\n",
    )


def test_a_queue_that_is_not_there_is_an_answer_with_a_status_of_its_own(shown: Shown) -> None:
    ran = shown.run("queue reserch")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err == "plimsoll: reserch: no such queue: did you mean research?\n"
