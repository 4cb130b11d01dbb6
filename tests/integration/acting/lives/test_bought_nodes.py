"""Nodes are bought for jobs that wait, from Karpenter itself, and given back once they are idle."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from plimsoll.kube.objects.times import rfc3339
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, NODES, fake_node
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.karpenter.instance_types import (
    NETWORK_DEVICE,
    ON_DEMAND,
    ONE_L4,
    SPOT,
)
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, NODE_POOLS, Karpenter, Limit
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.bought_nodes import a_pool_of
from support.clusters.node_claims import NodeClaims
from support.clusters.scene import SECONDS, Scene, gpu_limits
from support.objects.bought_nodes import LABEL
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_template,
    a_training_job,
    an_inference_job,
    without_speeds,
)
from support.objects.karpenter import a_node_pool
from support.programs.cli_runs import run, written

OPERATOR_ENVIRONMENT = {"PLIMSOLL_BUYS_NODES": "true"}
# It serves the kind. It comes first, so that what it has made goes last: while there are pools and
# jobs, nodes would be ordered again.
pytestmark = pytest.mark.usefixtures("karpenter")


@pytest.fixture
def claims(karpenter: Karpenter, scene: Scene) -> NodeClaims:
    """What Karpenter has; its nodes come up at once."""
    del karpenter
    found = NodeClaims(scene.api, scene.namespace)
    found.set_boot_time(0)
    return found


def orders(api: ApiServer) -> list[str]:
    """The names of all NodeClaims."""
    return sorted(each["metadata"]["name"] for each in api.items(NODE_CLAIMS))


def pool_events(scene: Scene, pool: str, reason: str) -> list[Manifest]:
    """Wait until something was said of a pool for this reason; the Events that say it."""
    uid = scene.api.get(scene.path("GPUPool", pool))["metadata"]["uid"]
    path = f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid}"

    def said() -> list[Manifest]:
        return [each for each in scene.api.items(path) if each["reason"] == reason]

    return wait_until(said, timeout_seconds=SECONDS, what=f"{pool}: {reason} is said")


def until_given_back(scene: Scene) -> None:
    """Wait until there is neither a NodeClaim nor a node of one."""

    def nothing_is_left() -> bool:
        nodes = scene.api.items(NODES)
        return not orders(scene.api) and not any(LABEL in n["metadata"]["labels"] for n in nodes)

    wait_until(nothing_is_left, timeout_seconds=SECONDS, what="all nodes are given back")


def until_advised(scene: Scene, pool: Manifest, nodes: int) -> None:
    """Wait until a pool's status says that so many nodes would be bought."""
    wait_until(
        lambda: scene.status(pool).get("provisioning", {}).get("advisedNodes", 0) == nodes,
        timeout_seconds=SECONDS,
        what=f"{nodes} nodes are advised",
    )


def labels_of(scene: Scene, nodes: Sequence[str], label: str) -> list[str]:
    """What a label says on each of these nodes."""
    return sorted(
        scene.api.get(f"{NODES}/{name}")["metadata"]["labels"][label] for name in {*nodes}
    )


