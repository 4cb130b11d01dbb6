"""Find the workload that a pod belongs to by its chain of controllers.

Anyone who may create pods may put any label on theirs, and several workloads' selectors may match
the same pods. So a pod belongs to a workload only if its chain of controllers leads there. The pod
itself states the first link, with a uid that the garbage collector enforces. For some kinds there
is one more controller between pod and workload. It is recognised by its name, which the workload's
own controller assigns: reading it would require the right to read all objects of its kind.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from plimsoll.kube.objects.objects import OwnerReference, Pod
from plimsoll.kube.watching.workloads import Reading

_APPS: Final = "apps/"
_HASHES: Final = {
    ("apps", "Deployment"): "pod-template-hash",
    ("argoproj.io", "Rollout"): "rollouts-pod-template-hash",
}
"""The label with the hash that ends the names of a kind's ReplicaSets."""
_GROUPS: Final = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_SET_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"


class Link(NamedTuple):
    """One end of a chain: a controller by its uid, or by the workload its name derives from."""

    namespace: str
    uid: str = ""
    kind: tuple[str, str] = ("", "")
    name: str = ""


def ends_at(reading: Reading) -> Iterator[Link]:
    """The links that lead to a workload."""
    reference, uid = reading.reference, reading.workload.metadata.uid
    if uid:
        yield Link(reference.namespace, uid)
    kind = (reference.api_version.rpartition("/")[0], reference.kind)
    if kind in _HASHES or kind == _GROUPS:
        yield Link(reference.namespace, kind=kind, name=reference.name)


def comes_from(pod: Pod) -> Iterator[Link]:
    """The links that start at a pod; none if nothing controls it."""
    owner = pod.metadata.controller
    if owner is None:
        return
    yield Link(pod.metadata.namespace, owner.uid)
    if owner.kind == "ReplicaSet" and owner.api_version.startswith(_APPS):
        yield from _from_replica_set(pod, owner)
    if owner.kind == "StatefulSet" and owner.api_version.startswith(_APPS):
        yield from _from_stateful_set(pod, owner)


def _from_replica_set(pod: Pod, owner: OwnerReference) -> Iterator[Link]:
    for kind, label in _HASHES.items():
        ending = f"-{pod.metadata.labels.get(label, '')}"
        if len(ending) > 1 and owner.name.endswith(ending):
            name = owner.name.removesuffix(ending)
            yield Link(pod.metadata.namespace, kind=kind, name=name)


def _from_stateful_set(pod: Pod, owner: OwnerReference) -> Iterator[Link]:
    """One set holds the leaders of all groups, and each group has a set for its other workers."""
    labels = pod.metadata.labels
    name = labels.get(_SET_NAME, "")
    if name and owner.name in (name, f"{name}-{labels.get(_GROUP_INDEX, '')}"):
        yield Link(pod.metadata.namespace, kind=_GROUPS, name=name)


def is_of_groups(reading: Reading) -> bool:
    """Whether a workload's replicas are groups: its selector then matches their leaders only."""
    return reading.workload.spec.leader_worker_template is not None
