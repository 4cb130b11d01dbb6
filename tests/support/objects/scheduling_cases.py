"""Pods and nodes, and whether kube-scheduler lets the one run on the other.

The unit tests hold our own decision against this table; the integration tests hold the table
against a real kube-scheduler.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Manifest = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """A pod that asks something of its node, and a node; `node_name` is set by who plays it."""

    name: str
    runs: bool
    pod: Manifest = field(default_factory=dict[str, Any])
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: Sequence[Mapping[str, str]] = ()
    cordoned: bool = False

    @property
    def node_name(self) -> str:
        """The name of the case's node, which its pod may ask for."""
        return node_named(self.name)


def node_named(case: str) -> str:
    """The name of the node that plays in a case."""
    return "case-" + "".join(c if c.isalnum() else "-" for c in case.lower())


def wants(*terms: Manifest) -> Manifest:
    """A pod with required node affinity of these terms."""
    required = {"nodeSelectorTerms": list(terms)}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: required}}}


def prefers(term: Manifest) -> Manifest:
    """A pod that would rather run where the term holds."""
    preferred = [{"weight": 1, "preference": term}]
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: preferred}}}


def label(key: str, operator: str, *values: str) -> Manifest:
    """A term of one expression on a label."""
    return {"matchExpressions": [requirement(key, operator, *values)]}


def named(operator: str, *values: str) -> Manifest:
    """A term on the node's name."""
    return {"matchFields": [requirement("metadata.name", operator, *values)]}


def requirement(key: str, operator: str, *values: str) -> Manifest:
    """What a term is made of; the API wants no values at all for Exists and DoesNotExist."""
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def taint(key: str, effect: str, value: str = "") -> Mapping[str, str]:
    """A taint; without a value it has none."""
    return {"key": key, "effect": effect, **({"value": value} if value else {})}


def tolerates(**toleration: str) -> Manifest:
    """A pod with one toleration."""
    return {"tolerations": [toleration]}


DEDICATED = (taint("dedicated", "NoSchedule", "research"),)
GPU = {"gpu": "h100", "speed": "9"}

