"""Karpenter as it is: what becomes of claims of single nodes that belong to no pool of its own.

Its cloud is as scarce as a test wants, and its nodes are KWOK's.
"""

from dataclasses import replace
from datetime import datetime

import msgspec
import pytest

from plimsoll.kube.objects.objects import Node
from plimsoll.observe.nodes.gpus import Offer, gpu_offers
from plimsoll_devcluster.api_server import ApiServer, ApiServerRefusedError
from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, NODES, ZONE, ready_nodes
from plimsoll_devcluster.karpenter.instance_types import (
    EIGHT_A100,
    EIGHT_H100,
    INSTANCE_TYPES,
    ON_DEMAND,
    ONE_L4,
    SPOT,
    InstanceType,
)
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, NODE_POOLS, Karpenter, Limit
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from plimsoll_placement.model import GpuType
from support.clusters.node_claims import SECONDS, NodeClaims, condition_of, path_of
from support.objects.karpenter import INSTANCE_TYPE, a_node_claim, a_node_pool

pytestmark = pytest.mark.slow

LIFE = ("Launched", "Registered", "Initialized")
NODE_POOL = "karpenter.sh/nodepool"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
DISRUPTED = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
OWN = {"example.com/pool": "research"}
AN_HOUR = 3600


@pytest.fixture
def claims(karpenter: Karpenter, api: ApiServer, namespace: str) -> NodeClaims:
    """A cluster without nodes, in which Karpenter makes them at once."""
    del karpenter
    found = NodeClaims(api, namespace)
    found.set_boot_time(0)
    return found


@pytest.mark.parametrize("instance_type", INSTANCE_TYPES, ids=lambda each: each.name)
def test_a_claim_of_no_pool_becomes_a_ready_node_with_its_labels_and_gpus(
    claims: NodeClaims, instance_type: InstanceType
) -> None:
    asked = a_node_claim("it", instance_type, zones=["zone-b"], capacity_types=[SPOT], labels=OWN)
    (claim,) = claims.ask(asked)
    node = claims.node(claim)
    after = claims.now(claim)
    dates = [condition_of(after, each)["lastTransitionTime"] for each in LIFE]
    assert dates == sorted(dates)
    assert node["metadata"]["name"] in ready_nodes(claims.api)
    assert not node["spec"].get("taints")
    assert node["spec"]["providerID"] == after["status"]["providerID"]
    placed = {INSTANCE_TYPE: instance_type.name, ZONE: "zone-b", CAPACITY_TYPE: SPOT}
    for labels in (node["metadata"]["labels"], after["metadata"]["labels"]):
        assert {**asked["metadata"]["labels"], **placed}.items() <= labels.items()
        assert NODE_POOL not in labels
    offer = Offer(GpuType(instance_type.gpu_type), "nvidia.com/gpu", instance_type.gpus)
    assert gpu_offers(msgspec.convert(node, Node)) == (offer,)


def test_a_claim_never_changes_and_expires_after_thirty_days_unless_it_says_never(
    claims: NodeClaims,
) -> None:
    asked = a_node_claim()
    del asked["spec"]["expireAfter"]
    (claim,) = claims.ask(asked)
    assert claim["spec"]["expireAfter"] == "720h"
    with pytest.raises(ApiServerRefusedError, match="spec is immutable"):
        claims.api.merge(path_of(claim), {"spec": {"expireAfter": "Never"}})


def test_a_claim_for_which_there_is_no_capacity_is_deleted_unlaunched(
    claims: NodeClaims, karpenter: Karpenter
) -> None:
    karpenter.limit(Limit(0, EIGHT_H100.name, "zone-a", ON_DEMAND))
    since = claims.api.get(NODE_CLAIMS)["metadata"]["resourceVersion"]
    short, elsewhere = claims.ask(a_node_claim("a"), a_node_claim("b", zones=["zone-b"]))
    claims.until_short(short)
    for event in claims.api.watch(NODE_CLAIMS, since):
        if event["object"]["metadata"]["uid"] != short["metadata"]["uid"]:
            continue
        assert condition_of(event["object"], "Launched").get("status") != "True"
        if event["type"] == "DELETED":
            break
    claims.until(elsewhere, "Launched")


