"""The ProvisioningRequests by which nodes are ordered, and their PodTemplates."""

from plimsoll.acting.nodes.provisioning_requests import pod_template, provisioning_request
from plimsoll.observe.nodes.pool_templates import request_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.bought_nodes import LABEL, a_node_of, an_autoscaled_pool

BEST_EFFORT = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"


def made(pool: Manifest, *nodes: Manifest, count: int = 3) -> tuple[Manifest, Manifest]:
    """The request for some nodes, and its template."""
    snapshot = seen(pool, *nodes)
    (found,) = snapshot.pools
    template = request_of(found)
    assert template is not None
    pods = pod_template(found, template, "h100-1", snapshot.nodes)
    return provisioning_request(found, template, "h100-1", pods=pods, count=count), pods


def test_other_resources_of_the_pools_nodes_are_asked_for_and_huge_pages_beside_cpu() -> None:
    pool = an_autoscaled_pool()
    pool["spec"]["provisioning"]["resources"] = {"rdma/hca": 4, "hugepages-2Mi": "4Gi"}
    _, template = made(pool)
    (container,) = template["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {
        "nvidia.com/gpu": "8",
        "rdma/hca": "4",
        "hugepages-2Mi": str(4 << 30),
        "cpu": "1m",
    }


def test_it_asks_for_as_many_pods_as_nodes_each_with_all_gpus_of_one() -> None:
    request, template = made(an_autoscaled_pool())
    assert request["spec"] == {
        "provisioningClassName": BEST_EFFORT,
        "podSets": [{"podTemplateRef": {"name": template["metadata"]["name"]}, "count": 3}],
    }
    spec = template["template"]["spec"]
    assert spec["nodeSelector"] == {LABEL: "h100"}
    (container,) = spec["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": "8"}}
    for each in (request, template):
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("GPUPool", "h100", True)


def test_gpus_of_amd_are_asked_for_by_their_own_name() -> None:
    _, template = made(an_autoscaled_pool(gpu_type="mi300x"))
    (container,) = template["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"amd.com/gpu": "8"}}


def test_its_pods_fit_on_no_node_that_is_there() -> None:
    there = (a_node_of("h100", "one"), a_node_of("h100", "two"))
    there[1]["metadata"]["labels"]["kubernetes.io/hostname"] = "host"
    _, template = made(an_autoscaled_pool(), *there, a_node_of("other", "of-another-pool"))
    affinity = template["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (others,) = term["matchExpressions"]
    assert others == {
        "key": "kubernetes.io/hostname",
        "operator": "NotIn",
        "values": ["host", "one"],
    }
    assert "affinity" not in made(an_autoscaled_pool())[1]["template"]["spec"]


def test_what_the_pool_says_of_it() -> None:
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    said = {"className": "queued.example.com", "parameters": {"a": "b"}, "taints": [taint]}
    request, template = made(an_autoscaled_pool(request=said))
    assert request["spec"]["provisioningClassName"] == "queued.example.com"
    assert request["spec"]["parameters"] == {"a": "b"}
    toleration = {**taint, "operator": "Equal", "value": ""}
    assert template["template"]["spec"]["tolerations"] == [toleration]


def test_its_template_has_a_name_that_says_what_is_in_it() -> None:
    def name(*nodes: Manifest, pool: Manifest) -> str:
        return made(pool, *nodes)[1]["metadata"]["name"]

    pool, there = an_autoscaled_pool(), a_node_of("h100", "there")
    assert name(pool=pool).startswith("h100-1-")
    assert name(there, pool=pool) == name(there, pool=an_autoscaled_pool())
    anew = {**pool, "metadata": {**pool["metadata"], "uid": "another"}}
    others = {name(pool=pool), name(there, pool=pool), name(pool=anew)}
    assert len(others) == 3
