"""In which domain a gang is placed: the cheapest that has room, and of those the tightest."""

from dataclasses import replace

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Node
from support.problems.builders import a_node, a_problem, a_role, a_training_job

DOLLAR = 1_000_000
RACKS = ("rack",)


def a_rack(name: str, *prices: int) -> list[Node]:
    """Nodes with two GPUs each at these dollars an hour."""
    return [
        a_node(
            f"{name}-{index}", gpus=2, topology=(name,), microdollars_per_gpu_hour=price * DOLLAR
        )
        for index, price in enumerate(prices)
    ]


def domain_of_gang(*nodes: Node, pods: int, required: bool = False) -> str:
    """The rack that a gang of so many single GPUs gets that prefers or requires to be in one."""
    job = a_training_job(worker=a_role(counts=(pods,)))
    job = replace(job, **{"required_level" if required else "preferred_level": 0})
    [assignments] = greedy_placements(a_problem(nodes, [job], levels=RACKS)).values()
    [rack] = {name.split("-")[0] for each in assignments for name in each.nodes}
    return rack


def test_the_cheapest_domain_comes_before_the_tightest() -> None:
    tight, cheap = a_rack("a", 3), a_rack("b", 1, 1)
    assert domain_of_gang(*tight, *cheap, pods=2) == "b"
    assert domain_of_gang(*tight, *cheap, pods=2, required=True) == "b"


def test_of_domains_that_cost_the_same_the_tightest_is_taken() -> None:
    assert domain_of_gang(*a_rack("a", 1, 1), *a_rack("b", 1), pods=2) == "b"


def test_what_counts_is_what_the_pods_cost_on_the_cheapest_nodes_of_a_domain() -> None:
    mixed, even = a_rack("a", 1, 9), a_rack("b", 2, 2)
    assert domain_of_gang(*mixed, *even, pods=2) == "a"
    assert domain_of_gang(*mixed, *even, pods=4) == "b"
