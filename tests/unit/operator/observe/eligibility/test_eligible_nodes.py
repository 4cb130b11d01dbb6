"""The longest constraints that fit into a manifest are looked up among ten thousand nodes."""

import time

import pytest

from plimsoll.kube.objects.objects import (
    Node,
    NodeMeta,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    Taint,
    Toleration,
)
from plimsoll.observe.eligibility.eligibility import Constraints
from plimsoll.observe.eligibility.eligible_nodes import EligibleNodes

NODES = [
    Node(
        metadata=NodeMeta(name=f"n-{n}", labels={"host": f"n-{n}", "zone": f"z{n % 9}"}),
        spec=NodeSpec(taints=(Taint(key="gpu", effect="NoSchedule", value=f"{n % 5}"),)),
    )
    for n in range(10_000)
]
TOLERANT = (Toleration(operator="Exists"),)
SECONDS = 8.0
"""Node by node the same took minutes."""


def requiring(key: str, operator: str, *values: str) -> NodeSelectorTerm:
    return NodeSelectorTerm(match_expressions=(NodeSelectorRequirement(key, operator, values),))


LONG = {
    "many terms": tuple(requiring("zone", "In", f"none-{n}") for n in range(4000)),
    "many keys": tuple(requiring(f"key-{n}", "DoesNotExist") for n in range(4000)),
    "many values": (requiring("host", "NotIn", *(f"x-{n}" for n in range(30_000))),),
    "comparisons": tuple(requiring("zone", "Gt", f"{n}") for n in range(4000)),
    "a number of many digits": (requiring("zone", "Gt", "9" * 500_000),),
}


@pytest.mark.parametrize("terms", LONG.values(), ids=LONG.keys())
def test_long_affinity_is_looked_up_and_not_tried_node_by_node(
    terms: tuple[NodeSelectorTerm, ...],
) -> None:
    nodes = EligibleNodes(NODES)
    started = time.process_time()
    nodes.mask(Constraints(terms=terms, tolerations=TOLERANT))
    assert time.process_time() - started < SECONDS


def test_many_tolerations_are_compared_with_each_kind_of_node_once() -> None:
    many = tuple(Toleration(key="gpu", operator="Equal", value=f"v{n}") for n in range(10_000))
    nodes = EligibleNodes(NODES)
    started = time.process_time()
    assert nodes.mask(Constraints(tolerations=many)) == 0
    assert time.process_time() - started < SECONDS


def test_a_number_longer_than_numbers_are_is_none() -> None:
    node = Node(metadata=NodeMeta(name="n", labels={"a": "5"}))
    asked = Constraints(terms=(requiring("a", "Lt", "9" * 5000),))
    assert EligibleNodes([node]).mask(asked) == 0
