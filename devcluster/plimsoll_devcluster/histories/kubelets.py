"""Do what kubelets do and KWOK sometimes omits: end a pod deleted while its node was away.

KWOK releases a node's pods when the node is deleted, and does not learn again of one deleted at
that moment when the node comes back. The kubelet of a real node ends such pods at once.
"""

from datetime import UTC, datetime, timedelta

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.histories.world import World, is_going, is_up, name_of
from plimsoll_devcluster.manifest import Manifest

LATE = timedelta(seconds=10)
"""How long after its time a pod forgotten by its node is ended."""


def forgotten(world: World, now: datetime) -> list[Manifest]:
    """The pods that should have ended by now, on nodes that exist and are up."""
    up = {name for name, node in world.nodes.items() if is_up(node)}
    return [
        pod
        for pod in world.pods
        if is_going(pod)
        and pod["spec"].get("nodeName") in up
        and now >= datetime.fromisoformat(pod["metadata"]["deletionTimestamp"]) + LATE
    ]


def end_forgotten(api: ApiServer, world: World) -> int:
    """End the pods that their nodes have forgotten; return how many there were."""
    found = forgotten(world, datetime.now(UTC))
    for pod in found:
        path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{name_of(pod)}"
        api.delete(f"{path}?gracePeriodSeconds=0")
    return len(found)
