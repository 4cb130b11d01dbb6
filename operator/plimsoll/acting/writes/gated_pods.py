"""Send pods that another controller made, and that wait behind our scheduling gate, to nodes."""

from collections.abc import Callable, Iterable
from datetime import datetime

from plimsoll.acting.pods.manifest import Manifest, pinned_affinity
from plimsoll.acting.step import SentPod
from plimsoll.clock import Clock
from plimsoll.errors import NotFound, Refused
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.eligibility.placement_spec import GPU_TOLERATIONS
from plimsoll.observe.labels import GATE, PLACED_AT


class PodSender:
    """Sends them one by one; `wrote_pod` receives each."""

    def __init__(self, client: KubeClient, wrote_pod: Callable[[Pod], None], clock: Clock) -> None:
        self._client, self._wrote_pod, self._clock = client, wrote_pod, clock

    async def send(self, pods: Iterable[SentPod]) -> str:
        """Send pods to their nodes; return why that was refused, "" if not. Raises ApiError."""
        for each in pods:
            path = PODS.named(each.pod.name, each.pod.namespace)
            try:
                there = await self._client.get(path, Manifest)
                if there["metadata"]["uid"] != each.pod.uid:
                    continue
                body = sent_to(there, each, self._clock.now())
                self._wrote_pod(await self._client.merge_patch(path, body, Pod))
            except NotFound:
                continue
            except Refused as error:
                return error.message
        return ""


def sent_to(pod: Manifest, sent: SentPod, now: datetime) -> Manifest:
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
            "labels": {**sent.labels, PLACED_AT: str(int(now.timestamp()))},
        },
        "spec": {
            "affinity": pinned_affinity(spec.get("affinity") or {}, sent.node),
            "tolerations": [*tolerations, *more],
            "schedulingGates": gates or None,
        },
    }
