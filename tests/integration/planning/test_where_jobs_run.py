"""Where jobs run: on the GPUs, nodes and beside the neighbours that they ask for."""

from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene, gpu_limits
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
)


def test_unlike_gpus_go_to_the_jobs_that_make_the_most_of_them(scene: Scene) -> None:
    scene.add_nodes(fake_node("h100", H100, 2), fake_node("a100", A100, 2))
    picky = a_training_job("picky", gpus=2, rates={H100: 30, A100: 10}, queue="both")
    easy = a_training_job("easy", gpus=2, rates={H100: 11, A100: 10}, queue="both")
    scene.apply(easy, picky, a_queue("both"))  # without their queue both wait for the other
    assert scene.running(picky).gpu_types == {H100}
    assert scene.running(easy).gpu_types == {A100}


def test_a_job_takes_its_second_choice_where_the_first_is_taken(scene: Scene) -> None:
    scene.add_nodes(fake_node("h100", H100, 2), fake_node("a100", A100, 2))
    rates = {H100: 30, A100: 10}
    first, second = (a_training_job(name, gpus=2, rates=rates) for name in ("first", "second"))
    scene.apply(first)
    assert scene.running(first).gpu_types == {H100}
    scene.apply(second)
    assert scene.running(second).gpu_types == {A100}
    assert scene.running(first).gpu_types == {H100}


def test_a_gang_runs_whole_or_not_at_all(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(f"pair-{index}", H100, 2) for index in range(2)))
    small = a_training_job("small")
    scene.apply(small)
    scene.running(small)
    gang = a_training_job("gang", workers=4)
    scene.apply(gang)
    status = scene.until(gang, reason="InsufficientGPUs")
    assert status["message"] == "needs 4 × NVIDIA-H100-80GB-HBM3; 3 are free"
    assert scene.pods_of(gang) == []
    scene.delete(small)
    assert sorted(scene.running(gang).nodes) == ["pair-0", "pair-0", "pair-1", "pair-1"]


def test_fractions_share_a_device_where_a_node_offers_shares(scene: Scene) -> None:
    whole, shared = fake_node("t4-whole", T4, 1), fake_node("t4-shared", T4, 1, replicas=4)
    scene.add_nodes(whole)
    jobs = [an_inference_job(f"part-{n}", gpus="0.25", loads={T4: 1}) for n in range(2)]
    scene.apply(jobs[0])
    status = scene.until(jobs[0], reason="CannotFit")
    assert status["message"] == (
        "needs 0.25 × Tesla-T4 on one device; no node offers such fractions:"
        " have device plugins share GPUs"
    )
    scene.add_nodes(shared)
    scene.apply(jobs[1])
    for job in jobs:
        running = scene.running(job)
        assert running.nodes == ["t4-shared"]
        assert gpu_limits(running.pods) == [{"nvidia.com/gpu": "1"}]


def test_models_share_gpus_as_their_weights_allow(scene: Scene) -> None:
    """Each GPU has 15 GiB and shares for four."""
    nodes = [fake_node(f"t4-{index}", T4, 1, replicas=4) for index in range(2)]
    scene.add_nodes(*nodes)
    role = {"weightsMemory": "9Gi"}
    jobs = [an_inference_job(f"m-{n}", gpus="0.25", loads={T4: 1}, role=role) for n in range(3)]
    scene.apply(*jobs[:2])
    running = [scene.running(job) for job in jobs[:2]]
    assert sorted(node for each in running for node in each.nodes) == ["t4-0", "t4-1"]
    labels = [each.pods[0]["metadata"]["labels"] for each in running]
    assert [each["plimsoll.dev/gpu-memory"] for each in labels] == [str(9 << 30)] * 2
    scene.apply(jobs[2])
    status = scene.until(jobs[2], reason="InsufficientResources")
    assert status["message"] == (
        "needs 0.25 × Tesla-T4 with 9 GiB of GPU memory on one device; "
        "nodes with such GPUs free have at most 6 GiB of GPU memory left"
    )


def test_quarters_of_gpus_without_rates_are_spread(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(f"t4-{index}", T4, 1, replicas=4) for index in range(2)))
    jobs = [an_inference_job(f"q-{n}", gpus="0.25", loads={T4: 1}) for n in range(4)]
    scene.apply(*jobs)
    nodes = [node for job in jobs for node in scene.running(job).nodes]
    assert len(nodes) == 4
    assert set(nodes) <= {"t4-0", "t4-1"}


