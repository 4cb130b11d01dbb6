"""A node as it is most of the time."""

import msgspec

from plimsoll.kube.objects.objects import Node


def steady(node: Node) -> Node:
    """A node without what closes it temporarily; its availability accounts for that instead."""
    taints = tuple(t for t in node.spec.taints if not t.key.startswith("node.kubernetes.io/"))
    return msgspec.structs.replace(
        node, spec=msgspec.structs.replace(node.spec, unschedulable=False, taints=taints)
    )
