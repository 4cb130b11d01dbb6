"""Pods of workloads that jobs target, and what such a job's status says, for unit tests."""

from collections.abc import Mapping
from typing import Any

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.target_lives import GATE

GPU = "nvidia.com/gpu"
HASH = "5d9f"
ORDINAL = "apps.kubernetes.io/pod-index"


def a_target_pod(
    name: str,
    node: str = "",
    *,
    sent: str = "",
    gated: bool = False,
    labels: Mapping[str, str] | None = None,
) -> Manifest:
    """A pod of Deployment `web`: bound to a node, sent to one, or behind our gate."""
    spec: Manifest = {"containers": [{"name": "main", "resources": {"limits": {GPU: "1"}}}]}
    if node:
        spec["nodeName"] = node
    if sent:
        here = {"key": "metadata.name", "operator": "In", "values": [sent]}
        terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": required}
    if gated:
        spec["schedulingGates"] = [{"name": GATE}]
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": {"app": "web", "pod-template-hash": HASH, **(labels or {})},
            "ownerReferences": [_controller("ReplicaSet", f"web-{HASH}")],
        },
        "spec": spec,
        "status": {"phase": "Running" if node else "Pending"},
    }


def controlled(pod: Manifest, kind: str, name: str, *, api_version: str = "apps/v1") -> Manifest:
    """The pod as that of another controller."""
    owners = [_controller(kind, name, api_version)]
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": owners}}


def a_numbered_pod(number: int, node: str = "") -> Manifest:
    """A pod of StatefulSet `web`."""
    pod = a_target_pod(f"web-{number}", node, labels={ORDINAL: str(number)})
    return controlled(pod, "StatefulSet", "web")


def _controller(kind: str, name: str, api_version: str = "apps/v1") -> Manifest:
    who = {"apiVersion": api_version, "kind": kind, "name": name}
    return {**who, "uid": f"uid-{kind}-{name}", "controller": True}


def a_scaled_job(
    job: Manifest,
    *nodes: str,
    replicas: int | None = None,
    **status: Any,  # noqa: ANN401 - fields of a status
) -> Manifest:
    """The job with places on these nodes, and the count that it gave its target."""
    common = {"role": "target", "acceleratorType": H100, "pool": "", "revision": 1}
    places = [{**common, "replica": n, "nodes": [node]} for n, node in enumerate(nodes)]
    placement = {"revision": 1, "assignments": places}
    count = len(nodes) if replicas is None else replicas
    target = {"replicas": count, "reached": False, "found": count}
    return {
        **job,
        "status": {"placement": placement, "revision": 1, "target": target, **status},
    }
