"""Karpenter's NodeClaims: nodes that have been ordered, on their way, or there."""

from datetime import datetime
from typing import Final

from plimsoll.kube.objects.objects import KubeObject, Wire
from plimsoll.kube.objects.workload_parts import WorkloadCondition

CAPACITY_TYPES: Final = {"OnDemand": "on-demand", "Spot": "spot", "Reserved": "reserved"}
"""Karpenter's names of the capacity types."""


class NodeClaimStatus(Wire, frozen=True):
    """How far it has come; `node_name` is empty until the node has registered.

    `last_pod_event_time`: when a pod was last bound to the node, or left it.
    """

    conditions: tuple[WorkloadCondition, ...] = ()
    node_name: str = ""
    last_pod_event_time: datetime | None = None


class NodeClaim(KubeObject, frozen=True):
    """A node that Karpenter is to have, or has."""

    status: NodeClaimStatus = NodeClaimStatus()
