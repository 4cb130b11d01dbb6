"""Find the nodes on which a pod may run, label by label instead of node by node.

A pod's constraints may be as long as a manifest, and there may be ten thousand nodes. So nodes are
indexed by label value, and nodes with the same taints are checked once. What each constraint means
is defined in `eligibility.py` only.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence

from plimsoll.kube.objects.objects import Node, NodeSelectorRequirement, NodeSelectorTerm
from plimsoll.observe.eligibility.eligibility import (
    NAME_FIELD,
    Constraints,
    is_eligible,
    is_field_met,
    is_met,
)

Masks = Mapping[str, int]
"""By label value, the nodes that have it: bit i stands for the i-th node."""


class EligibleNodes:
    """The nodes in order, with indexes of the labels asked about so far."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._all = (1 << len(nodes)) - 1
        self._keys = frozenset(key for node in nodes for key in node.metadata.labels)
        self._by_key: dict[str, Masks] = {}
        self._place = {node.metadata.name: place for place, node in enumerate(nodes)}
        alike: defaultdict[Hashable, list[int]] = defaultdict(list)
        for place, node in enumerate(nodes):
            alike[node.spec.unschedulable, node.spec.taints].append(place)
        self._alike = [(nodes[places[0]], _bits(places)) for places in alike.values()]

    def mask(self, constraints: Constraints) -> int:
        """The nodes on which a pod with these constraints could run, given free capacity."""
        found, tolerant = 0, Constraints(tolerations=constraints.tolerations)
        for node, alike in self._alike:
            found |= alike if is_eligible(tolerant, node) else 0
        for key, value in constraints.node_selector:
            found &= self._with(key).get(value, 0)
        if constraints.terms is None or not found:
            return found
        terms = 0
        for term in constraints.terms:
            terms |= self._meeting(term)
        return found & terms

    def _meeting(self, term: NodeSelectorTerm) -> int:
        if not term.match_expressions and not term.match_fields:
            return 0
        found = self._all
        for each in term.match_expressions:
            found &= self._of(each)
        for each in term.match_fields:
            found &= self._named(each)
        return found

    def _of(self, requirement: NodeSelectorRequirement) -> int:
        values = self._with(requirement.key)
        if requirement.operator in ("In", "NotIn"):
            found = 0
            for value in set(requirement.values) & values.keys():
                found |= values[value]
            return found if requirement.operator == "In" else self._all & ~found
        met = self._all if is_met(requirement, {}) else 0
        for value, mask in values.items():
            holds = is_met(requirement, {requirement.key: value})
            met = met | mask if holds else met & ~mask
        return met

    def _named(self, requirement: NodeSelectorRequirement) -> int:
        """The nodes that meet a field requirement; the name is the only field."""
        name = requirement.values[0] if requirement.values else ""
        met = self._all if is_field_met(requirement, {NAME_FIELD: f"other than {name}"}) else 0
        mask = 1 << self._place[name] if name in self._place else 0
        return met | mask if is_field_met(requirement, {NAME_FIELD: name}) else met & ~mask

    def _with(self, key: str) -> Masks:
        """The nodes with a label, by its value."""
        if key not in self._keys:
            return {}
        if key not in self._by_key:
            labels = (node.metadata.labels.get(key) for node in self._nodes)
            self._by_key[key] = _masks(labels)
        return self._by_key[key]


def _masks(values: Iterable[str | None]) -> Masks:
    """For each value the positions that have it, as bits; positions without a value are in none."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, value in enumerate(values):
        if value is not None:
            places[value].append(place)
    return {value: _bits(at) for value, at in places.items()}


def _bits(places: Sequence[int]) -> int:
    """An integer with these bits set."""
    whole = bytearray(places[-1] // 8 + 1)
    for place in places:
        whole[place // 8] |= 1 << place % 8
    return int.from_bytes(whole, "little")
