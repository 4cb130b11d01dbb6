"""What of objects is written into snapshots? What plans depend on, and nothing that is private.

No environment, command, argument, volume, image, annotation, log line or query: of a pod template
there remains what it asks for and where it may run.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

import msgspec

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import Job
from plimsoll.api.resource import Resource
from plimsoll.kube.objects import Node, ObjectMeta, Pod

Raw = dict[str, Any]
_IMAGE: Final = "left-out"
_OF_META: Final = (
    "name",
    "namespace",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
)
_OF_POD_SPEC: Final = ("nodeSelector", "tolerations", "overhead", "resources")
_OF_CONTAINER: Final = ("name", "resources", "restartPolicy")
_TOLD_APART: Final = "Admitted"
"""The condition of which the message is planned with: it says why a job's pods were refused."""


def pod_without(pod: Pod) -> Pod:
    """A pod without what its containers say."""
    conditions = tuple(msgspec.structs.replace(c, message="") for c in pod.status.conditions)
    status = msgspec.structs.replace(
        pod.status,
        message="",
        conditions=conditions,
        container_statuses=(),
        init_container_statuses=(),
    )
    return msgspec.structs.replace(pod, metadata=_meta(pod.metadata), status=status)


def node_without(node: Node) -> Node:
    """A node without what tells it apart for its provider."""
    spec = msgspec.structs.replace(node.spec, provider_id="")
    return msgspec.structs.replace(node, metadata=_meta(node.metadata), spec=spec)


def _meta(meta: ObjectMeta) -> ObjectMeta:
    return msgspec.structs.replace(meta, owner_references=(), resource_version="")


def resource_without(resource: Resource) -> Raw:
    """A custom resource as a manifest, with what of its status plans depend on."""
    wire: Raw = resource.wire()
    manifest: Raw = {
        "apiVersion": wire["apiVersion"],
        "kind": wire["kind"],
        "metadata": {name: wire["metadata"][name] for name in _OF_META if name in wire["metadata"]},
        "spec": _spec(wire["spec"]),
    }
    if isinstance(resource, Job):
        manifest["status"] = _status(wire["status"])
    if isinstance(resource, GPUPool) and resource.status.spot is not None:
        manifest["status"] = {"spot": wire["status"]["spot"]}
    return manifest


def _spec(spec: Mapping[str, Any]) -> Raw:
    private = ("load", "provisioning", "measuredPowerQuery")
    kept = {name: value for name, value in spec.items() if name not in private}
    if "checkpoint" in kept:
        kept["checkpoint"] = {k: v for k, v in kept["checkpoint"].items() if k != "location"}
    if "workers" in kept:
        kept["workers"] = _with_template(kept["workers"])
    if "roles" in kept:
        kept["roles"] = [_with_template(role) for role in kept["roles"]]
    return kept


def _with_template(part: Mapping[str, Any]) -> Raw:
    spec: Raw = part["template"]["spec"]
    kept = {name: spec[name] for name in _OF_POD_SPEC if name in spec}
    for name in ("containers", "initContainers"):
        kept[name] = [_container(each) for each in spec.get(name, ())]
    node_affinity = cast("Raw", spec.get("affinity", {})).get("nodeAffinity")
    if node_affinity:
        kept["affinity"] = {"nodeAffinity": node_affinity}
    return {**part, "template": {"spec": kept}}


def _container(container: Mapping[str, Any]) -> Raw:
    return {
        "image": _IMAGE,
        **{name: container[name] for name in _OF_CONTAINER if name in container},
    }


def _status(status: Mapping[str, Any]) -> Raw:
    kept = {name: value for name, value in status.items() if name != "message"}
    if "conditions" in kept:
        kept["conditions"] = [
            each if each["type"] == _TOLD_APART else {**each, "message": ""}
            for each in kept["conditions"]
        ]
    return kept
