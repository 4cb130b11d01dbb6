from dataclasses import replace
from typing import Any

import pytest

from plimsoll.observe.observer import Observer
from plimsoll.observe.views.pools import pool_of
from plimsoll.planning.cluster.cluster import Cluster, cluster_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Devices, GpuType
from support.clusters.seen import NOW, objects_of, seen
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_power_domain,
    a_training_job,
    an_inference_job,
)

KWOK = {"type": "kwok"}
POWER = {"idleWatts": 100, "typicalWatts": 600, "limitWatts": 700}
MIG_1G = f"{A100}-MIG-1g.10gb"


def cluster(*manifests: Manifest) -> Cluster:
    return cluster_of(seen(*manifests), {})


def devices(*manifests: Manifest) -> tuple[Devices, ...]:
    return cluster(*manifests).nodes[0].devices


def whole(count: int, taken: int = 0, gpu_type: str = H100) -> Devices:
    return Devices(GpuType(gpu_type), (1000,) * count + (0,) * taken)


def test_a_node_offers_its_gpus_and_what_others_leave_of_it() -> None:
    node = fake_node("n", H100, 8, cpu="64", memory="8Gi")
    pods = [a_gpu_pod("a", "n", gpus=2, cpu="4"), a_gpu_pod("b", "n", gpus=1, cpu="500m")]
    found = cluster(node, *pods).nodes[0]
    assert found.devices == (whole(5, 3),)
    assert (found.cpu_millis, found.memory_bytes, found.pod_slots) == (59_500, 8 << 30, 108)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_nothing(phase: str) -> None:
    ended = {**a_gpu_pod("a", "n", gpus=2), "status": {"phase": phase}}
    assert devices(fake_node("n"), ended) == (whole(8),)


def test_a_pod_that_is_on_its_way_out_still_takes_its_place() -> None:
    going = a_gpu_pod("a", "n", gpus=2)
    going["metadata"]["deletionTimestamp"] = NOW.isoformat()
    assert devices(fake_node("n"), going) == (whole(6, 2),)


def test_pods_of_a_job_that_is_gone_count_as_others() -> None:
    orphan = a_gpu_pod("a", "n", gpus=2)
    orphan["metadata"]["labels"] = {"plimsoll.dev/job-uid": "uid-TrainingJob-gone"}
    assert devices(fake_node("n"), orphan) == (whole(6, 2),)


def test_others_may_have_taken_more_than_there_is() -> None:
    node = fake_node("n", H100, 2, cpu="1", memory="1Gi")
    found = cluster(node, a_gpu_pod("a", "n", gpus=3, cpu="2")).nodes[0]
    assert (found.devices, found.cpu_millis) == ((whole(0, 2),), 0)


def test_each_share_of_a_shared_gpu_is_a_device() -> None:
    shared = fake_node("n", T4, 2, replicas=4)
    foreign = a_gpu_pod("a", "n", gpus=1)
    assert devices(shared, foreign) == (Devices(GpuType(T4), (250,) * 7 + (0,), 250),)


MIXED = fake_node("n", A100, 2, resources={"nvidia.com/mig-1g.10gb": "7"})


def test_slices_and_whole_gpus_of_a_node_are_types_of_their_own() -> None:
    assert devices(MIXED) == (whole(2, gpu_type=A100), whole(7, gpu_type=MIG_1G))


def test_a_pool_names_the_gpus_of_its_nodes_unless_they_are_of_several_types() -> None:
    pool = a_pool("named", KWOK, gpuType="our-gpu")
    assert devices(fake_node("n", H100, 1), pool) == (whole(1, gpu_type="our-gpu"),)
    assert devices(MIXED, pool) == (whole(2, gpu_type=A100), whole(7, gpu_type=MIG_1G))


def test_a_node_is_of_the_first_pool_by_name_that_selects_it() -> None:
    pools = [a_pool("b", KWOK, pricePerGPUHour=2), a_pool("a", KWOK), a_pool("0", {"type": "real"})]
    snapshot = seen(fake_node("n"), *pools)
    pool = pool_of(snapshot.nodes[0], snapshot.pools)
    assert pool is not None
    assert pool.metadata.name == cluster_of(snapshot, {}).nodes[0].pool == "a"


def test_a_pool_gives_price_power_and_terms() -> None:
    terms = {"capacityType": "Spot", "interruptionsPerHour": "0.05", "pricePerGPUHour": "1.25"}
    node = cluster(fake_node("n"), a_pool("p", KWOK, power=POWER, **terms)).nodes[0]
    assert node.spot
    assert node.microdollars_per_gpu_hour == 1_250_000
    assert node.interruptions_per_kilohour == 50
    assert node.busy_milliwatts == 500_000


def test_without_a_pool_a_node_costs_and_draws_nothing() -> None:
    node = cluster(fake_node("n")).nodes[0]
    assert (node.pool, node.spot) == ("", False)
    assert (node.microdollars_per_gpu_hour, node.busy_milliwatts) == (0, 0)


