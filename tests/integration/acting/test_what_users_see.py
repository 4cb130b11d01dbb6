"""What users read: statuses, Events, kubectl's columns, metrics, probes and logs."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.control_plane_programs import find_programs
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import (
    a_gpu_pod,
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)

HIGH = a_priority_class("high", 1000)


@pytest.fixture(scope="module")
def operator(control_plane: Cluster) -> Iterator[OperatorProcess]:
    """The operator, as talkative as it can be."""
    with forked_operator(control_plane.kubeconfig, {"PLIMSOLL_LOG_LEVEL": "DEBUG"}) as process:
        yield process
        assert process.stop() == 0


class Kubectl:
    """The program that users look at the cluster with, in the namespace of a scene."""

    def __init__(self, cluster: Cluster, scene: Scene) -> None:
        self._program = find_programs(os.environ) / "kubectl"
        self._options = [f"--kubeconfig={cluster.kubeconfig}", f"--namespace={scene.namespace}"]

    def text(self, *arguments: str) -> str:
        """What it prints."""
        command = [str(self._program), *self._options, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def row(self, *arguments: str) -> dict[str, str]:
        """The one row of a table that it prints, by column."""
        head, row = self.text("get", *arguments).splitlines()
        starts = [column.start() for column in re.finditer(r"\S+", head)]
        spans = list(zip(starts, [*starts[1:], None], strict=True))
        return {head[start:end].strip(): row[start:end].strip() for start, end in spans}


@pytest.fixture
def kubectl(control_plane: Cluster, scene: Scene) -> Kubectl:
    return Kubectl(control_plane, scene)


def by_type(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in status["conditions"]}


def test_a_status_says_what_was_decided_and_for_which_spec(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    scene.apply(a_pool("pool", {"type": "kwok"}))
    job = a_training_job("job", workers=2)
    scene.apply(job)
    status = scene.running(job).status
    admitted, running = (by_type(status)[kind] for kind in ("Admitted", "Running"))
    assert (admitted["status"], admitted["reason"]) == ("True", "Admitted")
    assert admitted["message"] == "placed: NVIDIA-H100-80GB-HBM3 on node ×2"
    assert (running["status"], running["reason"]) == ("True", "Running")
    assert running["message"] == "2 of 2 workers run on node ×2"
    assert {each["observedGeneration"] for each in (admitted, running, status)} == {1}
    assert (status["reason"], status["message"]) == ("Running", running["message"])
    placement = status["placement"]
    assert (placement["pool"], placement["acceleratorType"]) == ("pool", H100)
    assert [place["nodes"] for place in placement["assignments"]] == [["node"], ["node"]]
    assert (status["workerCount"], status["nodesSummary"]) == (2, "node ×2")
    scene.edit(job, {"suspend": True})
    status = scene.until(job, observedGeneration=2, placement=None)
    admitted, running = (by_type(status)[kind] for kind in ("Admitted", "Running"))
    assert (admitted["status"], admitted["reason"]) == ("False", "Suspended")
    assert (running["status"], running["reason"]) == ("False", "Suspended")
    assert {each["observedGeneration"] for each in (admitted, running)} == {2}


def test_a_waiting_job_says_in_numbers_what_it_lacks_and_keeps_them_true(scene: Scene) -> None:
    scene.add_nodes(
        fake_node("n-1", H100, 4, labels={"for": "large"}),
        fake_node("n-2", H100, 4, labels={"for": "small"}),
    )
    scene.apply(a_queue("research", limit=12))

    def sent(name: str, kind: str, gpus: int) -> Manifest:
        there = a_template(nodeSelector={"for": kind})
        return a_training_job(name, gpus=gpus, queue="research", template=there)

    small = [sent(f"small-{index}", "small", 1) for index in range(2)]
    large = [sent(f"large-{index}", "large", 2) for index in range(2)]
    scene.apply(*large, *small)
    for job in (*large, *small):
        scene.running(job)
    waiting = a_training_job("waiting", gpus=4, queue="research")
    scene.apply(waiting)
    scene.until(
        waiting,
        reason="InsufficientGPUs",
        message="needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 2; "
        "queue research may still use 6",
    )
    scene.delete(small[0])
    scene.until(
        waiting,
        reason="InsufficientGPUs",
        message="needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 3; "
        "queue research may still use 7",
    )


def test_a_status_speaks_of_the_spec_as_it_is_now(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    jobs = [a_training_job("train"), an_inference_job("serve"), a_training_job("huge", gpus=99)]
    scene.apply(*jobs)
    for job, reason in zip(jobs, ("Running", "Running", "CannotFit"), strict=True):
        scene.until(job, reason=reason, observedGeneration=1)
    changes: list[dict[str, Any]] = [
        {"disruption": {"minRuntime": "1h"}},
        {"slo": {"attainmentPercent": 95}},
        {"disruption": {"minRuntime": "1h"}},
    ]
    for job, change in zip(jobs, changes, strict=True):
        scene.edit(job, change)
        status = scene.until(job, observedGeneration=2)
        assert {each["observedGeneration"] for each in status["conditions"]} == {2}


def test_a_service_says_what_its_missing_replicas_lack(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    serve = an_inference_job("serve", replicas=3, gpus=2)
    scene.apply(serve)
    lack = "one more needs 2 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 0"
    message = f"2 of 3 replicas are ready; {lack}"
    status = scene.until(serve, message=message)
    assert status["reason"] == "Starting"
    assert status["readySummary"] == "2/3"
    assert [(role["wanted"], role["ready"]) for role in status["roles"]] == [(3, 2)]
    scene.add_nodes(fake_node("another", H100, 2))
    status = scene.running(serve).status
    assert status["message"] == "3 of 3 replicas are ready on another, node ×2"
    scene.edit(serve, {"roles": [{**serve["spec"]["roles"][0], "replicas": {"min": 1, "max": 3}}]})
    scene.until(serve, reason="Running", message="1 of 1 replicas are ready on node")


def test_that_a_job_can_never_run_is_reported_at_once(scene: Scene, kubectl: Kubectl) -> None:
    scene.add_nodes(*(fake_node(f"n-{index}", H100, 8) for index in range(3)))
    busy = a_training_job("busy", workers=3, gpus=8)
    scene.apply(busy)
    scene.running(busy)
    job = a_training_job("huge", workers=600, gpus=8)
    scene.apply(job)
    status = scene.until(job, reason="CannotFit")
    assert status["message"] == (
        "needs 600 nodes with 8 × NVIDIA-H100-80GB-HBM3 each; the cluster has 3 such nodes"
    )
    assert kubectl.row("tj", "huge")["STATUS"] == "CannotFit"
    [event] = scene.events(job, "CannotFit")
    assert (event["type"], event["note"]) == ("Warning", status["message"])


def test_a_job_that_waits_for_pods_to_end_is_not_reported_as_unable_to_run(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    slow = a_template(wishes={"hold-deletion-seconds": "2"})
    ends, waits = a_training_job("ends", gpus=4, template=slow), a_training_job("waits", gpus=2)
    scene.apply(ends)
    scene.running(ends)
    scene.apply(waits)
    scene.until(waits, reason="InsufficientGPUs")
    scene.delete(ends)
    scene.running(waits)
    assert scene.events(waits, "Admitted")
    reasons = {event["reason"] for event in scene.all_events(waits)}
    assert reasons == {"InsufficientGPUs", "Admitted"}


def test_absurd_numbers_are_reported_and_harm_nobody(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", H100, 4))
    absurd = [
        a_training_job("cpu", template=a_template({"cpu": "1E"})),
        a_training_job("memory", template=a_template({"memory": "1e30"})),
        a_training_job("gpus", gpus="1e18"),
        an_inference_job("replicas", gpus="1e18"),
    ]
    scene.apply(*absurd)
    for job in absurd:
        scene.until(job, reason="CannotFit")
    plain = a_training_job("plain", rates={H100: "1e30"})
    scene.apply(plain)
    scene.running(plain)
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0


def test_events_are_recorded_on_the_job_and_on_its_pods_and_only_once(
    scene: Scene, kubectl: Kubectl
) -> None:
    scene.add_nodes(fake_node("node", H100, 2))
    low = a_training_job("low", workers=2)
    scene.apply(HIGH, low)
    pods = scene.running(low).pods
    high = a_training_job("high", gpus=2, priorityClassName="high")
    scene.apply(high)
    scene.running(high)
    note = f"makes room for TrainingJob/{scene.namespace}/high (priority 1000)"
    for about in (low, *({"kind": "Pod", **pod} for pod in pods)):
        [event] = scene.events(about, "Preempted")
        assert (event["note"], event["type"]) == (note, "Warning")
    described = kubectl.text("describe", "tj", "low")
    assert "Preempted" in described
    assert note in described
    for suspend in (True, False, True, False, True):
        scene.edit(low, {"suspend": suspend})
        scene.until(low, reason="Suspended" if suspend else "LowerPriority")
    assert len(scene.events(low, "Suspended")) == 1


def in_use(status: Manifest) -> list[tuple[str, str, str]]:
    return [(each["type"], each["used"], each["borrowed"]) for each in status["usage"]]


@pytest.mark.slow
def test_the_columns_of_kubectl_say_where_how_many_and_why_not(
    scene: Scene, kubectl: Kubectl
) -> None:
    scene.add_nodes(fake_node("node", H100, 4, labels={"row": "a"}))
    power = {"idleWatts": 100, "typicalWatts": 600, "limitWatts": 700}
    scene.apply(
        HIGH,
        a_pool("h100", {"type": "kwok"}, power=power, pricePerGPUHour="3.5"),
        a_power_domain("row-a", {"row": "a"}, budget_watts=5000),
        a_queue("team", guaranteed=2),
        a_policy(),
    )
    train = a_training_job("train", workers=2, queue="team", priorityClassName="high")
    serve = an_inference_job("serve", queue="team")
    late = a_training_job("late", gpus=3, queue="team")
    scene.apply(train, serve)
    scene.running(train)
    scene.running(serve)
    scene.apply(late)
    said = scene.until(late, reason="LowerPriority")["message"]

    def rows() -> dict[str, dict[str, str]]:
        return {kind: kubectl.row(kind) for kind in ("gp", "pd", "jq", "pp")}

    wait_until(
        lambda: rows()["jq"]["PENDING"] == "1" and rows()["jq"]["ADMITTED"] == "2",
        timeout_seconds=SECONDS,
        what="the queue says who waits",
    )
    kubectl_train = kubectl.row("tj", "train")
    kubectl_train.pop("AGE")
    assert kubectl_train == {
        "NAME": "train",
        "QUEUE": "team",
        "STATUS": "Running",
        "WORKERS": "2",
        "GPU": H100,
        "NODES": "node ×2",
        "DONE%": "",
    }
    wide = kubectl.row("tj", "late", "-o", "wide")
    assert (wide["STATUS"], wide["WORKERS"], wide["MESSAGE"]) == ("LowerPriority", "0", said)
    served = kubectl.row("ij", "serve")
    assert (served["STATUS"], served["READY"], served["GPU"], served["NODES"]) == (
        "Running",
        "1/1",
        H100,
        "node",
    )
    cells = rows()
    pool, domain, queue, policy = (cells[kind] for kind in ("gp", "pd", "jq", "pp"))
    assert (pool["GPU"], pool["NODES"], pool["GPUS"], pool["USED"]) == (H100, "1", "4", "3")
    assert (domain["BUDGET-W"], domain["EXPECTED-W"], domain["NODES"]) == ("5000", "1850", "1")
    assert queue["USAGE"] == f"3 × {H100}"
    assert (policy["ADMITTED"], policy["HELD"]) == ("2", "1")


def test_queues_pools_and_domains_say_what_is_used(scene: Scene) -> None:
    power = {"idleWatts": 100, "typicalWatts": 600, "limitWatts": 700}
    scene.add_nodes(
        fake_node("h-1", H100, 4, labels={"row": "a"}),
        fake_node("h-2", H100, 4, labels={"row": "a"}),
        fake_node("a-1", A100, 4, labels={"row": "b"}),
    )
    pools = [
        a_pool("h100", {"nvidia.com/gpu.product": H100}, power=power),
        a_pool("a100", {"nvidia.com/gpu.product": A100}),
        a_pool("nothing", {"no": "such"}),
    ]
    domain = a_power_domain("row-a", {"row": "a"}, budget_watts=4000)
    division, vision = a_queue("division"), a_queue("vision", parent="division", guaranteed=2)
    jobs = [
        a_training_job("gang", workers=2, gpus=2, queue="vision"),
        an_inference_job("served", replicas=1, loads={A100: 1}, queue="division"),
    ]
    scene.apply(*pools, domain, division, vision, *jobs, a_gpu_pod("foreign", "h-2", gpus=1))
    for job in jobs:
        scene.running(job)
    scene.node("h-2", {"spec": {"unschedulable": True}})
    waits = a_training_job("waits", gpus=4, queue="vision")
    scene.apply(waits)
    scene.until(waits, placement=None, observedGeneration=1)
    status = scene.until(vision, pending=1, admitted=1)
    assert in_use(status) == [(H100, "4", "2")]
    assert [each["fairShare"] for each in status["usage"]] != ["0"]
    assert status["countedUntil"]
    assert status["usageSummary"] == f"4 × {H100}"
    assert by_type(status)["Active"]["status"] == "True"
    orphan = a_queue("orphan", parent="nowhere")
    scene.apply(orphan)
    active = by_type(scene.until(orphan, observedGeneration=1))["Active"]
    assert (active["status"], active["reason"]) == ("True", "QueueNotFound")
    assert "there is no JobQueue nowhere" in active["message"]
    status = scene.until(division, pending=1, admitted=2)
    assert in_use(status) == [(A100, "1", "1"), (H100, "4", "4")]
    status = scene.until(pools[0], nodes=2, nodesReady=1, gpus=8, gpusUsed="5", gpuType=H100)
    assert by_type(status)["Ready"]["status"] == "True"
    scene.until(pools[1], nodes=1, nodesReady=1, gpus=4, gpusUsed="1", gpuType=A100)
    status = scene.until(pools[2], nodes=0, gpus=0)
    assert by_type(status)["Ready"]["status"] == "False"
    status = scene.until(domain, nodes=2, budgetWatts=4000, expectedWatts=800 + 500 + 4 * 500)
    assert by_type(status)["WithinBudget"]["message"] == ("the expected draw is 3300 W of 4000 W")


def test_metrics_count_what_happens(scene: Scene) -> None:
    operator = scene.operator
    before = {
        name: operator.metric(name, **labels)
        for name, labels in (
            ("plimsoll_admitted_jobs_total", {"queue": "counted"}),
            ("plimsoll_admission_wait_time_seconds_count", {"queue": "counted"}),
            ("plimsoll_preempted_jobs_total", {"reason": "Preempted"}),
            ("plimsoll_plan_seconds_count", {}),
            ("plimsoll_api_writes_total", {}),
        )
    }
    scene.add_nodes(fake_node("node", H100, 2))
    low = a_training_job("low", gpus=2, queue="counted")
    scene.apply(HIGH, a_queue("counted"), low)
    scene.running(low)
    high = a_training_job("high", gpus=2, queue="counted", priorityClassName="high")
    huge = a_training_job("huge", gpus=99, queue="counted")
    scene.apply(high, huge)
    scene.running(high)

    def waiting() -> tuple[float, float, float]:
        pending = "plimsoll_pending_jobs"
        return (
            operator.metric(pending, queue="counted", status="active"),
            operator.metric(pending, queue="counted", status="inadmissible"),
            operator.metric("plimsoll_running_jobs", queue="counted"),
        )

    wait_until(
        lambda: waiting() == (1, 1, 1),
        timeout_seconds=SECONDS,
        what="one waits, is inadmissible, runs",
    )
    grown = {name: operator.metric(name) for name in before}
    counted = {"queue": "counted"}
    assert operator.metric("plimsoll_admitted_jobs_total", **counted) == 2
    assert operator.metric("plimsoll_admission_wait_time_seconds_count", **counted) == 2
    preempted = operator.metric("plimsoll_preempted_jobs_total", reason="Preempted")
    assert preempted == before["plimsoll_preempted_jobs_total"] + 1
    for name in ("plimsoll_plan_seconds_count", "plimsoll_api_writes_total"):
        assert grown[name] > before[name]
    assert operator.metric("plimsoll_leader") == 1
    assert operator.metric("plimsoll_loop_errors_total") == 0
    assert operator.metric("plimsoll_watched_objects", resource="nodes") == 1
    for resource in ("nodes", "pods", "priorityclasses", "poddisruptionbudgets"):
        assert operator.metric("plimsoll_watch_staleness_seconds", resource=resource) < 90
    assert "# HELP plimsoll_plan_gap_percent" in operator.probe("/metrics")[1]


def test_an_operator_that_is_well_says_so(scene: Scene) -> None:
    assert scene.operator.probe("/healthz") == (200, "ok")
    assert scene.operator.probe("/readyz") == (200, "ok")


def test_logs_are_keys_and_values_and_hold_no_secrets(scene: Scene, control_plane: Cluster) -> None:
    scene.add_nodes(fake_node("node", H100, 2))
    job = a_training_job("logged", gpus=2)
    scene.apply(job)
    scene.running(job)
    config = yaml.safe_load(Path(control_plane.kubeconfig).read_text())
    [user] = config["users"]
    secrets = [value for value in user["user"].values() if isinstance(value, str)]
    assert secrets
    name = f"TrainingJob/{scene.namespace}/logged"

    def logged() -> list[dict[str, Any]]:
        return [line for line in scene.operator.log_lines() if line.get("job") == name]

    [line] = wait_until(logged, timeout_seconds=SECONDS, what="the admission is logged")
    assert (line["reason"], line["level"]) == ("Admitted", "info")
    assert line["event"] == "placed: NVIDIA-H100-80GB-HBM3 on node"
    text = scene.operator.log.read_text()
    *complete, _last = text.splitlines()
    for each in map(json.loads, complete):
        assert each.keys() >= {"event", "level", "logger", "timestamp"}
    assert not [secret for secret in secrets if secret in text]
