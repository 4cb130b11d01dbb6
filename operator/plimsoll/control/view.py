"""What the loop knows the cluster by: all objects, and a way to take in what it has written."""

from typing import Protocol

from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects


class View(Protocol):
    """What is known of the cluster, however it became known."""

    @property
    def resources(self) -> CustomResources:
        """The custom resources."""
        ...

    def objects(self) -> Objects:
        """Everything, as the watches know it now."""
        ...

    def missed(self, kind: str) -> None:
        """Doubt what is known of a kind of custom resource: one of them is not there."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as it was written, before the watch says it."""
        ...

    def wrote_node(self, node: Node) -> None:
        """Take in a node as it was written."""
        ...

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """Take in the count of a target as it was written."""
        ...

    def doubted(self, reference: Reference) -> None:
        """Read a target again: it has not the count that it was thought to have."""
        ...
