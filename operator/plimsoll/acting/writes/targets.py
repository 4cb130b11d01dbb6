"""Scale targets, and send their gated pods to their nodes."""

from datetime import datetime
from typing import Protocol

from plimsoll.acting.pods.manifest import Manifest, pinned_affinity
from plimsoll.acting.step import TargetWrites
from plimsoll.clock import Clock
from plimsoll.errors import Conflict, NotFound, Refused
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.watching.target_reading import Workloads
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.eligibility.placement_spec import GPU_TOLERATIONS
from plimsoll.observe.labels import GATE, PLACED_AT
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.whole_numbers import whole_number

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_SECONDS_PER_MINUTE = 60
RECENT_MINUTES = 10
"""For this long a mark need not be set again; the API server requires costs to be integers."""


class TargetListener(Protocol):
    """Receives what was written, and what was refused."""

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written."""
        ...

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """The count of a target was set."""
        ...

    def doubted(self, reference: Reference) -> None:
        """A target may not have the count that it was thought to have."""
        ...


class TargetWriter:
    """Writes to targets through a client of their own, and to their pods."""

    def __init__(
        self, client: KubeClient, targets: KubeClient, listener: TargetListener, clock: Clock
    ) -> None:
        self._client, self._workloads = client, Workloads(targets)
        self._listener, self._clock = listener, clock

    async def scale(self, writes: TargetWrites) -> str:
        """Set the count; return why that was refused, "" if it was not. Raises ApiError."""
        if writes.replicas is None:
            return ""
        try:
            for pod in writes.first_to_go:
                await self._mark(pod)
            scale = await self._workloads.scale(
                writes.reference, seen=writes.seen, replicas=writes.replicas
            )
        except Conflict:
            self._listener.doubted(writes.reference)
            raise
        except Refused as error:
            return error.message
        self._listener.wrote_scale(writes.reference, scale)
        return ""

    async def _mark(self, pod: PodView) -> None:
        """Have a ReplicaSet remove the pod first, even before pods that were marked long ago."""
        minutes = int(self._clock.now().timestamp()) // _SECONDS_PER_MINUTE
        try:
            there = await self._client.get(PODS.named(pod.name, pod.namespace), Manifest)
        except NotFound:
            return
        cost = there["metadata"].get("annotations", {}).get(DELETION_COST, "0")
        if not is_recent(cost, minutes):
            marked = {DELETION_COST: str(-minutes)}
            await self._patch(pod, {"metadata": {"uid": pod.uid, "annotations": marked}})

    async def place(self, writes: TargetWrites) -> str:
        """Send pods to their nodes; return why that was refused, "" if not. Raises ApiError."""
        for pod, node in writes.placed:
            try:
                there = await self._client.get(PODS.named(pod.name, pod.namespace), Manifest)
                await self._patch(pod, sent_to(there, node, self._clock.now()))
            except NotFound:
                continue
            except Refused as error:
                return error.message
        return ""

    async def _patch(self, pod: PodView, body: Manifest) -> None:
        try:
            path = PODS.named(pod.name, pod.namespace)
            self._listener.wrote_pod(await self._client.merge_patch(path, body, Pod))
        except NotFound:
            return


def is_recent(cost: str, minutes: int) -> bool:
    """Whether a pod's deletion cost shows a recent mark, at `minutes` since 1970."""
    marked = whole_number(cost.removeprefix("-")) if cost.startswith("-") else None
    return marked is not None and marked >= minutes - RECENT_MINUTES


def sent_to(pod: Manifest, node: str, now: datetime) -> Manifest:
    """The merge patch that sends a pod to a node as it is, and removes our scheduling gate.

    A gated pod's affinity may be narrowed, and tolerations may be added to it.
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
