"""GPUPools of what a NodePool may buy."""

from collections.abc import Iterator
from typing import Any, Final

from plimsoll.api.definition import API_VERSION
from plimsoll.api.values.quantities import parse_quantity
from plimsoll.cli.importing.karpenter.choices import Choice, other_requirements
from plimsoll.cli.importing.karpenter.node_pools import (
    INSTANCE_TYPE,
    ZONE,
    NodePool,
    Requirement,
    TemplateSpec,
)
from plimsoll.errors import InvalidQuantity
from plimsoll.observe.nodes.gpus import is_gpu_resource

Raw = dict[str, Any]
POOL: Final = "plimsoll.dev/pool"
"""The label of its nodes, which tells them from those of the NodePool itself."""
UNLIMITED: Final = 10
_NEVER: Final = "Never"
_USUAL_AGE: Final = "720h"
"""After which Karpenter replaces a node whose NodePool says nothing of it."""


def gpu_pool(pool: NodePool, choice: Choice) -> Raw:
    """The manifest of one choice's pool."""
    machine, age = choice.machine, pool.spec.template.spec.expire_after or _USUAL_AGE
    most = most_nodes(pool, machine.gpus)
    provisioning: Raw = {"max": UNLIMITED if most is None else most}
    provisioning |= {"maxAge": age} if age != _NEVER else {}
    provisioning |= {"cpu": machine.cpu} if machine.cpu else {}
    provisioning |= {"memory": machine.memory} if machine.memory else {}
    provisioning |= {"resources": dict(machine.devices)} if machine.devices else {}
    provisioning["nodeClaim"] = _node_claim(pool, choice)
    spec = {
        "nodeSelector": {POOL: choice.name},
        "gpuType": machine.gpu_type,
        "gpusPerNode": machine.gpus,
        "capacityType": choice.capacity_type,
        "provisioning": provisioning,
    }
    meta = {"name": choice.name}
    return {"apiVersion": API_VERSION, "kind": "GPUPool", "metadata": meta, "spec": spec}


def most_nodes(pool: NodePool, gpus: int) -> int | None:
    """How many nodes with so many GPUs the NodePool's limits allow, if they limit them at all."""
    found = [*_most(pool, gpus)]
    return min(found) if found else None


def _most(pool: NodePool, gpus: int) -> Iterator[int]:
    for name, quantity in pool.spec.limits.items():
        try:
            amount = int(parse_quantity(quantity))
        except InvalidQuantity:
            continue
        if is_gpu_resource(name):
            yield amount // gpus
        elif name == "nodes":
            yield amount


def _node_claim(pool: NodePool, choice: Choice) -> Raw:
    template = pool.spec.template
    fields: Raw = {
        "labels": template.metadata.labels,
        "annotations": template.metadata.annotations,
    }
    metadata = {name: value for name, value in fields.items() if value}
    spec = {**_unchanged(template.spec), "requirements": _required(pool, choice)}
    return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}


def _unchanged(spec: TemplateSpec) -> Raw:
    fields: Raw = {
        "nodeClassRef": spec.node_class_ref,
        "taints": [*spec.taints],
        "startupTaints": [*spec.startup_taints],
        "terminationGracePeriod": spec.termination_grace_period,
    }
    return {name: value for name, value in fields.items() if value}


def _required(pool: NodePool, choice: Choice) -> list[Raw]:
    others = [
        _plain(each) for each in other_requirements(pool, choice) if each.key != INSTANCE_TYPE
    ]
    own = [_is(INSTANCE_TYPE, choice.instance_type)]
    own += [_is(ZONE, choice.zone)] if choice.zone else []
    return [*own, *others]


def _is(key: str, value: str) -> Raw:
    return {"key": key, "operator": "In", "values": [value]}


def _plain(requirement: Requirement) -> Raw:
    values = {"values": [*requirement.values]} if requirement.values else {}
    return {"key": requirement.key, "operator": requirement.operator, **values}
