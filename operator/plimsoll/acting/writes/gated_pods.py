"""Send pods that another controller made, and that wait behind our scheduling gate, to nodes.

A pod is changed as the watch has it, in one request. Only if it has changed since is it read first.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Final

import msgspec

from plimsoll.acting.pods.manifest import Manifest, pinned_affinity
from plimsoll.acting.step import SentPod
from plimsoll.clock import Clock
from plimsoll.errors import Conflict, Invalid, NotFound, Refused
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.resources import PODS
from plimsoll.kube.objects.objects import Affinity, Pod, Toleration
from plimsoll.observe.adoption.workload_view import Operation, added
from plimsoll.observe.eligibility.placement_spec import GPU_TOLERATIONS
from plimsoll.observe.labels import GATE, PLACED_AT

_AS_WATCHED: Final = msgspec.convert(GPU_TOLERATIONS, tuple[Toleration, ...])
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_TERMS: Final = ("spec", "affinity", "nodeAffinity", _REQUIRED, "nodeSelectorTerms")


class PodSender:
    """Sends them one by one; `wrote_pod` receives each."""

    def __init__(self, client: KubeClient, wrote_pod: Callable[[Pod], None], clock: Clock) -> None:
        self._client, self._wrote_pod, self._clock = client, wrote_pod, clock

    async def send(self, pods: Iterable[SentPod]) -> str:
        """Send pods to their nodes; return why that was refused, "" if not. Raises ApiError."""
        for each in pods:
            try:
                there = await self._sent_as_watched(each) or await self._sent_as_read(each)
            except NotFound:
                continue
            except Refused as error:
                return error.message
            if there is not None:
                self._wrote_pod(there)
        return ""

    async def _sent_as_watched(self, sent: SentPod) -> Pod | None:
        """The pod sent as the watch has it; None if it must be read first."""
        watched = sent.pod.watched
        if watched is None:
            return None
        path = PODS.named(sent.pod.name, sent.pod.namespace)
        try:
            return await self._client.json_patch(
                path, sending(watched, sent, self._clock.now()), Pod
            )
        except (Conflict, Invalid):
            return None

    async def _sent_as_read(self, sent: SentPod) -> Pod | None:
        """The pod sent as the API server has it; None if another has its name by now."""
        path = PODS.named(sent.pod.name, sent.pod.namespace)
        there = await self._client.get(path, Manifest)
        if there["metadata"]["uid"] != sent.pod.uid:
            return None
        return await self._client.merge_patch(path, sent_to(there, sent, self._clock.now()), Pod)


def sending(pod: Pod, sent: SentPod, now: datetime) -> list[Operation]:
    """The JSON patch that sends a pod to a node, and removes our scheduling gate.

    It fails if the pod is no longer the watched one, in this version, and names only what it
    changes: a watched pod lacks what plans have no use for.
    """
    meta, spec = pod.metadata, pod.spec
    labels = {**sent.labels, PLACED_AT: str(int(now.timestamp()))}
    gates = [gate.name for gate in spec.scheduling_gates]
    return [
        {"op": "test", "path": "/metadata/uid", "value": meta.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": meta.resource_version},
        *_labelling(labels, is_first=not meta.labels),
        *_pinning(spec.affinity, sent.node),
        *_tolerating(spec.tolerations),
        {"op": "remove", "path": f"/spec/schedulingGates/{gates.index(GATE)}"},
    ]


def _labelling(labels: dict[str, str], *, is_first: bool) -> Iterator[Operation]:
    """Add labels to a pod; `is_first`: it has none yet."""
    if is_first:
        yield added(("metadata", "labels"), labels)
        return
    for key, value in labels.items():
        yield added(("metadata", "labels", key.replace("~", "~0").replace("/", "~1")), value)


def _pinning(affinity: Affinity | None, node: str) -> Iterator[Operation]:
    """Narrow every alternative of a pod's affinity to one node."""
    pinned = pinned_affinity({}, node)
    by_node = affinity.node_affinity if affinity is not None else None
    if affinity is None:
        yield added(_TERMS[:2], pinned)
    elif by_node is None:
        yield added(_TERMS[:3], pinned["nodeAffinity"])
    elif by_node.required is None:
        yield added(_TERMS[:4], pinned["nodeAffinity"][_REQUIRED])
    else:
        (only,) = pinned["nodeAffinity"][_REQUIRED]["nodeSelectorTerms"]
        for number, term in enumerate(by_node.required.node_selector_terms):
            fields = (*_TERMS, str(number), "matchFields")
            (here,) = only["matchFields"]
            yield added((*fields, "-"), here) if term.match_fields else added(fields, [here])


def _tolerating(tolerations: tuple[Toleration, ...]) -> Iterator[Operation]:
    """Add the tolerations of GPU nodes' taints that a pod lacks."""
    known = zip(GPU_TOLERATIONS, _AS_WATCHED, strict=True)
    more = [each for each, as_watched in known if as_watched not in tolerations]
    if more and not tolerations:
        yield added(("spec", "tolerations"), more)
        return
    for each in more:
        yield added(("spec", "tolerations", "-"), each)


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
