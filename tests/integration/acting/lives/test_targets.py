"""Workloads of other controllers are scaled, and their pods are placed where the plan says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import L4
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import condition, name_of, scale, uids
from support.clusters.scene import SECONDS, Scene
from support.clusters.target_lives import (
    a_targeting_job,
    a_workload,
    count,
    make,
    nodes_of,
    path_of,
    pods_of_workload,
    set_count,
    until_places,
    until_ready,
)
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.programs.cli_runs import run
from support.project.tiers import quick_first
from support.servers.scalable_kinds import a_scalable_kind


@pytest.fixture(scope="module")
def operator(control_plane: Cluster) -> Iterator[OperatorProcess]:
    """An operator that notices soon what others do to targets."""
    with forked_operator(control_plane.kubeconfig, {"PLIMSOLL_TARGET_SECONDS": "0.5"}) as process:
        yield process
        assert process.stop() == 0


EXAMPLE = Path(__file__).parents[4] / "examples" / "targets" / "serve-deployment.yaml"
KINDS = quick_first(["Deployment", "StatefulSet"])
PRICES = (
    a_pool("dear", {"terms": "dear"}, pricePerGPUHour="3"),
    a_pool("cheap", {"terms": "cheap"}, pricePerGPUHour="1"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_runs_already_is_kept_and_counts_as_the_jobs(scene: Scene, kind: str) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(kind, replicas=3)
    make(scene, target)
    before = uids(until_ready(scene, target, 3))
    job = a_targeting_job(target=target)
    scene.apply(job)
    status = until_places(scene, job, ["node"] * 3)
    assert scene.until(job, reason="Running")["readySummary"] == "3/3"
    assert condition(status, "Admitted")["status"] == "True"
    assert condition(status, "AbleToScale")["reason"] == "SucceededGetScale"
    other = an_inference_job("other", replicas=2)
    scene.apply(other)
    status = scene.until(other, readySummary="1/2")
    assert len(scene.pods_of(other)) == 1, "three of the four GPUs are taken, each once"
    assert "hold 3" in status["message"]
    assert uids(pods_of_workload(scene, target)) == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_follows_the_count_and_no_further_than_there_is_room(
    scene: Scene, kind: str
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(kind, replicas=1)
    make(scene, target)
    job = a_targeting_job(target=target, replicas=3)
    scene.apply(job)
    until_ready(scene, target, 3)
    until_places(scene, job, ["node"] * 3)
    scale(scene, job, 6)
    until_ready(scene, target, 4)
    assert count(scene, target) == 4
    scale(scene, job, 1)
    until_ready(scene, target, 1)
    scale(scene, job, 0)
    until_ready(scene, target, 0)
    scene.until(job, reason="ScaledToZero")


@pytest.mark.parametrize("kind", KINDS)
def test_gated_pods_run_where_the_plan_says(scene: Scene, kind: str) -> None:
    scene.add_nodes(fake_node("a", gpus=3, labels={"terms": "dear"}))
    scene.add_nodes(fake_node("b", gpus=2, labels={"terms": "cheap"}))
    scene.apply(*PRICES)
    target = a_workload(kind, replicas=2, gated=True)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    assert nodes_of(until_ready(scene, target, 2)) == ["b", "b"]
    until_places(scene, job, ["b", "b"])
    scale(scene, job, 4)
    assert nodes_of(until_ready(scene, target, 4)) == ["a", "a", "b", "b"]
    until_places(scene, job, ["a", "a", "b", "b"])


def test_gated_pods_wait_while_there_is_no_room(scene: Scene) -> None:
    target = a_workload(replicas=1, gated=True)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    scene.until(job, reason="CannotFit")
    (pod,) = pods_of_workload(scene, target)
    assert pod["spec"]["schedulingGates"] == [{"name": "plimsoll.dev/placement"}]
    scene.add_nodes(fake_node("node", gpus=1))
    assert nodes_of(until_ready(scene, target, 1)) == ["node"]


@pytest.mark.slow
@pytest.mark.parametrize("gated", [False, True])
def test_the_dearest_go_first(scene: Scene, *, gated: bool) -> None:
    scene.add_nodes(fake_node("a", gpus=2, labels={"terms": "dear"}))
    scene.apply(*PRICES)
    target = a_workload(replicas=2, gated=gated)
    make(scene, target)
    job = a_targeting_job(target=target, replicas=2)
    scene.apply(job)
    until_ready(scene, target, 2)
    scene.add_nodes(fake_node("b", gpus=2, labels={"terms": "cheap"}))
    scale(scene, job, 4)
    assert nodes_of(until_ready(scene, target, 4)) == ["a", "a", "b", "b"]
    until_places(scene, job, ["a", "a", "b", "b"])
    scale(scene, job, 2)
    assert nodes_of(until_ready(scene, target, 2)) == ["b", "b"]
    until_places(scene, job, ["b", "b"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_gated_target_gives_way_and_comes_back(scene: Scene, kind: str) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    target = a_workload(kind, replicas=2, gated=True)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    until_ready(scene, target, 2)
    urgent = an_inference_job("urgent", replicas=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.running(urgent)
    until_ready(scene, target, 0)
    scene.delete(urgent)
    until_ready(scene, target, 2)
    scene.until(job, reason="Running")


@pytest.mark.slow
def test_what_kube_scheduler_placed_gives_way_to_nobody(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    target = a_workload(replicas=2)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    scene.until(job, reason="Running")
    before = uids(pods_of_workload(scene, target))
    urgent = an_inference_job("urgent", replicas=2, priorityClassName="urgent")
    scene.apply(a_priority_class("urgent", 1000), urgent)
    assert "must not be moved" in scene.until(urgent, reason="InsufficientGPUs")["message"]
    assert uids(pods_of_workload(scene, target)) == before


@pytest.mark.slow
def test_gated_pods_of_a_drained_node_go_on_elsewhere(scene: Scene) -> None:
    scene.add_nodes(fake_node("leaves", gpus=1))
    target = a_workload(gated=True)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    (pod,) = until_ready(scene, target, 1)
    scene.add_nodes(fake_node("stays", gpus=1))
    scene.node("leaves", {"spec": {"unschedulable": True}})
    scene.api.delete(scene.path("Pod", name_of(pod)))
    wait_until(
        lambda: nodes_of(pods_of_workload(scene, target)) == ["stays"],
        timeout_seconds=SECONDS,
        what="it is elsewhere",
    )
    until_places(scene, job, ["stays"])


@pytest.mark.slow
def test_a_template_rolls_out_behind_the_gate(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    target = a_workload(replicas=2, gated=True)
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    old = uids(until_ready(scene, target, 2))
    note = {"metadata": {"annotations": {"version": "2"}}}
    scene.api.merge(path_of(scene, target), {"spec": {"template": note}})
    wait_until(
        lambda: not old.keys() & uids(pods_of_workload(scene, target)).keys(),
        timeout_seconds=SECONDS,
        what="no old pod is left",
    )
    until_ready(scene, target, 2)
    until_places(scene, job, ["node", "node"])


@pytest.mark.slow
def test_who_changes_the_count_again_and_again_has_his_way_and_is_named(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=6))
    target = a_workload()
    make(scene, target)
    job = a_targeting_job(target=target, replicas=2)
    scene.apply(job)
    until_ready(scene, target, 2)
    for _ in range(2):
        until_reached(scene, job)
        set_count(scene, target, 4)
        wait_until(
            lambda: count(scene, target) == 2, timeout_seconds=SECONDS, what="it is set right"
        )
    until_reached(scene, job)
    set_count(scene, target, 3)
    (event,) = scene.events(job, "TargetContested")
    assert ", last to 3: it is left alone until" in event["note"]
    assert condition(scene.status(job), "AbleToScale")["reason"] == "TargetContested"
    until_ready(scene, target, 3)
    until_places(scene, job, ["node"] * 3)
    assert count(scene, target) == 3


def until_reached(scene: Scene, job: Manifest) -> None:
    """Wait until the job has seen that its target has the count that was written to it."""
    wait_until(
        lambda: scene.status(job).get("target", {}).get("reached"),
        timeout_seconds=SECONDS,
        what="the target has its count",
    )


def test_a_suspended_job_has_its_target_at_zero_and_a_deleted_one_leaves_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    target = a_workload(replicas=2)
    make(scene, target)
    job = a_targeting_job(target=target, replicas=2)
    scene.apply(job)
    pods = uids(until_ready(scene, target, 2))
    scene.edit(job, {"suspend": True})
    until_ready(scene, target, 0)
    assert "placement" not in scene.until(job, reason="Suspended")
    scene.edit(job, {"suspend": False})
    pods = uids(until_ready(scene, target, 2))
    scene.until(job, reason="Running")
    scene.delete(job)
    late = an_inference_job("late", replicas=1)
    scene.apply(late)
    scene.until(late, reason="CannotFit")
    assert uids(pods_of_workload(scene, target)) == pods


@pytest.mark.slow
def test_what_stands_in_the_way_of_a_target_is_reported_and_goes_with_its_cause(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    target = a_workload()
    job = a_targeting_job(target=target)
    scene.apply(job)
    said = scene.until(job, reason="FailedGetScale")["message"]
    assert said == "there is no Deployment web: create it, or correct spec.targetRef"
    make(scene, target)
    scene.until(job, reason="Running")
    second = a_targeting_job("second", target=target)
    scene.apply(second)
    assert "InferenceJob serve" in scene.until(second, reason="AmbiguousSelector")["message"]
    no_gpus = a_workload(name="plain", gpus=0)
    make(scene, no_gpus)
    third = a_targeting_job("third", target=no_gpus)
    scene.apply(third)
    assert "asks for no GPU" in scene.until(third, reason="InvalidSpec")["message"]
    unknown = a_targeting_job("fourth", target={**target, "kind": "Deploiment"})
    scene.apply(unknown)
    said = scene.until(unknown, reason="FailedGetScale")["message"]
    assert said.startswith("apps/v1 has no kind Deploiment with a /scale")


def test_what_kueue_takes_over_is_left_to_it(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(replicas=2)
    make(scene, target)
    scene.apply(a_targeting_job(target=target, replicas=2))
    until_places(scene, a_targeting_job(), ["node", "node"])
    label = {"kueue.x-k8s.io/queue-name": "team"}
    scene.api.merge(path_of(scene, target), {"metadata": {"labels": label}})
    said = scene.until(a_targeting_job(), reason="ManagedElsewhere")["message"]
    assert said.startswith("Deployment web has the label kueue.x-k8s.io/queue-name")
    scene.apply(a_targeting_job(target=target, replicas=4))
    scene.until(a_targeting_job(), reason="ManagedElsewhere", observedGeneration=2)
    assert count(scene, target) == 2


@pytest.mark.slow
def test_pods_that_kueue_would_hold_are_not_made(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_training_job("train", template=a_template(labels={"kueue.x-k8s.io/queue-name": "team"}))
    scene.apply(job)
    said = scene.until(job, reason="ManagedElsewhere")["message"]
    assert said.startswith("spec.workers.template has the label kueue.x-k8s.io/queue-name")
    assert scene.pods_of(job) == []


@pytest.mark.slow
def test_in_advise_mode_nothing_is_touched(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    scene.apply(a_policy(mode="Advise"))
    scene.until(a_policy(), observedGeneration=1)
    target, gated = a_workload(replicas=2), a_workload(name="gated", gated=True)
    make(scene, target)
    make(scene, gated)
    until_ready(scene, target, 2)
    job, other = a_targeting_job(target=target, replicas=1), a_targeting_job("g", target=gated)
    scene.apply(job, other)

    def actions() -> list[str]:
        actions = scene.status(a_policy()).get("actions", [])
        return sorted(f"{each['action']} {each['job'].rpartition('/')[2]}" for each in actions)

    wait_until(
        lambda: actions() == ["Admit g", "Resize serve"],
        timeout_seconds=SECONDS,
        what="what would be done is reported",
    )
    assert count(scene, target) == 2
    assert pods_of_workload(scene, gated)[0]["spec"]["schedulingGates"]
    assert scene.status(job) == scene.status(other) == {}


@pytest.mark.slow
def test_the_example_runs(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", L4, gpus=4))
    scene.apply(a_queue("production"), a_priority_class("serving", 1000))
    target, job = manifests_in(EXAMPLE.read_text())
    make(scene, target)
    scene.apply(job)
    assert nodes_of(until_ready(scene, target, 2)) == ["node", "node"]
    scene.until(job, reason="Running")


@pytest.mark.slow
def test_what_a_job_waits_for_may_be_a_target_that_runs(
    scene: Scene, control_plane: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(replicas=3)
    make(scene, target)
    job, waits = a_targeting_job(target=target), an_inference_job("waits", gpus=2)
    scene.apply(job)
    until_places(scene, job, ["node"] * 3)
    scene.apply(waits)
    scene.until(waits, reason="InsufficientGPUs")
    cluster = ("--kubeconfig", str(control_plane.kubeconfig))
    ran = run(capsys, "explain", "waits", "-n", scene.namespace, *cluster)
    assert "jobs that must not be moved hold 3" in ran.out


@pytest.fixture
def model_servers(api: ApiServer, namespace: str) -> Iterator[str]:
    """Where objects of a kind with a `/scale` are, which nobody but the test controls."""
    with a_scalable_kind(api, "test.example", "ModelServer") as root:
        yield f"{root}/namespaces/{namespace}/modelservers"


@pytest.mark.slow
def test_any_kind_with_a_scale_can_be_a_target(scene: Scene, model_servers: str) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    plain = a_workload(replicas=1, gated=True)
    target = {**plain, "apiVersion": "test.example/v1", "kind": "ModelServer"}
    made = scene.api.create(model_servers, target)
    job = a_targeting_job(target=target, replicas=2)
    scene.apply(job)
    assert "names no selector" in scene.until(job, reason="FailedGetScale")["message"]
    scene.api.merge(f"{model_servers}/web/status", {"status": {"selector": "app=web"}})
    wait_until(
        lambda: scene.api.get(f"{model_servers}/web")["spec"]["replicas"] == 2,
        timeout_seconds=SECONDS,
        what="it is scaled",
    )
    template = plain["spec"]["template"]
    owner = {"apiVersion": "test.example/v1", "kind": "ModelServer", "name": "web"}
    owner |= {"uid": made["metadata"]["uid"], "controller": True}
    for name in ("web-x", "web-y"):
        meta = {**template["metadata"], "name": name, "ownerReferences": [owner]}
        pod = {**template, "metadata": meta}
        scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", pod)
    assert nodes_of(until_ready(scene, target, 2)) == ["node", "node"]
    until_places(scene, job, ["node", "node"])
    scene.until(job, reason="Running")