def test_of_four_nodes_three_arrive_and_the_fourth_once_there_is_another(
    claims: NodeClaims, karpenter: Karpenter
) -> None:
    karpenter.limit(Limit(3, zone="zone-a", capacity_type=ON_DEMAND))
    four = claims.ask(*(a_node_claim(f"claim-{number}") for number in range(4)))
    wait_until(
        lambda: sum(not claims.now(each) for each in four) == 1,
        timeout_seconds=SECONDS,
        what="one claim is gone",
    )
    (short,) = [each for each in four if not claims.now(each)]
    claims.until_short(short)
    for each in four:
        if each is not short:
            claims.node(each)
    karpenter.limit(Limit(4, zone="zone-a", capacity_type=ON_DEMAND))
    (again,) = claims.ask(a_node_claim("again"))
    claims.node(again)


def test_spot_is_short_and_on_demand_is_not(claims: NodeClaims, karpenter: Karpenter) -> None:
    karpenter.limit(Limit(0, capacity_type=SPOT))
    spot, on_demand = claims.ask(
        a_node_claim("spot", EIGHT_A100, capacity_types=[SPOT]),
        a_node_claim("on-demand", EIGHT_A100, capacity_types=[ON_DEMAND]),
    )
    claims.until_short(spot)
    assert claims.node(on_demand)["metadata"]["labels"][CAPACITY_TYPE] == ON_DEMAND


@pytest.mark.parametrize(
    ("limits", "zone", "capacity_type"),
    [
        ([], "zone-a", SPOT),
        ([Limit(0, zone="zone-a")], "zone-b", SPOT),
        ([Limit(0, capacity_type=SPOT), Limit(0, zone="zone-b")], "zone-a", ON_DEMAND),
    ],
)
def test_a_claim_that_allows_several_gets_the_cheapest_that_is_left(
    claims: NodeClaims,
    karpenter: Karpenter,
    limits: list[Limit],
    zone: str,
    capacity_type: str,
) -> None:
    karpenter.limit(*limits)
    both = a_node_claim(zones=["zone-a", "zone-b"], capacity_types=[SPOT, ON_DEMAND])
    (claim,) = claims.ask(both)
    labels = claims.until(claim, "Launched")["metadata"]["labels"]
    assert (labels[ZONE], labels[CAPACITY_TYPE]) == (zone, capacity_type)


@pytest.mark.parametrize(
    "asked",
    [
        a_node_claim(zones=["zone-z"]),
        a_node_claim(instance_type=replace(EIGHT_H100, name="p9.metal")),
        a_node_claim(node_class="none"),
    ],
    ids=["zone", "instance type", "node class"],
)
def test_a_claim_for_what_the_cloud_does_not_know_is_short_too(
    claims: NodeClaims, asked: Manifest
) -> None:
    (claim,) = claims.ask(asked)
    claims.until_short(claim)


def test_nodes_count_for_a_limit_until_they_are_gone_also_after_a_restart(
    claims: NodeClaims, karpenter: Karpenter
) -> None:
    karpenter.limit(Limit(1, EIGHT_H100.name))
    (first,) = claims.ask(a_node_claim("first"))
    claims.node(first)
    karpenter.stop()
    karpenter.start()
    (second,) = claims.ask(a_node_claim("second"))
    claims.until_short(second)
    claims.delete(first)
    claims.until_gone(path_of(first))
    (third,) = claims.ask(a_node_claim("third"))
    claims.until(third, "Launched")


def test_a_node_that_boots_is_launched_and_not_registered(claims: NodeClaims) -> None:
    claims.set_boot_time(AN_HOUR)
    (claim,) = claims.ask(a_node_claim())
    booting = claims.until(claim, "Launched")
    booting = claims.until(claim, "Registered", "Unknown")
    assert condition_of(booting, "Registered")["reason"] == "NodeNotFound"
    assert "nodeName" not in booting["status"]
    assert not claims.api.items(NODES)
    claims.delete(claim)
    claims.until_gone(path_of(claim))


