"""Which nodes pools could have that they do not have."""

from dataclasses import replace
from datetime import timedelta

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.future_nodes import FutureNode, future_nodes, unsold
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, seen
from support.objects.bought_nodes import (
    LABEL,
    a_claim,
    a_growing_pool,
    a_node_of,
    a_request,
    an_autoscaled_pool,
    said,
)
from support.objects.job_manifests import a_gpu_pod, a_pool


def names(*manifests: Manifest, blocked: frozenset[str] = frozenset()) -> list[str]:
    return [each.name for each in future_nodes(seen(*manifests), blocked)]


def first(snapshot: Snapshot) -> FutureNode:
    return future_nodes(snapshot, frozenset())[0]


def test_a_pool_may_grow_up_to_its_most() -> None:
    assert names(a_growing_pool(most=2)) == ["h100+0", "h100+1"]
    assert names(a_growing_pool(most=2), a_node_of("h100", "there")) == ["h100+0"]
    assert names(a_growing_pool(most=1), a_node_of("h100", "there")) == []
    assert names(a_pool("fixed", {"a": "b"})) == []


def test_nodes_to_come_of_amd_offer_its_gpus() -> None:
    (offer,) = first(seen(a_growing_pool(gpu_type="AMD_Instinct_MI300X_OAM"))).view.offers
    assert (offer.resource, offer.gpu_type) == ("amd.com/gpu", "AMD_Instinct_MI300X_OAM")


def test_a_pool_that_does_not_say_how_it_is_bought_is_only_advised() -> None:
    snapshot = seen(a_growing_pool(most=1, sells=False))
    assert future_nodes(snapshot, frozenset()) == ()
    assert len(future_nodes(snapshot, frozenset(), to_buy=False)) == 1


def test_nodes_that_are_on_their_way_count_though_they_have_registered() -> None:
    ordered, pool = a_claim("h100-1"), a_growing_pool(most=2)
    assert names(pool, ordered) == ["h100-1+", "h100+0"]
    registered = a_claim("h100-1", node="n")
    assert names(pool, registered, a_node_of("h100", "n", gpus=0)) == ["h100-1+", "h100+0"]
    there = a_claim("h100-1", node="n", arrived=True)
    assert names(pool, there, a_node_of("h100", "n")) == ["h100+0"]
    assert names(pool, there) == ["h100-1+", "h100+0"], "its node is not seen yet"


def test_a_node_that_plans_can_use_is_not_still_to_come() -> None:
    pool, ready = a_growing_pool(most=2), a_node_of("h100", "n")
    assert names(pool, a_claim("h100-1", node="n"), ready) == ["h100+0"]
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    closed = a_node_of("h100", "n", taints=[taint])
    assert names(pool, a_claim("h100-1", node="n"), closed) == ["h100-1+", "h100+0"]


def test_orders_that_leave_or_are_overdue_do_not_come_and_count_until_they_are_gone() -> None:
    one, two = a_growing_pool(most=1), a_growing_pool(most=2)
    leaving = a_claim("h100-1", deletionTimestamp="2026-11-21T11:59:00Z")
    long_ago = (NOW - timedelta(hours=1)).isoformat()
    for each in (leaving, a_claim("h100-1", creationTimestamp=long_ago)):
        assert names(two, each) == ["h100+0"]
        assert names(one, each) == []


def test_orders_of_others_are_none_of_ours() -> None:
    theirs = a_claim("h100-1")
    theirs["metadata"]["ownerReferences"][0]["uid"] = "of-another"
    assert seen(a_growing_pool(), theirs).orders == ()


def test_nothing_of_a_blocked_pool_can_be_bought_but_what_was_ordered_comes() -> None:
    blocked = frozenset({"h100"})
    assert names(a_growing_pool(), a_claim("h100-1"), blocked=blocked) == ["h100-1+"]


