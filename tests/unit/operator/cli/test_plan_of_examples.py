"""The plan of the examples, which README shows, is the operator's."""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll.cli import main
from plimsoll.cli.analysis.trial import trial
from plimsoll.cli.inputs.sources import described
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects, Observer
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.manifest import manifests_in
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve_lean

EXAMPLES = Path(__file__).parents[4] / "examples"
CLUSTER = str(EXAMPLES / "cluster.yaml")
ARGUMENTS = ["plan", "--cluster", CLUSTER, "-f", str(EXAMPLES)]
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)

Report = dict[str, Any]


@pytest.fixture(scope="module")
def report() -> Report:
    """What the program prints, from a process of its own, as users have it."""
    command = [sys.executable, "-c", "import sys, plimsoll.cli as c; sys.exit(c.main())"]
    printed = subprocess.run([*command, *ARGUMENTS, "-o", "json"], check=True, capture_output=True)
    return json.loads(printed.stdout)


def by_name(lines: Iterable[Report]) -> dict[str, Report]:
    return {line["name"]: line for line in lines}


def test_every_job_has_a_place_or_a_reason(report: Report) -> None:
    prefixes = {
        "TrainingJob": "",
        "InferenceJob": "",
        "Job": "job-",
        "JobSet": "jobset-",
        "PyTorchJob": "pytorchjob-",
        "RayCluster": "raycluster-",
        "RayJob": "rayjob-",
        "AppWrapper": "appwrapper-",
        "PodGroup": "podgroup-",
    }
    written = [
        f"{prefixes[each['kind']]}{each['metadata']['name']}"
        for folder in ("jobs", "scaling", "targets", "workloads")
        for path in (EXAMPLES / folder).glob("*.yaml")
        for each in manifests_in(path.read_text())
        if each["kind"] in prefixes
    ]
    assert sorted(line["name"] for line in report["jobs"]) == sorted(written)
    for line in report["jobs"]:
        has_place = bool(line["place"]) or line["reason"] == "ScaledToZero"
        assert (line["action"] == "Admit") is has_place
        assert line["reason"]
        assert line["message"]


def test_jobs_are_listed_by_priority(report: Report) -> None:
    priorities = [line["priority"] for line in report["jobs"]]
    assert priorities == sorted(priorities, reverse=True)
    assert report["jobs"][0]["name"] == "hotfix-retrain"


def test_the_urgent_gang_is_placed_whole(report: Report) -> None:
    (place,) = by_name(report["jobs"])["hotfix-retrain"]["place"]
    assert place["acceleratorType"] == "NVIDIA-H100-80GB-HBM3"
    assert sorted(place["nodes"].values()) == [8, 8]


def test_services_from_zero_sleep_while_no_load_is_known(report: Report) -> None:
    lines = by_name(report["jobs"])
    for name in ("translate", "label-archive"):
        assert (lines[name]["reason"], lines[name]["place"]) == ("ScaledToZero", [])


def test_the_job_that_wants_all_h100s_waits_and_says_so_in_numbers(report: Report) -> None:
    line = by_name(report["jobs"])["pretrain-large"]
    assert line["action"] == "Hold"
    assert "4 nodes with 8 × NVIDIA-H100-80GB-HBM3" in line["message"]


def test_the_fraction_is_on_a_node_that_offers_fractions(report: Report) -> None:
    (place,) = by_name(report["jobs"])["notebook"]["place"]
    shared = [
        each["metadata"]["name"]
        for each in manifests_in(Path(CLUSTER).read_text())
        if "nvidia.com/gpu.shared" in each.get("status", {}).get("allocatable", {})
    ]
    assert place["gpus"] == pytest.approx(0.25)
    assert set(place["nodes"]) <= set(shared)


def has_gpus(place: dict[str, Any]) -> bool:
    """Whether it is of pods with GPUs: others are on no type."""
    assert bool(place["acceleratorType"]) == bool(place["gpus"])
    return bool(place["gpus"])