def test_renamed_shares_are_asked_for_by_their_name(scene: Scene) -> None:
    labels = {
        "nvidia.com/gpu.product": "Tesla-T4-SHARED",
        "nvidia.com/gpu.replicas": "2",
        "nvidia.com/gpu.count": "1",
    }
    resources = {"nvidia.com/gpu.shared": "2"}
    scene.add_nodes(fake_node("t4-renamed", T4, 0, labels=labels, resources=resources))
    jobs = [a_training_job(f"half-{n}", gpus="0.5", rates={T4: 1}) for n in range(3)]
    scene.apply(*jobs[:2])
    for job in jobs[:2]:
        assert gpu_limits(scene.running(job).pods) == [{"nvidia.com/gpu.shared": "1"}]
    scene.apply(jobs[2])
    status = scene.until(jobs[2], reason="InsufficientGPUs")
    assert status["message"].endswith("the most free on one device is 0")


MIXED_MIG = fake_node(
    "mig-mixed",
    A100,
    4,
    labels={"nvidia.com/mig.strategy": "mixed"},
    resources={"nvidia.com/mig-1g.10gb": "14"},
)
SINGLE_MIG = fake_node(
    "mig-single",
    A100,
    0,
    labels={
        "nvidia.com/gpu.product": f"{A100}-MIG-1g.10gb",
        "nvidia.com/mig.strategy": "single",
        "nvidia.com/gpu.count": "7",
        "nvidia.com/gpu.replicas": "1",
    },
    resources={"nvidia.com/gpu": "7"},
)
AMD = fake_node(
    "amd",
    gpus=0,
    labels={"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
    resources={"amd.com/gpu": "8"},
)


@pytest.mark.parametrize(
    ("node", "gpu_type", "resource"),
    [
        (MIXED_MIG, f"{A100}-MIG-1g.10gb", "nvidia.com/mig-1g.10gb"),
        (SINGLE_MIG, f"{A100}-MIG-1g.10gb", "nvidia.com/gpu"),
        (AMD, "AMD_Instinct_MI300X_OAM", "amd.com/gpu"),
    ],
    ids=["mixed", "single", "amd"],
)
def test_a_device_is_asked_for_by_the_name_that_its_plugin_gives_it(
    scene: Scene, node: Manifest, gpu_type: str, resource: str
) -> None:
    scene.add_nodes(node)
    job = a_training_job("slices", workers=2, rates={gpu_type: 2})
    scene.apply(job)
    running = scene.running(job)
    assert running.gpu_types == {gpu_type}
    assert gpu_limits(running.pods) == [{resource: "1"}, {resource: "1"}]


def test_cpu_and_memory_bind_as_gpus_do(scene: Scene) -> None:
    scene.add_nodes(fake_node("lean", H100, 8, cpu="16", memory="64Gi"))
    first = a_training_job("first", template=a_template({"cpu": "10", "memory": "8Gi"}))
    for_cpu = a_training_job("for-cpu", template=a_template({"cpu": "10", "memory": "8Gi"}))
    for_memory = a_training_job("for-memory", template=a_template({"memory": "57Gi"}))
    fits = a_training_job("fits", template=a_template({"cpu": "6", "memory": "56Gi"}))
    scene.apply(first)
    scene.running(first)
    scene.apply(for_cpu, for_memory)
    said = scene.until(for_cpu, reason="InsufficientResources")["message"]
    assert said.endswith("nodes with such GPUs free have at most 6 CPU left")
    said = scene.until(for_memory, reason="InsufficientResources")["message"]
    assert said.endswith("nodes with such GPUs free have at most 56 GiB left")
    scene.apply(fits)
    scene.running(fits)


def wants(key: str, operator: str, *values: str) -> Manifest:
    expression = {"key": key, "operator": operator, "values": list(values)}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {required: terms}}}


