"""Decide whether a pod may run on a node at all, as kube-scheduler does.

It covers the filters of NodeAffinity, TaintToleration and NodeUnschedulable: node selector,
required node affinity, tolerations and the cordon. Free capacity is not considered, nor is what
`notices` knows of a node's future.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from plimsoll.kube.objects.objects import (
    Labels,
    Node,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)

_BLOCKING_EFFECTS = ("NoSchedule", "NoExecute")
_CORDON = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
NAME_FIELD = "metadata.name"
_INTEGER = re.compile(r"(?P<sign>[+-]?)0*(?P<digits>[0-9]{1,19})")


@dataclass(frozen=True, slots=True)
class Constraints:
    """A pod's constraints on its node; hashable, and equal for pods of one template.

    `terms` is None without required affinity; otherwise one of the terms must hold, so an empty
    tuple matches no node.
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[NodeSelectorTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()


class RefusalKind(StrEnum):
    """What keeps a pod off a node."""

    SELECTOR = "NodeSelector"
    AFFINITY = "NodeAffinity"
    TAINT = "Taint"
    CORDON = "Cordon"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a pod cannot run on a node; `detail` is for people."""

    kind: RefusalKind
    detail: str


def constraints_of(spec: PodSpec) -> Constraints:
    """The constraints of a pod with this spec."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    return Constraints(
        node_selector=tuple(sorted(spec.node_selector.items())),
        terms=None if required is None else required.node_selector_terms,
        tolerations=spec.tolerations,
    )


def refusal(constraints: Constraints, node: Node) -> Refusal | None:
    """Why a pod with these constraints cannot run on `node`; None if it can."""
    labels = node.metadata.labels
    for key, value in constraints.node_selector:
        if labels.get(key) != value:
            return Refusal(RefusalKind.SELECTOR, f"{key}={value}")
    if constraints.terms is not None and not any(_holds(t, node) for t in constraints.terms):
        return Refusal(RefusalKind.AFFINITY, "no term of the required node affinity holds")
    if node.spec.unschedulable and not _is_tolerated(_CORDON, constraints.tolerations):
        return Refusal(RefusalKind.CORDON, "the node is cordoned")
    for taint in node.spec.taints:
        if taint.effect in _BLOCKING_EFFECTS and not _is_tolerated(taint, constraints.tolerations):
            return Refusal(RefusalKind.TAINT, f"{taint.key}={taint.value}:{taint.effect}")
    return None


def is_eligible(constraints: Constraints, node: Node) -> bool:
    """Whether a pod with these constraints could run on `node`, given free capacity."""
    return refusal(constraints, node) is None


def _is_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    # An empty effect or key matches all.
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case "Lt":
            return _is_less(taint.value, toleration.value)
        case "Gt":
            return _is_less(toleration.value, taint.value)
        case _:
            return False


def _holds(term: NodeSelectorTerm, node: Node) -> bool:
    if not term.match_expressions and not term.match_fields:
        return False
    fields = {NAME_FIELD: node.metadata.name}
    return all(is_met(each, node.metadata.labels) for each in term.match_expressions) and all(
        is_field_met(each, fields) for each in term.match_fields
    )


def is_met(requirement: NodeSelectorRequirement, labels: Labels) -> bool:
    """Whether a node with these labels meets a requirement."""
    test = _OPERATORS.get(requirement.operator)
    return test is not None and test(labels.get(requirement.key), requirement.values)


def is_field_met(requirement: NodeSelectorRequirement, fields: Mapping[str, str]) -> bool:
    """Whether a node with these fields meets a requirement."""
    # An unknown field counts as empty, and only one value may be given.
    if requirement.operator not in ("In", "NotIn") or len(requirement.values) != 1:
        return False
    is_equal = fields.get(requirement.key, "") == requirement.values[0]
    return is_equal is (requirement.operator == "In")


_OPERATORS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda label, values: label is not None and label in values,
    # A node without the label is in no set either.
    "NotIn": lambda label, values: label not in values,
    "Exists": lambda label, _values: label is not None,
    "DoesNotExist": lambda label, _values: label is None,
    "Gt": lambda label, values: len(values) == 1 and _is_less(values[0], label),
    "Lt": lambda label, values: len(values) == 1 and _is_less(label, values[0]),
}


def _is_less(one: str | None, other: str | None) -> bool:
    """Whether both are 64-bit integers as Go parses them, and the first is smaller."""
    left, right = _integer(one), _integer(other)
    return left is not None and right is not None and left < right


def _integer(text: str | None) -> int | None:
    found = _INTEGER.fullmatch(text) if text else None
    if found is None:
        return None
    value = int(found["sign"] + found["digits"])
    return value if -(2**63) <= value < 2**63 else None
