"""How a target is scaled, and how its pods behind our gate get their nodes."""

from collections.abc import Callable
from datetime import UTC, datetime

from plimsoll.acting.pod_manifest import Manifest, pinned_affinity
from plimsoll.acting.step import TargetWrites
from plimsoll.errors import NotFound, Refused
from plimsoll.kube.client import KubeClient
from plimsoll.kube.objects import Pod
from plimsoll.kube.resources import PODS
from plimsoll.kube.target_reading import Workloads
from plimsoll.kube.workloads import Reference, Scale
from plimsoll.observe.snapshot import GATE, PLACED_AT, PodView
from plimsoll.planning.shapes import GPU_TOLERATIONS

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECONDS_PER_MINUTE = 60
RECENT_MINUTES = 10
"""For so long a mark need not be set again; the API server holds costs to be integers."""


class TargetWriter:
    """Writes to targets and their pods; `scaled` and `placed` are told the answers."""

    def __init__(
        self,
        client: KubeClient,
        scaled: Callable[[Reference, Scale], None],
        placed: Callable[[Pod], None],
    ) -> None:
        self._client, self._workloads = client, Workloads(client)
        self._scaled, self._placed = scaled, placed

    async def scale(self, writes: TargetWrites) -> str:
        """Set the count; what stands against it, "" if nothing does. Raises ApiError."""
        if writes.replicas is None:
            return ""
        try:
            for pod in writes.first_to_go:
                await self._mark(pod)
            scale = await self._workloads.scale(writes.reference, writes.replicas)
        except Refused as error:
            return error.message
        self._scaled(writes.reference, scale)
        return ""

    async def _mark(self, pod: PodView) -> None:
        """Have a ReplicaSet take the pod first, also before those that were marked long ago."""
        minutes = int(datetime.now(UTC).timestamp()) // _SECONDS_PER_MINUTE
        try:
            there = await self._client.get(PODS.named(pod.name, pod.namespace), Manifest)
        except NotFound:
            return
        cost = there["metadata"].get("annotations", {}).get(DELETION_COST, "0")
        if int(cost) > RECENT_MINUTES - minutes:
            body = {"metadata": {"annotations": {DELETION_COST: str(-minutes)}}}
            await self._patch(pod, body)

    async def place(self, writes: TargetWrites) -> str:
        """Send pods to their nodes; what stands against it, "" if nothing does. Raises ApiError."""
        for pod, node in writes.placed:
            try:
                there = await self._client.get(PODS.named(pod.name, pod.namespace), Manifest)
                await self._patch(pod, sent_to(there, node, datetime.now(UTC)))
            except NotFound:
                continue
            except Refused as error:
                return error.message
        return ""

    async def _patch(self, pod: PodView, body: Manifest) -> None:
        try:
            path = PODS.named(pod.name, pod.namespace)
            self._placed(await self._client.merge_patch(path, body, Pod))
        except NotFound:
            return


def sent_to(pod: Manifest, node: str, now: datetime) -> Manifest:
    """The merge patch that sends a pod as it is to a node, and opens our gate for it.

    Of a gated pod affinity may be narrowed and tolerations may be added.
    """
    spec = pod["spec"]
    tolerations = spec.get("tolerations", [])
    gates = [gate for gate in spec.get("schedulingGates", []) if gate["name"] != GATE]
    more = [each for each in GPU_TOLERATIONS if each not in tolerations]
    return {
        "metadata": {
            "resourceVersion": pod["metadata"]["resourceVersion"],
            "uid": pod["metadata"]["uid"],
            "labels": {PLACED_AT: str(int(now.timestamp()))},
        },
        "spec": {
            "affinity": pinned_affinity(spec.get("affinity") or {}, node),
            "tolerations": [*tolerations, *more],
            "schedulingGates": gates or None,
        },
    }
