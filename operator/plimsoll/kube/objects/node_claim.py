"""Karpenter's NodeClaims: nodes that have been ordered, on their way, or there."""

from typing import Final

from plimsoll.kube.objects.objects import KubeObject, Wire
from plimsoll.kube.objects.workload_parts import WorkloadCondition

CAPACITY_TYPES: Final = {"OnDemand": "on-demand", "Spot": "spot", "Reserved": "reserved"}
"""Karpenter's names of the capacity types."""


class NodeClaimStatus(Wire, frozen=True):
    """How far it has come; `node_name` is empty until the node has registered."""

    conditions: tuple[WorkloadCondition, ...] = ()
    node_name: str = ""


class NodeClaim(KubeObject, frozen=True):
    """A node that Karpenter is to have, or has."""

    status: NodeClaimStatus = NodeClaimStatus()