def keys(*names: str) -> list[Manifest]:
    return [{"name": name, "label": f"label/{name}"} for name in names]


def test_levels_are_those_of_pools_and_then_the_labels_that_jobs_name() -> None:
    node = fake_node("n", labels={"label/rack": "r-1", "own/label": "x"})
    role = {"topology": {"required": "own/label"}}
    found = cluster(
        node,
        a_pool("p", KWOK, topologyKeys=keys("block", "rack")),
        a_training_job("by-name", topology={"required": "rack", "preferred": "label/block"}),
        an_inference_job("by-label", role=role),
    )
    assert [level.name for level in found.levels] == ["block", "rack", "own/label"]
    assert found.nodes[0].topology == ("", "r-1", "x")
    named = (None, "rack", "label/rack", "own/label", "nowhere")
    assert [found.level_index(name) for name in named] == [None, 1, 1, 2, None]


def test_labels_that_no_node_has_are_one_level_however_many_jobs_name_them() -> None:
    jobs = [
        a_training_job(f"job-{number}", topology={"required": f"made.up/{number}"})
        for number in range(50)
    ]
    found = cluster(fake_node("n"), *jobs)
    assert [level.label for level in found.levels] == [""]
    assert {found.level_index(f"made.up/{number}") for number in range(50)} == {0}
    assert found.nodes[0].topology == ("",), "each node is a domain of its own"


ROW = {"row": "a"}


def test_a_domain_draws_what_idles_and_what_others_use() -> None:
    domain = a_power_domain("row-a", ROW, budget_watts=9000, quantile="0.5")
    pool = a_pool("p", KWOK, power=POWER)
    nodes = [fake_node("n", labels=ROW), fake_node("m", labels={"row": "b"})]
    idle = cluster(*nodes, domain, pool)
    assert [each.name for each in idle.nodes if "row-a" in each.power_domains] == ["n"]
    assert idle.power_domains[0].budget_milliwatts == 9_000_000
    assert idle.power_domains[0].base_milliwatts == 800_000
    foreign = [a_gpu_pod("a", "n", gpus=2), a_gpu_pod("b", "m", gpus=8)]
    assert cluster(*nodes, domain, pool, *foreign).power_domains[0].base_milliwatts == 1_800_000


def test_a_share_of_a_gpu_draws_its_share() -> None:
    found = cluster(
        fake_node("n", T4, 1, replicas=4, labels=ROW),
        a_power_domain("row-a", ROW, budget_watts=900, quantile="0.5"),
        a_pool("p", KWOK, power=POWER),
        a_gpu_pod("quarter", "n", gpus=1),
    )
    assert found.power_domains[0].base_milliwatts == 100_000 + 500_000 // 4


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, (True, True)),
        ({"spec": {"unschedulable": True}}, (False, True)),
        (
            {"spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}},
            (False, False),
        ),
    ],
    ids=["open", "cordoned", "noticed"],
)
def test_what_is_closed_is_supplied_no_more_than_it_can_be_used(
    change: dict[str, Any], state: tuple[bool, bool]
) -> None:
    found = cluster({**fake_node("n"), **change})
    assert (found.nodes[0].open, found.nodes[0].usable) == state
    assert found.supply_milli == ({H100: 8000} if state[1] else {})


LEAVING = {"deletionTimestamp": NOW.isoformat()}


@pytest.mark.parametrize(
    "change",
    [
        [a_gpu_pod("a", "n-0", gpus=2)],
        [a_gpu_pod("a", "n-0", gpus=2) | {"metadata": {"name": "a", "uid": "a", **LEAVING}}],
        [a_pool("p", KWOK, capacityType="Spot")],
        [a_power_domain("d", KWOK, budget_watts=10_000)],
        [a_training_job("j", topology={"required": "type"})],
    ],
    ids=["taken", "on its way out", "pool", "domain", "level"],
)
def test_nodes_that_were_made_before_never_change_the_cluster(change: list[Manifest]) -> None:
    observer, translator = Observer(), ProblemBuilder()
    plain = objects_of(fake_node("n-0"), fake_node("n-1"))
    changed = replace(objects_of(fake_node("n-0"), *change), nodes=plain.nodes)
    for objects in (plain, changed, plain):
        snapshot = observer.snapshot(objects, NOW)
        assert translator.cluster(snapshot) == cluster_of(snapshot, {})


def test_only_the_nodes_that_have_changed_are_made_again() -> None:
    observer, translator = Observer(), ProblemBuilder()
    plain = objects_of(fake_node("n-0"), fake_node("n-1"))
    taken = replace(plain, pods=objects_of(a_gpu_pod("a", "n-0", gpus=2)).pods)
    before, after = (
        translator.cluster(observer.snapshot(objects, NOW)).nodes for objects in (plain, taken)
    )
    assert before[1] is after[1]
    assert before[0] != after[0]