CASES = (
    Case("nothing asked", runs=True),
    # The node selector.
    Case("selector matches", runs=True, pod={"nodeSelector": {"gpu": "h100"}}, labels=GPU),
    Case("selector differs", runs=False, pod={"nodeSelector": {"gpu": "a100"}}, labels=GPU),
    Case("selector names no label", runs=False, pod={"nodeSelector": {"zone": "a"}}, labels=GPU),
    Case(
        "selector is all or nothing",
        runs=False,
        pod={"nodeSelector": {"gpu": "h100", "speed": "8"}},
        labels=GPU,
    ),
    Case(
        "selector of an empty value", runs=True, pod={"nodeSelector": {"e": ""}}, labels={"e": ""}
    ),
    # Required node affinity.
    Case("in", runs=True, pod=wants(label("gpu", "In", "a100", "h100")), labels=GPU),
    Case("not among in", runs=False, pod=wants(label("gpu", "In", "a100")), labels=GPU),
    Case("in without the label", runs=False, pod=wants(label("zone", "In", "a")), labels=GPU),
    Case("not in", runs=True, pod=wants(label("gpu", "NotIn", "a100")), labels=GPU),
    Case("excluded by not in", runs=False, pod=wants(label("gpu", "NotIn", "h100")), labels=GPU),
    Case("not in without the label", runs=True, pod=wants(label("zone", "NotIn", "a")), labels=GPU),
    Case("exists", runs=True, pod=wants(label("gpu", "Exists")), labels=GPU),
    Case("exists not", runs=False, pod=wants(label("zone", "Exists")), labels=GPU),
    Case("does not exist", runs=True, pod=wants(label("zone", "DoesNotExist")), labels=GPU),
    Case("does exist", runs=False, pod=wants(label("gpu", "DoesNotExist")), labels=GPU),
    Case("greater", runs=True, pod=wants(label("speed", "Gt", "8")), labels=GPU),
    Case("equal is not greater", runs=False, pod=wants(label("speed", "Gt", "9")), labels=GPU),
    Case("compared as numbers", runs=True, pod=wants(label("speed", "Lt", "10")), labels=GPU),
    Case("equal is not less", runs=False, pod=wants(label("speed", "Lt", "9")), labels=GPU),
    Case("a word is not greater", runs=False, pod=wants(label("gpu", "Gt", "1")), labels=GPU),
    Case("greater without the label", runs=False, pod=wants(label("zone", "Gt", "1")), labels=GPU),
    Case("a float is no number", runs=False, pod=wants(label("s", "Gt", "1")), labels={"s": "9.5"}),
    Case(
        "one of two terms",
        runs=True,
        pod=wants(label("gpu", "In", "a100"), label("speed", "Exists")),
        labels=GPU,
    ),
    Case(
        "one of two expressions",
        runs=False,
        pod=wants(
            {"matchExpressions": [requirement("gpu", "Exists"), requirement("zone", "Exists")]}
        ),
        labels=GPU,
    ),
    Case("an empty term", runs=False, pod=wants({}), labels=GPU),
    Case(
        "an empty term and a good one", runs=True, pod=wants({}, label("gpu", "Exists")), labels=GPU
    ),
    Case("its name", runs=True, pod=wants(named("In", node_named("its name")))),
    Case("another name", runs=False, pod=wants(named("In", "elsewhere"))),
    Case("not another name", runs=True, pod=wants(named("NotIn", "elsewhere"))),
    Case("not its name", runs=False, pod=wants(named("NotIn", node_named("not its name")))),
    Case(
        "its name and a wrong label",
        runs=False,
        pod=wants(
            {**named("In", node_named("its name and a wrong label")), **label("zone", "Exists")}
        ),
        labels=GPU,
    ),
    Case(
        "affinity and selector must both hold",
        runs=False,
        pod={**wants(label("gpu", "Exists")), "nodeSelector": {"speed": "1"}},
        labels=GPU,
    ),
    Case("a preference binds nobody", runs=True, pod=prefers(label("zone", "Exists")), labels=GPU),
    # Taints.
    Case("tainted", runs=False, taints=DEDICATED),
    Case("tainted not to execute", runs=False, taints=(taint("t", "NoExecute"),)),
    Case("tainted softly", runs=True, taints=(taint("t", "PreferNoSchedule"),)),
    Case(
        "tolerated by value",
        runs=True,
        pod=tolerates(key="dedicated", operator="Equal", value="research", effect="NoSchedule"),
        taints=DEDICATED,
    ),
    Case(
        "equal is the default",
        runs=True,
        pod=tolerates(key="dedicated", value="research"),
        taints=DEDICATED,
    ),
    Case(
        "another value is not tolerated",
        runs=False,
        pod=tolerates(key="dedicated", operator="Equal", value="serving"),
        taints=DEDICATED,
    ),
    Case(
        "any value is tolerated",
        runs=True,
        pod=tolerates(key="dedicated", operator="Exists"),
        taints=DEDICATED,
    ),
    Case(
        "another effect is not tolerated",
        runs=False,
        pod=tolerates(key="dedicated", operator="Exists", effect="NoExecute"),
        taints=DEDICATED,
    ),
    Case(
        "any effect is tolerated",
        runs=True,
        pod=tolerates(key="t", operator="Exists"),
        taints=(taint("t", "NoSchedule"), taint("t", "NoExecute")),
    ),
    Case("everything is tolerated", runs=True, pod=tolerates(operator="Exists"), taints=DEDICATED),
    Case(
        "everything of one effect is tolerated",
        runs=False,
        pod=tolerates(operator="Exists", effect="NoSchedule"),
        taints=(*DEDICATED, taint("t", "NoExecute")),
    ),
    Case(
        "one of two taints is tolerated",
        runs=False,
        pod=tolerates(key="dedicated", operator="Exists"),
        taints=(*DEDICATED, taint("t", "NoSchedule")),
    ),
    Case(
        "an empty value is a value",
        runs=False,
        pod=tolerates(key="dedicated", operator="Equal"),
        taints=DEDICATED,
    ),
    # The cordon.
    Case("cordoned", runs=False, cordoned=True),
    Case(
        "cordoned and tolerated",
        runs=True,
        pod=tolerates(key="node.kubernetes.io/unschedulable", operator="Exists"),
        cordoned=True,
    ),
    Case(
        "cordoned, everything tolerated", runs=True, pod=tolerates(operator="Exists"), cordoned=True
    ),
)
