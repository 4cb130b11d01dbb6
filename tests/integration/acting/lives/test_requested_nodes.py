"""Nodes are requested from cluster-autoscaler for jobs that wait, all that a gang needs or none."""

from collections.abc import Iterator

import pytest
import yaml

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.crds import DEFINITIONS, install_crds
from plimsoll_devcluster.fake_nodes import NODES, fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.cluster_autoscaler import (
    CRDS,
    KIND,
    REQUESTS,
    ClusterAutoscaler,
    cluster_autoscaler,
)
from support.clusters.scene import SECONDS, Scene
from support.objects.bought_nodes import LABEL, an_autoscaled_pool
from support.objects.job_manifests import a_policy, a_training_job

OPERATOR_ENVIRONMENT = {"PLIMSOLL_REQUESTS_NODES": "true"}
pytestmark = pytest.mark.usefixtures("provisioning_requests")  # the kind is served
EMPTIED = "status-taint.cluster-autoscaler.kubernetes.io/plimsoll-emptied"
EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@pytest.fixture
def autoscaler(scene: Scene) -> Iterator[ClusterAutoscaler]:
    """What makes nodes."""
    with cluster_autoscaler(scene.api) as found:
        yield found


def pool_events(scene: Scene, pool: str, reason: str) -> list[str]:
    """Wait until something was said of a pool for this reason; what was said."""
    uid = scene.api.get(scene.path("GPUPool", pool))["metadata"]["uid"]
    path = f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid}"

    def said() -> list[str]:
        return [each["message"] for each in scene.api.items(path) if each["reason"] == reason]

    return wait_until(said, timeout_seconds=SECONDS, what=f"{pool}: {reason} is said")


def until_requested(autoscaler: ClusterAutoscaler, *names: str) -> None:
    wait_until(
        lambda: autoscaler.names() == [*names],
        timeout_seconds=SECONDS,
        what=f"the requests are {names}",
    )


def until_nothing_is_requested(autoscaler: ClusterAutoscaler) -> None:
    wait_until(
        lambda: not autoscaler.names() and not autoscaler.templates(),
        timeout_seconds=SECONDS,
        what="the requests are gone with their templates",
    )


def nodes_of(api: ApiServer, pool: str) -> list[str]:
    return sorted(
        each["metadata"]["name"] for each in api.items(f"{NODES}?labelSelector={LABEL}={pool}")
    )


def taints(api: ApiServer, node: str) -> list[str]:
    """The keys of a node's taints."""
    return [each["key"] for each in api.get(f"{NODES}/{node}")["spec"].get("taints", ())]