TAINT = {"key": "dedicated", "value": "vision", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def test_selectors_affinity_and_tolerations_decide_the_node(scene: Scene) -> None:
    scene.add_nodes(
        fake_node("blue", labels={"colour": "blue"}),
        fake_node("red", labels={"colour": "red"}),
        fake_node("dedicated", labels={"colour": "grey"}, taints=[TAINT]),
        fake_node("gpus-only", labels={"colour": "white"}, taints=[GPU_TAINT]),
    )
    chosen: dict[str, dict[str, Any]] = {
        "red": {"nodeSelector": {"colour": "red"}},
        "blue": wants("colour", "NotIn", "red", "grey", "white"),
        "dedicated": {"tolerations": [TOLERATION], "nodeSelector": {"colour": "grey"}},
        "gpus-only": {"nodeSelector": {"colour": "white"}},
    }
    jobs = {
        node: a_training_job(f"on-{node}", template=a_template(**pod))
        for node, pod in chosen.items()
    }
    barred = a_training_job("barred", template=a_template(nodeSelector={"colour": "grey"}))
    scene.apply(*jobs.values(), barred)
    for node, job in jobs.items():
        assert scene.running(job).nodes == [node]
    assert scene.until(barred, reason="NoEligibleNode")["message"] == (
        "needs 1 × NVIDIA-H100-80GB-HBM3; its selectors, affinity and tolerations admit none of "
        "the 4 nodes with these GPUs"
    )


RACKS = {"topologyKeys": [{"name": "rack", "label": "plimsoll.dev/rack"}]}


def a_racked_node(name: str, rack: str, gpus: int) -> Manifest:
    return fake_node(name, H100, gpus, labels={"plimsoll.dev/rack": rack})


def test_a_required_domain_is_waited_for_and_a_preferred_one_is_not(scene: Scene) -> None:
    scene.add_nodes(
        a_racked_node("a-1", "rack-a", 2),
        a_racked_node("b-1", "rack-b", 2),
        a_racked_node("b-2", "rack-b", 2),
        a_racked_node("c-1", "rack-c", 1),
    )
    scene.apply(a_pool("racks", {"type": "kwok"}, **RACKS))
    together = a_training_job("together", workers=4, topology={"required": "rack"})
    scene.apply(together)
    assert sorted(scene.running(together).nodes) == ["b-1", "b-1", "b-2", "b-2"]
    second = a_training_job("second", workers=3, topology={"required": "plimsoll.dev/rack"})
    scene.apply(second)
    status = scene.until(second, reason="TopologyUnsatisfied")
    assert status["message"] == (
        "needs 3 × NVIDIA-H100-80GB-HBM3 in one rack; the most free in one rack is 2 (rack-a)"
    )
    spread = a_training_job("spread", workers=3, topology={"preferred": "rack"})
    scene.apply(spread)
    assert sorted(scene.running(spread).nodes) == ["a-1", "a-1", "c-1"]


def test_a_preferred_domain_is_taken_where_there_is_one(scene: Scene) -> None:
    scene.add_nodes(
        a_racked_node("a-1", "rack-a", 1),
        a_racked_node("b-1", "rack-b", 2),
        a_racked_node("a-2", "rack-a", 1),
        a_racked_node("c-1", "rack-c", 1),
    )
    scene.apply(a_pool("racks", {"type": "kwok"}, **RACKS))
    jobs = [
        a_training_job(name, workers=2, topology={"preferred": "rack"}, queue="later")
        for name in ("one", "two")
    ]
    scene.apply(*jobs, a_queue("later"))
    places = sorted(sorted(scene.running(job).nodes) for job in jobs)
    assert places == [["a-1", "a-2"], ["b-1", "b-1"]]


def test_the_pods_of_one_replica_are_together_and_replicas_need_not_be(scene: Scene) -> None:
    scene.add_nodes(
        a_racked_node("a-1", "rack-a", 1),
        a_racked_node("b-1", "rack-b", 1),
        a_racked_node("a-2", "rack-a", 1),
        a_racked_node("b-2", "rack-b", 1),
        a_racked_node("c-1", "rack-c", 1),
    )
    scene.apply(a_pool("racks", {"type": "kwok"}, **RACKS))
    role = {"podsPerReplica": 2, "topology": {"required": "rack"}}
    service = an_inference_job("service", replicas=2, gpus=2, role=role)
    scene.apply(service)
    places = scene.running(service).status["placement"]["assignments"]
    assert sorted(sorted(place["nodes"]) for place in places) == [["a-1", "a-2"], ["b-1", "b-2"]]


def test_what_others_run_is_not_given_away(scene: Scene) -> None:
    scene.add_nodes(fake_node("shared-with-others", H100, 8))
    foreign = a_gpu_pod("foreign", "shared-with-others", gpus=6)
    scene.apply(foreign)
    job = a_training_job("ours", gpus=4)
    scene.apply(job)
    status = scene.until(job, reason="CannotFit")
    assert status["message"] == (
        "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most on one node is 2"
    )
    scene.delete(foreign)
    scene.running(job)
