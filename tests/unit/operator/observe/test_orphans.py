import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_training_job


def a_pod_left_behind(*, bound: bool) -> Manifest:
    """A pod whose job has been deleted, before or after it was bound."""
    (pod,) = pods_of(at(a_training_job("gone"), "n"), phase="Pending")
    pod["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": "1"}}
    if not bound:
        del pod["spec"]["nodeName"]
        field = {"key": "metadata.name", "operator": "In", "values": ["n"]}
        terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        pod["spec"]["affinity"] = {"nodeAffinity": required}
    return pod


def test_what_a_deleted_job_left_holds_its_gpu_whether_it_is_bound_or_not() -> None:
    for bound in (True, False):
        (node,) = seen(fake_node("n", gpus=2), a_pod_left_behind(bound=bound)).nodes
        assert node.unmanaged_units == {"nvidia.com/gpu": 1}, bound


@pytest.mark.parametrize("without", ["labels", "ownerReferences"])
def test_a_pod_of_others_that_is_not_bound_holds_nothing(without: str) -> None:
    pod = a_pod_left_behind(bound=False)
    del pod["metadata"][without]
    (node,) = seen(fake_node("n", gpus=2), pod).nodes
    assert node.unmanaged_units == {}


def test_a_pod_that_only_bears_our_labels_is_not_on_its_way_out() -> None:
    pod = a_pod_left_behind(bound=True)
    del pod["metadata"]["ownerReferences"]
    (node,) = seen(fake_node("n", gpus=2), pod).nodes
    assert (node.unmanaged_units, node.leaving) == ({"nvidia.com/gpu": 1}, ())


@pytest.mark.parametrize(("bound", "held"), [(True, {"nvidia.com/gpu": 1}), (False, {})])
def test_one_that_goes_holds_its_gpu_only_where_it_is_bound(
    bound: bool,  # noqa: FBT001 - a parameter of the test
    held: dict[str, int],
) -> None:
    pod = a_pod_left_behind(bound=bound)
    pod["metadata"] |= {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["x.dev/kept"]}
    (node,) = seen(fake_node("n", gpus=2), pod).nodes
    assert node.unmanaged_units == held
