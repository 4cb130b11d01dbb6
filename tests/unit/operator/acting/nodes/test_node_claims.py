"""The NodeClaims by which nodes are ordered."""

from itertools import islice

from plimsoll.acting.nodes.node_claims import free_names, node_claim
from plimsoll.observe.nodes.pool_templates import template_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import LABEL, NODE_CLASS, a_growing_pool

CAPACITY_TYPE = "karpenter.sh/capacity-type"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"


def claim(pool: Manifest) -> Manifest:
    (found,) = seen(pool).pools
    template = template_of(found)
    assert template is not None
    return node_claim(found, template, "h100-1")


def test_it_belongs_to_the_pool_and_to_no_nodepool() -> None:
    made = claim(a_growing_pool())
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["controller"]) == ("GPUPool", "h100", True)
    assert made["metadata"]["labels"] == {LABEL: "h100"}
    assert made["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}
    assert made["spec"] == {
        "nodeClassRef": NODE_CLASS,
        "requirements": [{"key": CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]}],
        "resources": {"requests": {"nvidia.com/gpu": "8"}},
        "expireAfter": "Never",
    }


def test_gpus_of_amd_are_asked_for_by_their_own_name() -> None:
    made = claim(a_growing_pool(gpu_type="AMD_Instinct_MI300X_OAM"))
    assert made["spec"]["resources"] == {"requests": {"amd.com/gpu": "8"}}


def test_other_resources_of_the_pools_nodes_are_asked_for() -> None:
    pool = a_growing_pool()
    pool["spec"]["provisioning"]["resources"] = {"vpc.amazonaws.com/efa": 32}
    requests = {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    assert claim(pool)["spec"]["resources"] == {"requests": requests}


def test_what_the_provider_decides_is_required_and_other_labels_are_set() -> None:
    pool = a_growing_pool(capacityType="Spot")
    pool["spec"]["nodeSelector"] |= {INSTANCE_TYPE: "p5.48xlarge"}
    made = claim(pool)
    assert made["metadata"]["labels"] == {LABEL: "h100"}
    assert made["spec"]["requirements"] == [
        {"key": CAPACITY_TYPE, "operator": "In", "values": ["spot"]},
        {"key": INSTANCE_TYPE, "operator": "In", "values": ["p5.48xlarge"]},
    ]


def test_the_template_has_the_last_word() -> None:
    pool = a_growing_pool()
    either = {"key": CAPACITY_TYPE, "operator": "In", "values": ["spot", "on-demand"]}
    pool["spec"]["provisioning"]["nodeClaim"] = {
        "metadata": {"labels": {"example.com/tier": "gold"}, "annotations": {"example.com/a": "b"}},
        "spec": {
            "nodeClassRef": NODE_CLASS,
            "requirements": [either],
            "expireAfter": "720h",
            "taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}],
        },
    }
    made = claim(pool)
    assert made["metadata"]["labels"] == {LABEL: "h100", "example.com/tier": "gold"}
    assert made["metadata"]["annotations"]["example.com/a"] == "b"
    assert made["spec"]["requirements"] == [either]
    assert made["spec"]["expireAfter"] == "720h"
    assert made["spec"]["taints"] == [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]


def test_names_are_those_that_are_free() -> None:
    (pool,) = seen(a_growing_pool()).pools
    assert next(free_names(pool, ())) == "h100-1"
    assert [*islice(free_names(pool, {"h100-1", "h100-3"}), 2)] == ["h100-2", "h100-4"]
    (long,) = seen(a_growing_pool("a" * 200)).pools
    assert len(next(free_names(long, ()))) < 60
