from dataclasses import replace

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.kube.objects.objects import (
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    NodeSpec,
    ObjectMeta,
    Taint,
    Toleration,
)
from plimsoll.observe.eligibility.eligibility import Constraints, is_eligible
from plimsoll.observe.eligibility.eligible_nodes import EligibleNodes

words = st.sampled_from(["a", "b", "1", "2", "10", ""])
effects = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
taints = st.builds(Taint, key=words, effect=effects, value=words)
tolerations = st.builds(
    Toleration,
    key=words,
    operator=st.sampled_from(["", "Equal", "Exists"]),
    value=words,
    effect=st.one_of(st.just(""), effects),
)
operators = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"])
requirements = st.builds(
    NodeSelectorRequirement,
    key=words,
    operator=operators,
    values=st.lists(words, min_size=1, max_size=2).map(tuple),
)
fields = st.builds(
    NodeSelectorRequirement,
    key=st.sampled_from(["metadata.name", "metadata.other"]),
    operator=operators,
    values=st.lists(words, max_size=2).map(tuple),
)
terms = st.builds(
    NodeSelectorTerm,
    match_expressions=st.lists(requirements, max_size=3).map(tuple),
    match_fields=st.lists(fields, max_size=1).map(tuple),
)
constraints = st.builds(
    Constraints,
    node_selector=st.dictionaries(words, words, max_size=1).map(lambda d: tuple(d.items())),
    terms=st.one_of(st.none(), st.lists(terms, max_size=3).map(tuple)),
    tolerations=st.lists(tolerations, max_size=3).map(tuple),
)
nodes = st.builds(
    Node,
    metadata=st.builds(ObjectMeta, name=words, labels=st.dictionaries(words, words, max_size=3)),
    spec=st.builds(
        NodeSpec, unschedulable=st.booleans(), taints=st.lists(taints, max_size=3).map(tuple)
    ),
)


@given(constraints, nodes, taints)
def test_a_taint_never_lets_a_pod_in(asked: Constraints, node: Node, taint: Taint) -> None:
    spec = msgspec.structs.replace(node.spec, taints=(*node.spec.taints, taint))
    tainted = msgspec.structs.replace(node, spec=spec)
    assert is_eligible(asked, node) or not is_eligible(asked, tainted)


@given(constraints, nodes, tolerations)
def test_a_toleration_never_keeps_a_pod_out(
    asked: Constraints, node: Node, toleration: Toleration
) -> None:
    tolerant = replace(asked, tolerations=(*asked.tolerations, toleration))
    assert is_eligible(tolerant, node) or not is_eligible(asked, node)


@given(constraints, nodes)
def test_tolerating_everything_leaves_only_selectors_to_decide(
    asked: Constraints, node: Node
) -> None:
    tolerant = replace(asked, tolerations=(Toleration(operator="Exists"),))
    bare = msgspec.structs.replace(node, spec=NodeSpec())
    assert is_eligible(tolerant, node) is is_eligible(asked, bare)


@given(requirements, nodes)
def test_an_operator_and_its_opposite_divide_all_nodes(
    asked: NodeSelectorRequirement, node: Node
) -> None:
    bare = msgspec.structs.replace(node, spec=NodeSpec())

    def holds(operator: str) -> bool:
        expression = msgspec.structs.replace(asked, operator=operator)
        return is_eligible(Constraints(terms=(NodeSelectorTerm((expression,)),)), bare)

    assert holds("In") is not holds("NotIn")
    assert holds("Exists") is not holds("DoesNotExist")


@given(constraints, nodes, terms)
def test_a_further_term_never_keeps_a_pod_out(
    asked: Constraints, node: Node, term: NodeSelectorTerm
) -> None:
    wider = replace(asked, terms=(*(asked.terms or ()), term))
    assert asked.terms is None or is_eligible(wider, node) or not is_eligible(asked, node)


@given(constraints, st.lists(nodes, max_size=12))
def test_many_nodes_at_once_are_those_that_are_eligible_one_by_one(
    asked: Constraints, some: list[Node]
) -> None:
    found = EligibleNodes(some).mask(asked)
    assert found == sum(is_eligible(asked, node) << place for place, node in enumerate(some))
