"""What the commands say of nodes that could be bought, or are on their way, for a job."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from support.objects.bought_nodes import a_claim, a_growing_pool
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.programs.cli_runs import plan, run, written

POOL = a_growing_pool("h100-b", price="3", provisioning={"startTime": "6m"})
GANG = {
    **a_training_job("gang", workers=2, gpus=8, accelerators=[{"type": H100}]),
}
THERE = fake_node("there", gpus=1, gpu_type=L4)
BUDGET = a_policy(purchasing={"mostPerHour": "30"})


def cluster(folder: Path, *manifests: Manifest) -> str:
    """A file of a cluster that has one small node, the pool and these."""
    return written(folder, "cluster.yaml", THERE, POOL, *manifests)


def explained(
    capsys: pytest.CaptureFixture[str], folder: Path, job: str, *manifests: Manifest
) -> dict[str, Any]:
    """What an explanation says of the nodes that a job could have."""
    ran = run(capsys, "explain", job, "--cluster", cluster(folder, *manifests), "-o", "json")
    assert ran.status == 0, ran.err
    purchase: dict[str, Any] = json.loads(ran.out)["job"]["purchase"]
    return purchase


def test_an_explanation_says_what_nodes_would_let_a_job_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = explained(capsys, tmp_path, "gang", GANG)
    message = said.pop("message")
    assert said == {
        "nodes": {"h100-b": 2},
        "ordered": {},
        "dollarsPerHour": 48,
        "startSeconds": 360,
        "withinBudget": True,
    }
    start = "with 2 nodes of GPUPool h100-b it could start after 6m, for 48.00 an hour: they are"
    assert message.startswith(start)
    text = run(capsys, "explain", "gang", "--cluster", cluster(tmp_path, GANG)).out
    assert f"\n  {start}" in text


def test_a_budget_that_does_not_suffice_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = explained(capsys, tmp_path, "gang", GANG, BUDGET)
    assert (said["nodes"], said["withinBudget"]) == ({"h100-b": 2}, False)
    assert said["message"].endswith(": purchasing.mostPerHour of the PlacementPolicy leaves 30.00")


def test_a_device_that_no_pool_promises_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = a_training_job("job", gpus=8, template=a_template({"rdma/hca": "1"}))
    promised = "provisioning.resources does not promise what it requests: GPUPool h100-b (rdma/hca)"
    ran = run(capsys, "explain", "job", "--cluster", cluster(tmp_path, job))
    assert promised in ran.out
    large = a_training_job("job", gpus=16)
    assert "promise" not in run(capsys, "explain", "job", "--cluster", cluster(tmp_path, large)).out


def test_advice_says_that_it_is_only_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = explained(capsys, tmp_path, "gang", GANG, a_policy(mode="Advise"))
    assert said["message"].endswith("for 48.00 an hour: plans are only advice")


def test_what_is_on_its_way_is_not_to_be_bought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = {**POOL, "metadata": {**POOL["metadata"], "uid": "uid-GPUPool-h100-b"}}
    now = datetime.now(UTC).isoformat(timespec="seconds")
    claims = [a_claim(f"h100-b-{n}", pool="h100-b", creationTimestamp=now) for n in (1, 2)]
    file = written(tmp_path, "cluster.yaml", THERE, pool, GANG, claims[0])
    (line,) = plan(capsys, "--cluster", file).report["jobs"]
    assert (line["purchase"]["nodes"], line["purchase"]["ordered"]) == (
        {"h100-b": 1},
        {"h100-b": 1},
    )
    file = written(tmp_path, "cluster.yaml", THERE, pool, GANG, *claims)
    report = plan(capsys, "--cluster", file).report
    assert report["purchases"] == []
    said = report["jobs"][0]["purchase"]["message"]
    assert said.startswith("waits for 2 nodes of GPUPool h100-b, ordered at ")


def test_a_pool_that_cannot_be_had_now_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = {"provisioning": {"failures": 3, "retryTime": "2999-01-01T00:00:00Z"}}
    dear = a_growing_pool("dear", price="5")
    file = written(tmp_path, "cluster.yaml", THERE, {**POOL, "status": status}, dear, GANG)
    assert plan(capsys, "--cluster", file).report["purchases"] == [
        {"pool": "dear", "capacityType": "OnDemand", "nodes": 2, "dollarsPerHour": 80}
    ]


def test_a_plan_lists_what_would_be_bought(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = plan(capsys, "--cluster", cluster(tmp_path, GANG), output="table").out
    assert "TO BUY  CAPACITY  NODES  PER HOUR\nh100-b  OnDemand      2     48.00\n" in out
    assert "TO BUY" not in plan(capsys, "--cluster", cluster(tmp_path), output="table").out


def test_a_simulation_says_what_a_job_would_buy_before_it_is_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    job = written(tmp_path, "job.yaml", GANG)
    arguments = ("simulate", "-f", job, "--cluster", cluster(tmp_path))
    assert "  starts: about 6m after its nodes are bought, for $48.00 an hour; without them:" in (
        run(capsys, *arguments).out
    )
    (applied,) = json.loads(run(capsys, *arguments, "-o", "json").out)["applied"]
    assert applied["why"]["job"]["purchase"]["nodes"] == {"h100-b": 2}


def test_a_service_is_told_what_its_missing_replicas_could_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service = an_inference_job("serve", replicas=2, loads={L4: 1, H100: 1})
    file = written(tmp_path, "cluster.yaml", THERE, a_growing_pool(gpus=1, price="1"), service)
    (line,) = plan(capsys, "--cluster", file).report["jobs"]
    assert line["missing"] == "1 of 2 server replicas"
    assert line["purchase"]["nodes"] == {"h100": 1}


def test_nothing_is_bought_of_a_pool_whose_nodes_another_one_would_have(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = a_pool("a", {"nvidia.com/gpu.product": H100}, gpuType=H100)
    file = cluster(tmp_path, GANG, first)
    ran = run(capsys, "explain", "gang", "--cluster", file)
    assert ran.status == 0
    assert "GPUPool h100-b" not in ran.out
    last = {**first, "metadata": {"name": "z"}}
    file = cluster(tmp_path, GANG, last)
    assert "GPUPool h100-b" in run(capsys, "explain", "gang", "--cluster", file).out


def test_within_a_budget_a_job_gets_what_it_can_do_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elastic = a_training_job("gang", workers=(1, 2), gpus=8, rates={H100: {1: 1, 2: 2}})
    said = explained(capsys, tmp_path, "gang", elastic)
    assert said["nodes"] == {"h100-b": 2}
    queue = a_queue("default", purchasing={"mostPerHour": "30"})
    for budget in (BUDGET, queue):
        said = explained(capsys, tmp_path, "gang", elastic, budget)
        assert (said["nodes"], said["withinBudget"]) == ({"h100-b": 1}, True)
        # Once it is ordered, it stays what the gang waits for.
        pool = {**POOL, "metadata": {**POOL["metadata"], "uid": "uid-GPUPool-h100-b"}}
        now = datetime.now(UTC).isoformat(timespec="seconds")
        claim = a_claim("h100-b-1", pool="h100-b", creationTimestamp=now)
        file = written(tmp_path, "cluster.yaml", THERE, pool, elastic, budget, claim)
        (line,) = plan(capsys, "--cluster", file).report["jobs"]
        said = line["purchase"]
        assert (said["nodes"], said["ordered"], said["withinBudget"]) == ({}, {"h100-b": 1}, True)


def test_within_a_budget_a_cheaper_type_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cheap = a_growing_pool("cheap", gpu_type=A100, price="1")
    policy = a_policy(purchasing={"mostPerHour": "10"})
    types = [
        {"type": H100, "throughput": [{"workers": 1, "rate": 10}]},
        {"type": A100, "throughput": [{"workers": 1, "rate": 4}]},
    ]
    job = a_training_job("gang", gpus=8, accelerators=types)
    said = explained(capsys, tmp_path, "gang", job, policy, cheap)
    assert (said["nodes"], said["withinBudget"]) == ({"cheap": 1}, True)
    dear = a_growing_pool("cheap", gpu_type=A100, price="1.3")
    said = explained(capsys, tmp_path, "gang", job, policy, dear)
    assert (said["nodes"], said["withinBudget"]) == ({"h100-b": 1}, False)