def test_a_node_comes_up_only_after_its_boot_time(claims: NodeClaims) -> None:
    seconds = 4
    claims.set_boot_time(seconds)
    (claim,) = claims.ask(a_node_claim())
    node = claims.node(claim)
    launched = condition_of(claims.now(claim), "Launched")["lastTransitionTime"]
    # Both are whole seconds.
    assert date(node["metadata"]["creationTimestamp"]) - date(launched) >= seconds - 1


def test_a_claim_that_is_deleted_while_its_node_boots_leaves_none(claims: NodeClaims) -> None:
    claims.set_boot_time(8)
    (early,) = claims.ask(a_node_claim("early"))
    claims.until(early, "Launched")
    claims.delete(early)
    claims.until_gone(path_of(early))
    (late,) = claims.ask(a_node_claim("late"))
    node = claims.node(late)
    # By now that of the early one would be there.
    assert [each["metadata"]["name"] for each in claims.api.items(NODES)] == [
        node["metadata"]["name"]
    ]


def test_deleting_a_claim_drains_and_removes_its_node(claims: NodeClaims) -> None:
    (claim,) = claims.ask(a_node_claim(labels=OWN))
    node = claims.node(claim)
    pod = claims.run(on=OWN, finalizers=["example.com/slow"])
    assert claims.until_runs(pod)["spec"]["nodeName"] == node["metadata"]["name"]
    claims.delete(claim)
    wait_until(
        lambda: "deletionTimestamp" in claims.api.get(pod)["metadata"],
        timeout_seconds=SECONDS,
        what="the pod is evicted",
    )
    assert DISRUPTED in claims.api.get(path_of_node(node))["spec"]["taints"]
    claims.api.merge(pod, {"metadata": {"finalizers": None}})
    claims.until_gone(path_of_node(node))
    claims.until_gone(path_of(claim))


def test_deleting_a_node_deletes_its_claim(claims: NodeClaims) -> None:
    (claim,) = claims.ask(a_node_claim())
    claims.api.delete(path_of_node(claims.node(claim)))
    claims.until_gone(path_of(claim))
    assert not claims.api.items(NODES)


def test_a_pod_that_is_not_to_be_disrupted_holds_its_node(claims: NodeClaims) -> None:
    (claim,) = claims.ask(a_node_claim(labels=OWN))
    node = claims.node(claim)
    held = claims.run(on=OWN, annotations={DO_NOT_DISRUPT: "true"})
    claims.until_runs(held)
    claims.delete(claim)
    wait_until(
        lambda: "FailedDraining" in claims.reasons(node),
        timeout_seconds=SECONDS,
        what="the node could not be drained",
    )
    assert DISRUPTED in claims.api.get(path_of_node(node))["spec"]["taints"]
    assert "deletionTimestamp" not in claims.api.get(held)["metadata"]
    claims.api.delete(held)
    claims.until_gone(path_of(claim))


def test_an_idle_node_of_a_pool_is_removed_and_one_of_no_pool_stays(claims: NodeClaims) -> None:
    (alone,) = claims.ask(a_node_claim("alone", ONE_L4))
    node = claims.node(alone)
    everything = [{"nodes": "100%"}]
    pool = a_node_pool(
        "pool", ONE_L4, consolidateAfter="0s", consolidationPolicy="WhenEmpty", budgets=everything
    )
    claims.api.create(NODE_POOLS, pool)
    pod = claims.run(on={NODE_POOL: "pool"})
    pooled = claims.until_runs(pod)["spec"]["nodeName"]
    assert pooled != node["metadata"]["name"]
    claims.api.delete(pod)
    claims.until_gone(f"{NODES}/{pooled}")
    after = claims.now(alone)
    assert "deletionTimestamp" not in after["metadata"]
    assert not condition_of(after, "Consolidatable")
    assert claims.node(alone)["metadata"]["uid"] == node["metadata"]["uid"]


def path_of_node(node: Manifest) -> str:
    return f"{NODES}/{node['metadata']['name']}"


def date(text: str) -> float:
    """Seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()