def test_a_gang_of_four_gets_its_nodes_by_one_request(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    gang, pool = a_training_job("gang", workers=4, gpus=8), an_autoscaled_pool()
    scene.apply(pool, gang)
    running = scene.running(gang)
    assert len({*running.nodes}) == 4
    assert pool_events(scene, "h100", "NodeOrdered") == [
        "ProvisioningRequest plimsoll-system/h100-1 for 4 nodes"
    ]
    assert pool_events(scene, "h100", "NodeArrived")
    (said,) = {event["note"] for event in scene.events(gang, "Provisioning")}
    assert said.startswith("waits for 4 nodes of GPUPool h100")
    assert {pod["metadata"]["annotations"][EVICT] for pod in running.pods} == {"false"}
    until_nothing_is_requested(autoscaler)
    assert autoscaler.group("h100").made == 4
    assert scene.operator.metric("plimsoll_plans_refused_total") in (None, 0)


@pytest.mark.slow
def test_free_nodes_that_are_there_are_used_and_do_not_count_as_those_requested(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    scene.add_nodes(fake_node("there", labels={LABEL: "h100"}))
    gang = a_training_job("gang", workers=4, gpus=8)
    scene.apply(an_autoscaled_pool(), gang)
    running = scene.running(gang)
    assert len({*running.nodes}) == 4
    assert "there" in running.nodes
    assert autoscaler.group("h100").made == 3


@pytest.mark.slow
def test_gangs_wait_for_requests_of_their_own(scene: Scene, autoscaler: ClusterAutoscaler) -> None:
    autoscaler.group("h100").room = 4
    gangs = [a_training_job(f"gang-{n}", workers=3, gpus=8) for n in range(2)]
    scene.apply(an_autoscaled_pool(), *gangs)
    scene.running(gangs[0])
    assert pool_events(scene, "h100", "NodeNotToBeHad")
    assert nodes_of(scene.api, "h100") == [f"h100-node-{n}" for n in (1, 2, 3)]


def test_where_there_are_too_few_for_all_the_next_pool_is_tried(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    autoscaler.group("near").room = 3
    gang = a_training_job("gang", workers=4, gpus=8)
    near, far = an_autoscaled_pool("near", price="2"), an_autoscaled_pool("far", price="3")
    scene.apply(near, far, gang)
    running = scene.running(gang)
    assert {name.split("-")[0] for name in running.nodes} == {"far"}
    said, *_ = pool_events(scene, "near", "NodeNotToBeHad")
    assert said.startswith("ProvisioningRequest near-1 is not met (Provisioned is False): other")
    assert nodes_of(scene.api, "near") == []
    until_nothing_is_requested(autoscaler)


@pytest.mark.slow
def test_no_more_is_spent_than_the_budget(scene: Scene, autoscaler: ClusterAutoscaler) -> None:
    first, second = (a_training_job(name, workers=2, gpus=8) for name in ("first", "second"))
    budget = a_policy(purchasing={"mostPerHour": "40"})
    scene.apply(budget, an_autoscaled_pool(price="2"), first)
    scene.running(first)
    until_nothing_is_requested(autoscaler)
    scene.apply(second)
    wait_until(
        lambda: (
            "mostPerHour of the PlacementPolicy leaves 8.00"
            in scene.status(second).get("message", "")
        ),
        timeout_seconds=SECONDS,
        what="it says that the budget is used up",
    )
    assert nodes_of(scene.api, "h100") == ["h100-node-1", "h100-node-2"]
    scene.apply(a_policy(purchasing={"mostPerHour": "64"}))
    scene.running(second)


@pytest.mark.slow
def test_nodes_that_boot_are_waited_for_and_not_requested_again(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    autoscaler.group("h100").slow = True
    gang, pool = a_training_job("gang", workers=2, gpus=8), an_autoscaled_pool()
    scene.apply(pool, gang)
    until_requested(autoscaler, "h100-1")
    other = a_training_job("other", gpus=8, queue="unknown")
    scene.apply(other)
    scene.until(other, reason="QueueNotFound")
    wait_until(
        lambda: scene.status(pool).get("provisioning", {}).get("ordered") == ["h100-1"],
        timeout_seconds=SECONDS,
        what="the pool says what is ordered",
    )
    assert autoscaler.names() == ["h100-1"]
    third = a_training_job("third", gpus=8)
    scene.apply(third)
    until_requested(autoscaler, "h100-1", "h100-2")
    autoscaler.group("h100").slow = False
    scene.running(gang)
    scene.running(third)
    assert autoscaler.group("h100").made == 3


@pytest.mark.slow
@pytest.mark.parametrize("condition", ["CapacityRevoked", "Failed"])
def test_what_is_revoked_before_it_has_come_is_replaced_from_elsewhere(
    scene: Scene, autoscaler: ClusterAutoscaler, condition: str
) -> None:
    autoscaler.group("near").slow = True
    gang = a_training_job("gang", workers=2, gpus=8)
    near, far = an_autoscaled_pool("near", price="2"), an_autoscaled_pool("far", price="3")
    scene.apply(near, far, gang)
    until_requested(autoscaler, "near-1")
    autoscaler.say("near-1", condition)
    running = scene.running(gang)
    assert {name.split("-")[0] for name in running.nodes} == {"far"}


@pytest.mark.slow
def test_a_booking_that_expires_before_the_nodes_have_come_is_a_shortage(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    autoscaler.group("near").slow = True
    gang, soon = a_training_job("gang", workers=2, gpus=8), {"startTime": "1s"}
    near = an_autoscaled_pool("near", price="2", provisioning=soon)
    scene.apply(near, an_autoscaled_pool("far", price="3"), gang)
    until_requested(autoscaler, "near-1")
    autoscaler.say("near-1", "BookingExpired")
    scene.running(gang)
    said, *_ = pool_events(scene, "near", "NodeNotToBeHad")
    assert "is not met (of its 2 nodes only 0 have come in time)" in said


@pytest.mark.slow
def test_requests_of_others_are_left_alone_and_their_names_not_used(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    autoscaler.deaf = True
    pods = {"podTemplateRef": {"name": "theirs"}, "count": 1}
    spec = {"provisioningClassName": "of.others", "podSets": [pods]}
    theirs = scene.api.create(
        REQUESTS,
        {
            "apiVersion": "autoscaling.x-k8s.io/v1",
            "kind": "ProvisioningRequest",
            "metadata": {"name": "h100-1"},
            "spec": spec,
        },
    )
    job = a_training_job("job", gpus=8)
    scene.apply(an_autoscaled_pool(), job)
    until_requested(autoscaler, "h100-1", "h100-2")
    autoscaler.say("h100-2", "Failed")
    until_requested(autoscaler, "h100-1")
    assert scene.api.get(f"{REQUESTS}/h100-1")["metadata"]["uid"] == theirs["metadata"]["uid"]


@pytest.mark.slow
def test_the_fewest_nodes_are_there_without_any_job(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    pool = an_autoscaled_pool(provisioning={"min": 2})
    scene.apply(pool)
    scene.until(pool, nodesReady=2)
    until_nothing_is_requested(autoscaler)
    autoscaler.api.delete(f"{NODES}/{nodes_of(scene.api, 'h100')[0]}")
    wait_until(
        lambda: len(nodes_of(scene.api, "h100")) == 2,
        timeout_seconds=SECONDS,
        what="another one has come",
    )
    assert autoscaler.group("h100").made == 3


@pytest.mark.slow
def test_a_half_empty_node_is_emptied_and_left_for_cluster_autoscaler_to_remove(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    pool = an_autoscaled_pool(price="200", provisioning={"startTime": "1s"})
    first, second, small = (
        a_training_job(name, gpus=gpus) for name, gpus in (("a", 5), ("b", 5), ("c", 3))
    )
    scene.apply(pool, first)
    (left,) = {*scene.running(first).nodes}
    scene.apply(small)
    assert {*scene.running(small).nodes} == {left}
    scene.apply(second)
    (kept,) = {*scene.running(second).nodes}
    scene.delete(first)
    wait_until(
        lambda: {*scene.running(small).nodes} == {kept}, timeout_seconds=SECONDS, what="it moves"
    )
    assert EMPTIED in taints(scene.api, left)
    autoscaler.removes = True
    wait_until(
        lambda: nodes_of(scene.api, "h100") == [kept], timeout_seconds=SECONDS, what="it is removed"
    )
    assert scene.running(small).nodes
    (said,) = {event["note"] for event in scene.events(small, "Migrated")}
    assert said.startswith(f"left {left} (NodeEmptied), now ")


@pytest.mark.slow
def test_an_emptied_node_is_used_again_by_who_waits_before_it_is_removed(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    pool, job = an_autoscaled_pool(price="2"), a_training_job("job", gpus=8)
    autoscaler.group("h100").room = 0
    taint = {"key": EMPTIED, "effect": "NoSchedule"}
    scene.add_nodes(fake_node("there", labels={LABEL: "h100"}, taints=(taint,)))
    scene.apply(pool, job)
    assert scene.running(job).nodes == ["there"]
    assert EMPTIED not in taints(scene.api, "there")
    assert autoscaler.names() == []
    uid = scene.api.get(scene.path("GPUPool", "h100"))["metadata"]["uid"]
    said = f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.uid={uid}"
    assert [each for each in scene.api.items(said) if each["reason"] == "NodeOrdered"] == []


@pytest.mark.slow
def test_a_node_that_is_too_old_is_replaced_while_it_is_still_there(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    """Its taint is not taken for one of the nodes to come."""
    del autoscaler
    pool = an_autoscaled_pool(provisioning={"min": 1})
    scene.apply(pool)
    scene.until(pool, nodesReady=1)
    (old,) = nodes_of(scene.api, "h100")
    scene.edit(pool, {"provisioning": {"maxAge": "30s"}})
    wait_until(
        lambda: len(nodes_of(scene.api, "h100")) > 1, timeout_seconds=SECONDS, what="one has come"
    )
    scene.edit(pool, {"provisioning": {"maxAge": "1h"}})
    assert old in nodes_of(scene.api, "h100")


@pytest.mark.slow
def test_nodes_of_a_tainted_group_are_had_for_jobs_that_tolerate_it(
    scene: Scene, autoscaler: ClusterAutoscaler
) -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    autoscaler.group("h100").taints = (taint,)
    job = a_training_job("job", gpus=8)
    scene.apply(an_autoscaled_pool(request={"taints": [taint]}), job)
    scene.running(job)


@pytest.mark.slow
def test_without_the_kind_jobs_say_what_would_let_them_start(
    scene: Scene, control_plane: Cluster
) -> None:
    (file,) = CRDS.glob("*.yaml")
    scene.api.delete(f"{DEFINITIONS}/{yaml.safe_load(file.read_text())['metadata']['name']}")
    wait_until(lambda: not scene.api.exists(KIND), timeout_seconds=SECONDS, what="it is not served")
    job = a_training_job("job", gpus=8)
    scene.apply(an_autoscaled_pool(price="2"), job)
    why = "cluster-autoscaler's ProvisioningRequests are not installed"
    text = f"with 1 node of GPUPool h100 it could start after 5m, for 16.00 an hour: {why}"
    wait_until(
        lambda: text in scene.status(job).get("message", ""),
        timeout_seconds=SECONDS,
        what="it says so",
    )
    install_crds(control_plane.api, CRDS)
    with cluster_autoscaler(scene.api):
        scene.running(job)