def test_what_is_shared_adds_up(report: Report) -> None:
    placed: dict[str, float] = {}
    for line in report["jobs"]:
        for place in filter(has_gpus, line["place"]):
            kind = place["acceleratorType"]
            placed[kind] = placed.get(kind, 0) + sum(place["nodes"].values())
    used = {line["acceleratorType"]: line["used"] for line in report["gpus"]}
    by_queues = dict.fromkeys(used, 0)
    for line in report["queues"]:
        by_queues[line["acceleratorType"]] += line["used"]
    assert used == pytest.approx(placed)
    assert by_queues == pytest.approx(placed)
    assert {line["acceleratorType"]: line["total"] for line in report["gpus"]} == {
        "NVIDIA-H100-80GB-HBM3": 32,
        "NVIDIA-A100-SXM4-80GB": 48,
        "NVIDIA-L4": 24,
        "Tesla-T4": 4,
    }


def test_no_limit_is_passed(report: Report) -> None:
    assert all(line["used"] <= line["total"] for line in report["gpus"])
    assert all(line["limit"] is None or line["used"] <= line["limit"] for line in report["queues"])
    domains = by_name(report["powerDomains"])
    assert domains.keys() == {"row-a", "row-b"}
    assert all(0 < line["expectedWatts"] <= line["budgetWatts"] for line in domains.values())


def test_the_summary_says_how_good_the_plan_is(report: Report) -> None:
    summary = report["summary"]
    waiting = sum(line["action"] == "Hold" for line in report["jobs"])
    assert (summary["placed"], summary["waiting"]) == (len(report["jobs"]) - waiting, waiting)
    assert 0 <= summary["gapPercent"] < 5


def test_the_operators_own_way_to_plan_gives_the_same_plan() -> None:
    """As the API server reports custom resources; only uids, versions and times are made up."""
    given = described([CLUSTER], [str(EXAMPLES)], NOW)
    resources = CustomResources(lambda: None)
    for number, resource in enumerate(given.objects.resources):
        raw = resource.wire()
        made = {"uid": f"uid-{number}", "creationTimestamp": "2026-11-21T12:00:00Z"}
        raw["metadata"] = {**resource.metadata.wire(), **made, "resourceVersion": str(number + 1)}
        resources.received(raw)
    objects = Objects(
        nodes=given.objects.nodes,
        pods=(),
        resources=resources.all(),
        priority_classes=given.objects.priority_classes,
        targets=given.objects.targets,
        workloads=given.objects.workloads,
    )
    snapshot = Observer().snapshot(objects, NOW)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    result = PlanResult(plan_input, solve_lean(plan_input.problem, Effort(0)))

    ours = trial(given.objects, NOW, Effort(0))

    assert ours.plan == plan_of(snapshot, result)
    assert ours.plan.changes
    assert not violations(ours.result.problem, ours.result.solution.placements)


def test_the_order_of_files_does_not_matter(capsys: pytest.CaptureFixture[str]) -> None:
    files = sorted(str(path) for path in EXAMPLES.rglob("*.yaml"))

    def plan(paths: list[str]) -> Report:
        given = [argument for path in paths for argument in ("-f", path)]
        assert main(["plan", "-o", "json", "--time-limit", "0", *given]) == 0
        report = json.loads(capsys.readouterr().out)
        del report["summary"]["seconds"]
        return report

    assert plan(files) == plan(files[::-1])


@pytest.mark.parametrize("columns", [60, 80, 140])
def test_the_table_fits_the_terminal(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main([*ARGUMENTS, "--time-limit", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= max(columns, 72)
    assert any("hotfix-retrain" in line for line in lines)
    assert any("16 × NVIDIA-H100-80GB-HBM3 on h100-" in line for line in lines)


def test_what_is_printed_into_a_pipe_has_one_line_a_job(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(os.environ, "COLUMNS", raising=False)
    assert main([*ARGUMENTS, "--time-limit", "0"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "pretrain-large" in line]
    assert "4 nodes with 8 × NVIDIA-H100-80GB-HBM3" in line


def test_yaml_says_the_same_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[Report] = []
    for form in ("json", "yaml"):
        assert main([*ARGUMENTS, "--time-limit", "0", "-o", form]) == 0
        said.append(yaml.safe_load(capsys.readouterr().out))
        del said[-1]["summary"]["seconds"]
    assert said[0] == said[1]