def test_a_future_node_is_like_the_smallest_that_is_there() -> None:
    small = a_node_of("h100", "small", cpu="64", labels={LABEL: "h100", "example.com/rack": "a"})
    large = a_node_of("h100", "large", cpu="96", labels={LABEL: "h100", "example.com/rack": "a"})
    view = first(seen(a_growing_pool(), small, large)).view
    assert (view.cpu_millis, view.memory_bytes) == (64_000, 2 * 2**40)
    assert view.labels["example.com/rack"] == "a"
    assert "kubernetes.io/hostname" not in view.labels
    (offer,) = view.offers
    assert (offer.count, offer.gpu_type) == (8, H100)


def test_what_is_said_of_future_nodes_counts_most() -> None:
    stated: Manifest = {"cpu": "32", "memory": "256Gi"}
    pool = a_growing_pool(provisioning=stated)
    claim = pool["spec"]["provisioning"]["nodeClaim"]
    claim["metadata"] = {"labels": {"example.com/tier": "gold"}}
    claim["spec"]["taints"] = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    view = first(seen(pool, a_node_of("h100", "there"))).view
    assert (view.cpu_millis, view.memory_bytes) == (32_000, 256 * 2**30)
    assert view.labels["example.com/tier"] == "gold"
    assert [taint.key for taint in view.node.spec.taints] == ["nvidia.com/gpu"]


def test_what_was_seen_of_an_idle_node_counts_more_than_what_is_said() -> None:
    pool = a_growing_pool(provisioning={"cpu": "300"})
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "agent", "uid": "d"}
    agent: Manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "agent", "ownerReferences": [{**owner, "controller": True}]},
        "spec": {
            "nodeName": "n",
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}],
        },
    }
    there = (a_claim("h100-1", node="n", arrived=True), a_node_of("h100", "n"), agent)
    snapshot = seen(pool, *there)
    assert first(snapshot).view.cpu_millis == 190_000
    found = Shortages().status(snapshot.pools[0], snapshot)
    assert found is not None
    status = {"observedGeneration": 1, "provisioning": found.wire()}
    assert first(seen({**pool, "status": status})).view.cpu_millis == 190_000
    old = {**status, "observedGeneration": 0}
    assert first(seen({**pool, "status": old})).view.cpu_millis == 300_000


def test_future_nodes_have_no_more_gpus_than_those_that_came() -> None:
    fewer, whole = a_node_of("h100", "fewer", gpus=7), a_node_of("h100", "whole")
    (offer,) = first(seen(a_growing_pool(), fewer)).view.offers
    assert offer.count == 7
    (offer,) = first(seen(a_growing_pool(), fewer, whole)).view.offers
    assert offer.count == 8


def test_of_a_pool_without_nodes_only_the_gpus_are_known() -> None:
    view = first(seen(a_growing_pool())).view
    assert view.labels[LABEL] == "h100"
    assert view.cpu_millis > 10**6, "nothing is refused for what is not known"


def test_each_node_of_a_request_is_on_its_way() -> None:
    pool, request = an_autoscaled_pool(most=4), a_request("h100-1", count=2)
    assert names(pool, request) == ["h100-1+", "h100-1+1+", "h100+0", "h100+1"]
    there = a_node_of("h100", "n", came="2026-11-21T11:59:00Z")
    assert names(pool, request, there) == ["h100-1+1+", "h100+0", "h100+1"]


def test_none_comes_of_a_request_that_has_failed_or_is_overdue() -> None:
    failed = a_request("h100-1", count=1, conditions=[said("Failed")])
    assert names(an_autoscaled_pool(most=1), failed) == ["h100+0"]
    pool, long_ago = an_autoscaled_pool(most=2), (NOW - timedelta(minutes=6)).isoformat()
    unheard = a_request("h100-1", count=1, creationTimestamp=long_ago)
    assert names(pool, unheard) == ["h100+0"], "it is in the most of the pool until it is gone"
    heard = a_request("h100-1", count=1, conditions=[said("Accepted")], creationTimestamp=long_ago)
    assert names(pool, heard) == ["h100-1+", "h100+0"]


def test_nodes_to_be_requested_have_the_taints_that_their_pool_states() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    view = first(seen(an_autoscaled_pool(request={"taints": [taint]}))).view
    assert [each.key for each in view.node.spec.taints] == ["nvidia.com/gpu"]


