"""The loop's view of the cluster: all objects, and its own writes taken in at once."""

from typing import Protocol

from plimsoll.clock import Clock
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects


class View(Protocol):
    """What is known of the cluster, by whatever means."""

    @property
    def clock(self) -> Clock:
        """The cluster's time."""
        ...

    @property
    def resources(self) -> CustomResources:
        """The custom resources."""
        ...

    def objects(self) -> Objects:
        """All objects as the watches currently know them."""
        ...

    def missed(self, kind: str) -> None:
        """Doubt the known objects of a custom resource kind: one of them does not exist."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as written, before the watch reports it."""
        ...

    def wrote_node(self, node: Node) -> None:
        """Take in a node as written."""
        ...

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """Take in a target's replica count as written."""
        ...

    def wrote_workload(self, item: WorkloadObject) -> None:
        """Take in an adopted workload as written."""
        ...

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """Take in an ordered node as written."""
        ...

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Take in a request for nodes as written."""
        ...

    def doubted(self, reference: Reference) -> None:
        """Read a target again: its replica count differs from the assumed one."""
        ...
