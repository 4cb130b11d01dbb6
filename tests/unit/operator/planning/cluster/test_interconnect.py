"""What the solver knows of a gang's network: by what pools and the job itself say."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.planning.actions import Admit
from plimsoll.planning.cluster.interconnect import lost_percent
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import GpuType
from plimsoll_placement.solve import solve
from support.clusters.seen import seen
from support.objects.job_manifests import a_pool, a_training_job

LABELS = {"block": "plimsoll.dev/block", "rack": "plimsoll.dev/rack", "nvlink": "plimsoll.dev/nv"}
Gbps = Mapping[str, int | str | None]
FAST: Gbps = {"block": 100, "rack": 400, "nvlink": 3600}


def a_network(gpu_type: str, gbps: Gbps, name: str = "", **selector: str) -> Manifest:
    """A pool that says of each level, the widest first, what bandwidth it has, if any."""
    keys = [
        {"name": level, "label": LABELS[level]} | ({"bandwidthGbps": value} if value else {})
        for level, value in gbps.items()
    ]
    labels = {"nvidia.com/gpu.product": gpu_type, **selector}
    return a_pool(name or gpu_type.lower(), labels, topologyKeys=keys)


def crossing(*manifests: Manifest, **topology: Any) -> Mapping[GpuType, int]:  # noqa: ANN401 - as users write it
    """What a gang loses by type, on a cluster with a node of each of three types."""
    nodes = [fake_node(kind.lower(), kind) for kind in (H100, A100, L4)]
    job = a_training_job("j", workers=2, topology=topology)
    problem = plan_input_of(seen(*nodes, *manifests, job), ProblemBuilder()).problem
    return problem.jobs[0].crossing_percent


@pytest.mark.parametrize(
    ("communication", "inside", "across", "lost"),
    [
        (20, 400, 100, 38),  # a step takes 0.8 + 0.2 · 4 = 1.6 times as long: 1 - 1/1.6
        (50, 3600, 400, 80),  # 0.5 + 0.5 · 9 = 5
        (100, 400, 100, 75),  # nothing but all-reduce: as much slower as the network
        (100, 1000, 1, 100),
        (0, 3600, 100, 0),  # no all-reduce at all
        (30, 400, 400, 0),  # a network that is the same everywhere
        (1, 400, 399, 0),
    ],
)
def test_a_gang_loses_what_its_all_reduce_takes_longer(
    communication: int, inside: int, across: int, lost: int
) -> None:
    assert lost_percent(communication, Decimal(inside), Decimal(across)) == lost


@pytest.mark.parametrize("name", ["rack", "plimsoll.dev/rack"])
def test_types_lose_by_their_own_networks(name: str) -> None:
    pools = [a_network(H100, FAST), a_network(A100, {"block": "50", "rack": "100"})]
    assert crossing(*pools, preferred=name, communicationPercent=20) == {H100: 38, A100: 17}


def test_the_next_wider_level_that_has_a_bandwidth_counts() -> None:
    pool = a_network(H100, {"block": 400, "rack": None, "nvlink": 3600})
    assert crossing(pool, preferred="nvlink", communicationPercent=50) == {H100: 80}


@pytest.mark.parametrize(
    ("gbps", "topology"),
    [
        (FAST, {"preferred": "rack"}),
        (FAST, {}),
        (FAST, {"preferred": "block", "communicationPercent": 20}),
        ({"block": 100, "rack": None}, {"preferred": "rack", "communicationPercent": 20}),
        ({"block": None, "rack": 400}, {"preferred": "rack", "communicationPercent": 20}),
        ({"block": 100, "nvlink": 400}, {"preferred": "rack", "communicationPercent": 20}),
        ({}, {"preferred": "rack", "communicationPercent": 20}),
    ],
)
def test_nothing_is_said_of_a_type_of_which_not_all_is_known(
    gbps: Gbps, topology: Mapping[str, Any]
) -> None:
    assert crossing(a_network(H100, gbps), **topology) == {}


def test_of_unlike_networks_of_one_type_the_slowest_counts() -> None:
    more = fake_node("more", H100, labels={"nic": "slow"})
    silent = fake_node("silent", H100, labels={"nic": "none"})
    pools = [
        a_network(H100, {"block": 50, "rack": 200}, "a-slow", nic="slow"),
        a_network(H100, {"block": None, "rack": None}, "b-silent", nic="none"),
        a_network(H100, {"block": 200, "rack": 400}, "c-fast"),
    ]
    wishes = {"preferred": "rack", "communicationPercent": 20}
    assert crossing(*pools, **wishes) == {H100: 17}  # within racks alone it is 400 against 200
    assert crossing(*pools, more, silent, **wishes) == {H100: 38}  # 200 against 50


def test_a_change_of_the_network_is_seen_at_once() -> None:
    wishes = {"preferred": "rack", "communicationPercent": 20}
    known, node, job = (
        ProblemBuilder(),
        fake_node("n"),
        a_training_job("j", workers=2, topology=wishes),
    )
    before, after = (
        plan_input_of(seen(node, job, a_network(H100, gbps)), known)
        .problem.jobs[0]
        .crossing_percent
        for gbps in (FAST, {**FAST, "rack": 100})
    )
    assert (before, after) == ({H100: 38}, {H100: 0})


def a_node_in(rack: str) -> Manifest:
    labels = {LABELS["rack"]: rack, LABELS["block"]: "block-1"}
    return fake_node(f"{rack}-node", H100, 4, labels=labels)


@pytest.mark.parametrize(("communication", "workers", "racks"), [(5, 8, 2), (50, 4, 1)])
def test_a_gang_with_much_communication_stays_in_a_rack_with_fewer_workers(
    communication: int, workers: int, racks: int
) -> None:
    wishes = {"preferred": "rack", "communicationPercent": communication}
    gang = a_training_job(
        "gang", workers=(2, 8), allowed=(2, 4, 8), rates={H100: {2: 2, 8: 8}}, topology=wishes
    )
    snapshot = seen(a_node_in("rack-1"), a_node_in("rack-2"), a_network(H100, FAST), gang)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    (admit,) = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem))).changes
    assert isinstance(admit, Admit)
    assert len(admit.assignments) == workers
    assert len({name for assignment in admit.assignments for name in assignment.nodes}) == racks
