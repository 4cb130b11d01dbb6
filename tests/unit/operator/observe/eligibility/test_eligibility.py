import msgspec
import pytest

from plimsoll.kube.objects.objects import Node, NodeSpec, PodSpec, Taint, Toleration
from plimsoll.observe.eligibility.eligibility import (
    Constraints,
    RefusalKind,
    constraints_of,
    is_eligible,
    refusal,
)
from plimsoll.observe.eligibility.eligible_nodes import EligibleNodes
from support.objects.scheduling_cases import CASES, Case


def a_node(case: Case) -> Node:
    document = {
        "metadata": {"name": case.node_name, "labels": dict(case.labels)},
        "spec": {"taints": list(case.taints), "unschedulable": case.cordoned},
    }
    return msgspec.convert(document, Node)


def constraints(case: Case) -> Constraints:
    return constraints_of(msgspec.convert(case.pod, PodSpec))


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in CASES])
def test_a_pod_runs_where_the_scheduler_would_let_it(case: Case) -> None:
    assert is_eligible(constraints(case), a_node(case)) is case.runs


def case_named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


@pytest.mark.parametrize(
    ("name", "kind", "detail"),
    [
        ("selector differs", RefusalKind.SELECTOR, "gpu=a100"),
        ("not among in", RefusalKind.AFFINITY, "affinity"),
        ("tainted", RefusalKind.TAINT, "dedicated=research:NoSchedule"),
        ("cordoned", RefusalKind.CORDON, "cordoned"),
    ],
)
def test_a_refusal_says_what_stands_in_the_way(name: str, kind: RefusalKind, detail: str) -> None:
    case = case_named(name)
    found = refusal(constraints(case), a_node(case))
    assert found is not None
    assert found.kind is kind
    assert detail in found.detail


def test_the_mask_has_the_bit_of_each_node_that_would_do() -> None:
    nodes = [a_node(case_named(name)) for name in ("tainted", "nothing asked", "cordoned", "in")]
    assert EligibleNodes(nodes).mask(Constraints()) == 0b1010


def test_constraints_of_equal_templates_are_one_key() -> None:
    specs = [{"nodeSelector": {"a": "1", "b": "2"}}, {"nodeSelector": {"b": "2", "a": "1"}}]
    one, other = (constraints_of(msgspec.convert(spec, PodSpec)) for spec in specs)
    assert one == other
    assert hash(one) == hash(other)


@pytest.mark.parametrize(
    ("operator", "bound", "value", "tolerated"),
    [
        ("Gt", "900", "950", True),
        ("Gt", "950", "950", False),
        ("Lt", "1000", "950", True),
        ("Lt", "950", "950", False),
        ("Gt", "-5", "-4", True),
        ("Gt", "900", "much", False),
        ("Lt", "much", "950", False),
        ("Lt", "9223372036854775808", "950", False),
        ("Like", "950", "950", False),
    ],
)
def test_taints_are_compared_as_64_bit_numbers(
    operator: str, bound: str, value: str, *, tolerated: bool
) -> None:
    # Alpha in Kubernetes 1.35 (TaintTolerationComparisonOperators); not on in the tests' cluster.
    node = Node(spec=NodeSpec(taints=(Taint("sla", "NoSchedule", value),)))
    asks = Constraints(tolerations=(Toleration("sla", operator, bound),))
    assert is_eligible(asks, node) is tolerated