def test_what_pools_say_how_to_order_may_not_be_had_in_a_cluster() -> None:
    for pool, way in ((an_autoscaled_pool(), "can_request"), (a_growing_pool(), "can_order")):
        assert unsold(seen(pool)) == frozenset()
        assert unsold(replace(seen(pool), **{way: False})) == {"h100"}
    assert unsold(replace(seen(a_growing_pool(sells=False)), can_order=False)) == frozenset()


EFA, STORAGE = "vpc.amazonaws.com/efa", "ephemeral-storage"


def others(*manifests: Manifest) -> dict[str, int]:
    """The other resources of a node to come."""
    return dict(first(seen(*manifests)).view.others)


def with_resources(amounts: Manifest, **status: Manifest) -> Manifest:
    """A pool that says what its nodes have; `status`: what was seen of it."""
    pool = a_growing_pool()
    pool["spec"]["provisioning"]["resources"] = amounts
    pool["metadata"]["generation"] = 1
    return {**pool, "status": {"observedGeneration": 1, "provisioning": status}}


def test_other_resources_of_a_node_to_come_are_as_stated_and_storage_is_not_in_the_way() -> None:
    assert others(with_resources({EFA: 4, STORAGE: "2Ti"})) == {EFA: 4, STORAGE: 2 << 40}
    assert others(a_growing_pool()) == {STORAGE: 1 << 50}


def test_what_nodes_have_that_were_not_bought_shows_nothing() -> None:
    assert EFA not in others(a_growing_pool(), a_node_of("h100", "n", resources={EFA: "32"}))


def test_what_a_bought_node_has_left_for_jobs_comes_before_what_is_stated() -> None:
    bought = a_claim("h100-1", node="n", arrived=True)
    node = a_node_of("h100", "n", resources={EFA: "16", STORAGE: "1Ti"})
    daemon = a_gpu_pod("daemon", "n")
    daemon["spec"]["containers"][0]["resources"] = {"limits": {EFA: "1"}}
    assert others(a_growing_pool(), bought, node) == {EFA: 16, STORAGE: 1 << 40}
    assert others(with_resources({EFA: 32}), bought, node, daemon)[EFA] == 15


def test_what_was_seen_is_remembered_when_no_node_is_left() -> None:
    pool = with_resources({EFA: 32}, resources={EFA: "16", STORAGE: "100Gi"})
    assert others(pool) == {EFA: 16, STORAGE: 100 << 30}
    pool["metadata"]["generation"] = 2
    assert others(pool) == {EFA: 32, STORAGE: 1 << 50}


def test_a_node_without_any_may_have_a_plugin_that_restarts() -> None:
    bought, node = a_claim("h100-1", node="n", arrived=True), a_node_of("h100", "n")
    assert others(with_resources({EFA: 32}), bought, node)[EFA] == 32


def test_what_is_seen_of_an_idle_node_is_kept_in_the_status() -> None:
    bought = a_claim("h100-1", node="n", arrived=True)
    snapshot = seen(a_growing_pool(), bought, a_node_of("h100", "n", resources={EFA: "16"}))
    status = Shortages().status(snapshot.pools[0], snapshot)
    assert status is not None
    assert status.resources == {EFA: 16, STORAGE: 1 << 40}


def test_a_new_node_is_still_to_come_until_it_has_what_its_pool_says() -> None:
    pool, bought = with_resources({EFA: 32}), a_claim("h100-1", node="n", arrived=True)
    came = NOW - timedelta(minutes=2)
    node = a_node_of("h100", "n", came=came.isoformat())
    assert names(pool, bought, node)[0] == "h100-1+"
    wired = a_node_of("h100", "n", came=came.isoformat(), resources={EFA: "32"})
    assert names(pool, bought, wired)[0] == "h100+0"
    old = a_node_of("h100", "n", came=(NOW - timedelta(hours=1)).isoformat())
    assert names(pool, bought, old)[0] == "h100+0"
