"""Plans count network devices and storage as kube-scheduler does."""

from collections import Counter

import pytest

from plimsoll.planning.actions import Admit, Plan
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import a_stand_in
from support.clusters.planned import planned
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_gpu_pod, a_template, a_training_job, an_inference_job

EFA = "vpc.amazonaws.com/efa"


def places(plan: Plan) -> Counter[str]:
    """How many pods the plan puts on each node."""
    admitted = (each for each in plan.changes if isinstance(each, Admit))
    return Counter(n for each in admitted for a in each.assignments for n in a.nodes)


def a_node(name: str, efa: int, *, gpus: int = 8) -> Manifest:
    return fake_node(name, gpus=gpus, resources={EFA: str(efa)})


def test_workers_spread_over_nodes_with_enough_network_devices() -> None:
    job = a_training_job("job", workers=4, gpus=2, template=a_template({EFA: "8"}))
    nodes = (a_node("n-0", 16), a_node("n-1", 0), a_node("n-2", 16))
    assert places(planned(*nodes, job)) == {"n-0": 2, "n-2": 2}


def test_what_other_pods_take_is_not_there() -> None:
    other = a_gpu_pod("other", "n-0")
    other["spec"]["containers"][0]["resources"] = {"limits": {EFA: "9"}}
    job = a_training_job("job", workers=2, gpus=2, template=a_template({EFA: "8"}))
    assert places(planned(a_node("n-0", 16), job)) == {"n-0": 2}
    assert places(planned(a_node("n-0", 16), other, job)) == Counter()


@pytest.mark.parametrize("resource", ["ephemeral-storage", "hugepages-2Mi"])
def test_storage_and_huge_pages_count_as_well(resource: str) -> None:
    node = fake_node("n-0", gpus=8, resources={resource: "10Gi"})
    service = an_inference_job("serve", template=a_template({resource: "4Gi"}))
    service["spec"]["replicas"] = 3
    service["spec"]["roles"][0]["replicas"] = {"min": 0, "max": 3}
    assert places(planned(node, service)) == {"n-0": 2}


def test_a_job_says_which_of_them_it_lacks() -> None:
    job = a_training_job("job", gpus=8, template=a_template({EFA: "32"}))
    (hold,) = planned(a_node("n-0", 4), job).holds
    assert hold.reason is Reason.CANNOT_FIT
    assert hold.message == (
        f"needs 8 × NVIDIA-H100-80GB-HBM3 with 32 × {EFA} on one node; "
        f"nodes with such GPUs free have at most 4 × {EFA} left"
    )


def test_gpus_that_a_target_or_workload_asks_for_by_name_are_no_other_resource() -> None:
    workload = a_batch_job("train", workers=2)
    container = workload["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"][EFA] = "8"
    plan = planned(a_node("n-0", 8), a_node("n-1", 8), workload, a_stand_in(workload))
    assert places(plan) == {"n-0": 1, "n-1": 1}