def test_a_gang_that_fits_nowhere_gets_nodes_which_go_when_it_has_gone(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    gang, pool = a_training_job("gang", workers=2, gpus=8), a_pool_of("h100")
    scene.apply(pool, gang)
    running = scene.running(gang)
    assert len({*running.nodes}) == 2
    assert orders(scene.api) == ["h100-1", "h100-2"]
    (said,) = {event["note"] for event in scene.events(gang, "Provisioning")}
    assert said.startswith("waits for 2 nodes of GPUPool h100")
    reasons = {event["reason"] for event in scene.all_events(gang)}
    assert "CannotFit" not in reasons, "its nodes come"
    assert gpu_limits(running.pods) == [{"nvidia.com/gpu": "8"}] * 2
    scene.delete(gang)
    until_given_back(scene)
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


@pytest.mark.slow
def test_a_gang_that_names_no_type_gets_nodes_of_one_of_which_there_is_none(
    scene: Scene, claims: NodeClaims
) -> None:
    """It has a place as soon as the nodes' GPUs are reported, which is after they have come."""
    del claims
    gang = without_speeds(a_training_job("gang", workers=2, gpus=8))
    scene.apply(a_pool_of("h100"), gang)
    assert len({*scene.running(gang).nodes}) == 2
    assert orders(scene.api) == ["h100-1", "h100-2"]


@pytest.mark.slow
def test_nodes_are_bought_with_the_network_devices_that_their_pool_promises(
    scene: Scene, claims: NodeClaims
) -> None:
    """A pool that promises none may have some: nobody knows before its nodes are there."""
    del claims
    template = a_template()
    limits = {NETWORK_DEVICE: "32"}
    template["spec"]["containers"][0]["resources"] = {"limits": limits}
    gang = a_training_job("gang", workers=2, gpus=8, template=template)
    scene.apply(a_pool_of("silent", price="1"), gang)
    scene.until(gang, reason="CannotFit")
    scene.apply(a_pool_of("wired", price="2", resources=limits))
    running = scene.running(gang)
    assert labels_of(scene, running.nodes, LABEL) == ["wired", "wired"]
    assert orders(scene.api) == ["wired-1", "wired-2"]
    (order, _) = scene.api.items(NODE_CLAIMS)
    assert order["spec"]["resources"]["requests"] == {"nvidia.com/gpu": "8", **limits}


@pytest.mark.slow
def test_jobs_share_a_node_as_far_as_they_fit_on_it(scene: Scene, claims: NodeClaims) -> None:
    del claims
    jobs = [a_training_job(f"job-{n}", gpus=2) for n in range(4)]
    scene.apply(a_pool_of("h100"), *jobs)
    nodes = {node for job in jobs for node in scene.running(job).nodes}
    assert len(nodes) == 1
    assert orders(scene.api) == ["h100-1"]


@pytest.mark.slow
def test_of_four_nodes_three_can_be_had_and_the_fourth_comes_from_elsewhere(
    scene: Scene, karpenter: Karpenter, claims: NodeClaims
) -> None:
    del claims
    karpenter.limit(Limit(3, zone="zone-a"))
    gang = a_training_job("gang", workers=4, gpus=8)
    near, far = a_pool_of("near", price="2"), a_pool_of("far", zone="zone-b", price="3")
    scene.apply(near, far, gang)
    running = scene.running(gang)
    assert labels_of(scene, running.nodes, LABEL) == ["far", "near", "near", "near"]
    (said,) = pool_events(scene, "near", "NodeNotToBeHad")
    assert said["message"].startswith("NodeClaim near-")


@pytest.mark.slow
def test_spot_that_is_short_is_replaced_by_what_is_on_demand(
    scene: Scene, karpenter: Karpenter, claims: NodeClaims
) -> None:
    del claims
    karpenter.limit(Limit(0, capacity_type=SPOT))
    job = a_training_job("job", gpus=8, spot={"allowed": True})
    spot, steady = a_pool_of("spot", option="Spot", price="1"), a_pool_of("steady", price="3")
    scene.apply(spot, steady, job)
    running = scene.running(job)
    assert labels_of(scene, running.nodes, CAPACITY_TYPE) == [ON_DEMAND]
    assert pool_events(scene, "spot", "NodeNotToBeHad")


@pytest.mark.slow
def test_no_more_is_spent_than_the_budget(scene: Scene, claims: NodeClaims) -> None:
    del claims
    first, second = (a_training_job(name, gpus=8) for name in ("first", "second"))
    scene.apply(a_policy(purchasing={"mostPerHour": "20"}), a_pool_of("h100", price="2"), first)
    scene.running(first)
    scene.apply(second)
    wait_until(
        lambda: "mostPerHour" in scene.status(second).get("message", ""),
        timeout_seconds=SECONDS,
        what="it says that the budget is used up",
    )
    assert (
        "for 16.00 an hour: purchasing.mostPerHour of the PlacementPolicy leaves 4.00"
        in (scene.status(second)["message"])
    )
    assert orders(scene.api) == ["h100-1"]
    scene.apply(a_policy(purchasing={"mostPerHour": "32"}))
    scene.running(second)


@pytest.mark.slow
def test_a_node_that_boots_is_waited_for_and_not_bought_again(
    scene: Scene, claims: NodeClaims
) -> None:
    hour = timedelta(hours=1)
    claims.set_boot_time(int(hour.total_seconds()))
    job, pool = a_training_job("job", gpus=8), a_pool_of("h100")
    scene.apply(pool, job)
    scene.until(job, reason="Provisioning")
    wait_until(
        lambda: ", ordered at" in scene.status(job)["message"],
        timeout_seconds=SECONDS,
        what="it says since when",
    )
    other = a_training_job("other", gpus=8, queue="unknown")
    scene.apply(other)
    scene.until(other, reason="QueueNotFound")
    assert orders(scene.api) == ["h100-1"]
    assert scene.status(pool)["provisioning"]["ordered"] == ["h100-1"]


@pytest.mark.slow
def test_who_asks_the_running_cluster_hears_what_is_on_its_way_and_what_is_to_be_bought(
    scene: Scene,
    claims: NodeClaims,
    control_plane: Cluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    claims.set_boot_time(3600)
    job, other = a_training_job("job", gpus=8), a_training_job("other", gpus=8)
    scene.apply(a_pool_of("h100"), job)
    wait_until(
        lambda: orders(scene.api) == ["h100-1"], timeout_seconds=SECONDS, what="it is ordered"
    )
    cluster = ("--kubeconfig", str(control_plane.kubeconfig), "-o", "json")
    ran = run(capsys, "explain", "job", "-n", scene.namespace, *cluster)
    purchase = json.loads(ran.out)["job"]["purchase"]
    assert (purchase["ordered"], purchase["nodes"]) == ({"h100": 1}, {})
    other["metadata"]["namespace"] = scene.namespace
    ran = run(capsys, "simulate", "-f", written(tmp_path, "job.yaml", other), *cluster)
    (applied,) = json.loads(ran.out)["applied"]
    purchase = applied["why"]["job"]["purchase"]
    assert (purchase["ordered"], purchase["nodes"]) == ({}, {"h100": 1})
    assert orders(scene.api) == ["h100-1"]


@pytest.mark.slow
def test_a_node_that_is_lost_while_it_comes_up_is_replaced_from_elsewhere(
    scene: Scene, claims: NodeClaims
) -> None:
    claims.set_boot_time(3600)
    job, near = a_training_job("job", gpus=8), a_pool_of("near", price="2")
    far = a_pool_of("far", zone="zone-b", price="3")
    scene.apply(near, far, job)
    wait_until(
        lambda: orders(scene.api) == ["near-1"], timeout_seconds=SECONDS, what="it is ordered"
    )
    claims.set_boot_time(0)
    scene.api.delete(f"{NODE_CLAIMS}/near-1")
    running = scene.running(job)
    assert labels_of(scene, running.nodes, LABEL) == ["far"]


@pytest.mark.slow
def test_the_fewest_nodes_are_there_without_any_job(scene: Scene, claims: NodeClaims) -> None:
    del claims
    pool = a_pool_of("l4", ONE_L4, min=2)
    scene.apply(pool)
    scene.until(pool, nodesReady=2)
    assert orders(scene.api) == ["l4-1", "l4-2"]
    scene.edit(pool, {"provisioning": {"min": 0}})
    until_given_back(scene)


@pytest.mark.slow
def test_a_spare_node_is_there_before_any_job_and_replaced_once_a_job_has_it(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    pool, job = a_pool_of("l4", ONE_L4, headroom=1), a_training_job("job", rates={L4: 1})
    scene.apply(pool)
    scene.until(pool, nodesReady=1)
    scene.apply(job)
    scene.running(job)
    scene.until(pool, nodesReady=2)
    scene.delete(job)
    wait_until(
        lambda: len(orders(scene.api)) == 1, timeout_seconds=SECONDS, what="one is given back"
    )


@pytest.mark.slow
def test_a_half_empty_node_is_emptied_once_its_job_fits_elsewhere(
    scene: Scene, claims: NodeClaims
) -> None:
    """A job that waits for what nobody has keeps no node."""
    del claims
    too_large = a_training_job("too-large", gpus=9)
    pool = a_pool_of("h100", price="200", idleTime="1h", startTime="1s")
    first, second, small = (
        a_training_job(name, gpus=gpus) for name, gpus in (("a", 5), ("b", 5), ("c", 3))
    )
    scene.apply(pool, first, too_large)
    (left,) = {*scene.running(first).nodes}
    scene.until(too_large, reason="CannotFit")
    scene.apply(small)
    assert {*scene.running(small).nodes} == {left}
    scene.apply(second)
    (kept,) = {*scene.running(second).nodes}
    scene.delete(first)
    wait_until(
        lambda: not scene.api.exists(f"{NODES}/{left}"),
        timeout_seconds=SECONDS,
        what="the half-empty node is given back",
    )
    assert {*scene.running(small).nodes} == {kept}
    wait_until(lambda: len(orders(scene.api)) == 1, timeout_seconds=SECONDS, what="so is its order")
    (said,) = {event["note"] for event in scene.events(small, "Migrated")}
    assert said.startswith(f"left {left} (NodeEmptied), now ")
    assert len(scene.status(small)["disruptionTimes"]) == 1


@pytest.mark.slow
def test_a_node_is_replaced_by_one_that_can_be_had_for_less(
    scene: Scene, claims: NodeClaims
) -> None:
    """The new node comes first; nothing is bought for a job twice."""
    del claims
    dear = a_pool_of("dear", price="200", startTime="1s")
    job = a_training_job("job", gpus=4)
    scene.apply(dear, job)
    (left,) = {*scene.running(job).nodes}
    scene.apply(a_pool_of("cheap", price="2", startTime="1s"))
    wait_until(
        lambda: not scene.api.exists(f"{NODES}/{left}"),
        timeout_seconds=SECONDS,
        what="the dear node is given back",
    )
    (now,) = {*scene.running(job).nodes}
    assert labels_of(scene, [now], LABEL) == ["cheap"]
    (said,) = pool_events(scene, "cheap", "NodeOrdered")
    assert said["message"] == f"NodeClaim cheap-1: the jobs of {left} gain by it, which then goes"
    wait_until(
        lambda: orders(scene.api) == ["cheap-1"], timeout_seconds=SECONDS, what="its order is gone"
    )
    assert len(scene.status(job)["disruptionTimes"]) == 1


@pytest.mark.slow
def test_a_gang_moves_to_a_cheaper_node_for_a_service_that_lacks_its_gpu(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    gang = a_training_job("gang", rates={H100: 1, L4: 1})
    service = an_inference_job("serve", priorityClassName="urgent")
    scene.add_nodes(fake_node("own", gpus=2))
    scene.apply(a_priority_class("urgent", 1000), gang, service)
    assert scene.running(gang).nodes == scene.running(service).nodes == ["own"]
    dear, cheap = a_pool_of("dear", price="10"), a_pool_of("cheap", ONE_L4, price="0.5")
    scene.apply(dear, cheap)
    role = service["spec"]["roles"][0] | {"replicas": {"min": 2, "max": 2}}
    scene.edit(service, {"roles": [role]})
    scene.until(service, readySummary="2/2")
    assert scene.running(service).nodes == ["own", "own"]
    assert labels_of(scene, scene.running(gang).nodes, LABEL) == ["cheap"]
    assert orders(scene.api) == ["cheap-1"]


@pytest.mark.slow
def test_a_gang_that_fills_its_node_grows_onto_one_that_is_bought(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    pool = a_pool_of("h100", price="1", idleTime="1h", startTime="1s", max=1)
    gang = a_training_job("gang", workers=(8, 16), rates={H100: {8: 8, 16: 16}})
    scene.apply(pool, gang)
    (first,) = {*scene.running(gang).nodes}
    scene.apply(a_pool_of("h100", price="1", idleTime="1h", startTime="1s", max=3))
    scene.until(gang, workerCount=16)
    assert len({*scene.running(gang).nodes} - {first}) == 1
    assert orders(scene.api) == ["h100-1", "h100-2"], "it grows no further"


@pytest.mark.slow
def test_how_long_a_node_was_idle_is_known_after_a_restart(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    job = a_training_job("job", rates={L4: 1})
    scene.apply(a_pool_of("l4", ONE_L4, idleTime="1h"), job)
    scene.running(job)
    (claim,) = (f"{NODE_CLAIMS}/{name}" for name in orders(scene.api))
    scene.delete(job)
    wait_until(lambda: not scene.pods_of(job), timeout_seconds=SECONDS, what="its pod is gone")
    wait_until(
        lambda: "lastPodEventTime" in scene.api.get(claim)["status"],
        timeout_seconds=SECONDS,
        what="Karpenter says when a pod last came or went",
    )
    scene.operator.kill()
    long_ago = rfc3339(datetime.now(UTC) - timedelta(hours=2))
    scene.api.merge(f"{claim}/status", {"status": {"lastPodEventTime": long_ago}})
    scene.operator.start()
    until_given_back(scene)


@pytest.mark.slow
def test_a_node_that_is_too_old_is_replaced_and_given_back(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    pool = a_pool_of("l4", ONE_L4, min=1, idleTime="1h")
    scene.apply(pool)
    scene.until(pool, nodesReady=1)
    (first,) = orders(scene.api)
    scene.edit(pool, {"provisioning": {"maxAge": "20s"}})
    wait_until(
        lambda: orders(scene.api) and first not in orders(scene.api),
        timeout_seconds=SECONDS,
        what="the old node is replaced",
    )
    scene.edit(pool, {"provisioning": {"maxAge": "1h"}})
    scene.until(pool, nodesReady=1)
    wait_until(
        lambda: scene.status(pool)["provisioning"].get("startTime"),
        timeout_seconds=SECONDS,
        what="the pool says how long its nodes take to start",
    )
    assert scene.status(pool)["provisioning"]["idleTime"] == "1h"


@pytest.mark.slow
def test_what_others_have_from_karpenter_is_left_alone(scene: Scene, claims: NodeClaims) -> None:
    theirs = a_node_pool(
        "theirs", ONE_L4, consolidationPolicy="WhenEmpty", consolidateAfter="Never"
    )
    scene.api.create(NODE_POOLS, theirs)
    pod = claims.run(on={"karpenter.sh/nodepool": "theirs"})
    node = claims.until_runs(pod)["spec"]["nodeName"]
    before = orders(scene.api)
    job = a_training_job("job", gpus=8)
    scene.apply(a_pool_of("h100"), job)
    scene.running(job)
    scene.delete(job)
    scene.api.delete(pod)
    wait_until(
        lambda: orders(scene.api) == before, timeout_seconds=SECONDS, what="ours are given back"
    )
    assert scene.api.exists(f"{NODES}/{node}")


@pytest.mark.slow
def test_a_claim_that_karpenter_refuses_is_told_on_the_pool(
    scene: Scene, claims: NodeClaims
) -> None:
    pool, job = a_pool_of("h100"), a_training_job("job", gpus=8)
    wrong: Manifest = {"key": "example.com/rack", "operator": "In", "values": []}
    pool["spec"]["provisioning"]["nodeClaim"]["spec"]["requirements"].append(wrong)
    scene.apply(pool, job)
    said, *_ = pool_events(scene, "h100", "OrderRefused")
    assert "NodeClaim h100-1 cannot be created" in said["message"]
    del claims
    scene.add_nodes(fake_node("there"))
    scene.running(job)


def test_advice_says_on_policy_and_pool_what_would_be_bought(
    scene: Scene, claims: NodeClaims
) -> None:
    del claims
    policy, pool = a_policy(mode="Advise"), a_pool_of("h100", price="2")
    gang = a_training_job("gang", workers=2, gpus=8)
    scene.apply(policy, pool, gang)
    until_advised(scene, pool, 2)

    def said() -> list[str]:
        actions = scene.status(policy).get("actions", [])
        return [each["message"] for each in actions if each["job"].endswith("/gang")]

    start = "with 2 nodes of GPUPool h100 it could start after 5m, for 32.00 an hour"
    wait_until(
        lambda: any(f"{start}: plans are only advice" in each for each in said()),
        timeout_seconds=SECONDS,
        what="the policy's status says what would be bought",
    )
    assert orders(scene.api) == []
    scene.apply(a_policy(mode="Enforce"))
    scene.running(gang)
    until_advised(scene, pool, 0)
