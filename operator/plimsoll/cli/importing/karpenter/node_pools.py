"""Karpenter's NodePool, reduced to what is carried over or said not to be."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from plimsoll.kube.objects.objects import ObjectMeta, Wire

GROUP: Final = "karpenter.sh"
VERSIONS: Final = ("v1",)
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
POOL_OF_A_NODE: Final = "karpenter.sh/nodepool"

Raw = dict[str, Any]


class Requirement(Wire, frozen=True):
    """What a node must be, by one of its labels."""

    key: str
    operator: str
    values: tuple[str, ...] = ()
    min_values: int | None = None

    def allows(self, value: str) -> bool:
        """Whether a node may have this value of the label."""
        match self.operator:
            case "In":
                return value in self.values
            case "NotIn":
                return value not in self.values
            case "DoesNotExist":
                return False
            case "Gt" | "Lt" | "Gte" | "Lte":
                return self._allows_number(value)
            case _:
                return True

    def _allows_number(self, value: str) -> bool:
        try:
            number, bound = int(value), int(self.values[0])
        except (ValueError, IndexError):
            return False
        match self.operator:
            case "Gt":
                return number > bound
            case "Lt":
                return number < bound
            case "Gte":
                return number >= bound
            case _:
                return number <= bound


class TemplateMeta(Wire, frozen=True):
    """What nodes are marked with."""

    labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    annotations: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class TemplateSpec(Wire, frozen=True):
    """What is ordered."""

    node_class_ref: Raw = msgspec.field(default_factory=dict[str, Any])
    requirements: tuple[Requirement, ...] = ()
    taints: tuple[Raw, ...] = ()
    startup_taints: tuple[Raw, ...] = ()
    termination_grace_period: str | None = None
    expire_after: str | None = None


class Template(Wire, frozen=True):
    """The nodes of the pool."""

    metadata: TemplateMeta = TemplateMeta()
    spec: TemplateSpec = TemplateSpec()


class Disruption(Wire, frozen=True):
    """When Karpenter replaces nodes."""

    consolidate_after: str | None = None
    budgets: tuple[Raw, ...] = ()


class NodePoolSpec(Wire, frozen=True):
    """A NodePool's settings."""

    template: Template = Template()
    limits: dict[str, str | int] = msgspec.field(default_factory=dict[str, str | int])
    disruption: Disruption = Disruption()
    weight: int | None = None
    replicas: int | None = None


class NodePool(Wire, frozen=True):
    """A NodePool."""

    metadata: ObjectMeta
    spec: NodePoolSpec = NodePoolSpec()

    @property
    def requirements(self) -> tuple[Requirement, ...]:
        """What each of its nodes must be."""
        return self.spec.template.spec.requirements


KINDS: Final[Mapping[str, type[NodePool]]] = {"NodePool": NodePool}


def node_pool(kind: type[NodePool], raw: Mapping[str, Any]) -> NodePool:
    """The object. Raises msgspec.ValidationError, which names the field."""
    return msgspec.convert(raw, kind)
