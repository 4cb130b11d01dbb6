"""What the twin's schedulers and kubelets read from pods and nodes, and how they report on them."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from plimsoll.api.values.quantities import parse_quantity, units
from plimsoll.clock import Clock
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll_simulator.cluster.api_server import ApiServer, Key, timestamp
from plimsoll_simulator.cluster.patches import Raw, applied

READY = "Ready"
SCHEDULED = "PodScheduled"
_OVER = frozenset({"Succeeded", "Failed"})
Amounts = Mapping[str, Decimal]
"""How much of each resource."""


def key_of(plural: str, found: Raw) -> Key:
    """What an object is stored under."""
    return Key(plural, found["metadata"].get("namespace", ""), found["metadata"]["name"])


def is_deleted(pod: Raw) -> bool:
    """Whether a pod has been told to end."""
    return "deletionTimestamp" in pod["metadata"]


def is_over(pod: Raw) -> bool:
    """Whether a pod's containers have ended for good."""
    return pod["status"]["phase"] in _OVER


def gpus_of(pod: Raw) -> int:
    """The GPUs that a pod's first container takes."""
    return gpus_in(pod["spec"]["containers"][0].get("resources", {}).get("limits", {}))


def gpus_in(amounts: Mapping[str, str]) -> int:
    """The GPUs among amounts of resources."""
    return sum(units(amount) for name, amount in amounts.items() if is_gpu_resource(name))


def holds(found: Raw, condition: str) -> bool:
    """Whether a condition of a pod or node is true."""
    return condition in _true_conditions(found)


def may_serve(pod: Raw) -> bool:
    """Whether a pod's readiness gates are open, if it has any."""
    gates = (each["conditionType"] for each in pod["spec"].get("readinessGates", ()))
    return _true_conditions(pod).issuperset(gates)


def _true_conditions(found: Raw) -> set[str]:
    conditions: Iterable[Mapping[str, str]] = found["status"].get("conditions", ())
    return {each["type"] for each in conditions if each["status"] == "True"}


def condition(kind: str, clock: Clock, *, why_not: str = "", reason: str = "") -> Raw:
    """A condition that holds unless something says why it does not."""
    return {
        "type": kind,
        "status": "False" if why_not else "True",
        "reason": reason,
        "message": why_not,
        "lastTransitionTime": timestamp(clock),
    }


def report(api: ApiServer, key: Key, status: Mapping[str, object]) -> Raw:
    """Write what a kubelet or a scheduler says of a pod; return the pod."""
    return api.update(key, lambda old: applied(old, {"status": status}), only="status")


def wanted_node(pod: Raw) -> str:
    """The node that a pod's affinity sends it to, "" if it names none."""
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: Iterable[Mapping[str, Any]] = required.get("nodeSelectorTerms", ())
    fields = (field for term in terms for field in term.get("matchFields", ()))
    return next((field["values"][0] for field in fields), "")


def requests_of(pod: Raw) -> dict[str, Decimal]:
    """What a pod asks of its node: CPU, memory, devices, and one of the node's places for pods."""
    amounts: dict[str, Decimal] = {"pods": Decimal(1)}
    for container in pod["spec"]["containers"]:
        for name, text in container["resources"]["requests"].items():
            amounts[name] = amounts.get(name, Decimal(0)) + parse_quantity(text)
    return amounts


def lacking(node: Raw, taken: Amounts, wanted: Amounts) -> str:
    """The first resource of which a node has too little left, "" if there is none."""
    offered = node["status"]["allocatable"]
    for name, amount in wanted.items():
        if taken.get(name, Decimal(0)) + amount > parse_quantity(offered.get(name, 0)):
            return name
    return ""
