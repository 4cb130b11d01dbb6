"""Which workload a pod belongs to, by the chain of its controllers.

Whoever may make pods may write any label on theirs, and the selectors of several workloads may mean
the same pods. So a pod is a workload's only where the chain of its controllers leads there. Its
first link is told by the pod itself, with a uid that the garbage collector holds it to. Between the
pods of some kinds and their workload stands one more controller. That is known by its name, which
the workload's own controller gives it: to read it would take the right to read all of its kind.
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
"""The label with the hash after which the ReplicaSets of a kind are named."""
_GROUPS: Final = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
_SET_NAME: Final = "leaderworkerset.sigs.k8s.io/name"
_GROUP_INDEX: Final = "leaderworkerset.sigs.k8s.io/group-index"


class Link(NamedTuple):
    """One end of a chain: a controller by its uid, or by the workload that its name comes from."""

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
    """The links that a pod begins; none where nothing controls it."""
    owner = next((each for each in pod.metadata.owner_references if each.controller), None)
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
    """One set has the leaders of all groups, and each group has one for its other workers."""
    labels = pod.metadata.labels
    name = labels.get(_SET_NAME, "")
    if name and owner.name in (name, f"{name}-{labels.get(_GROUP_INDEX, '')}"):
        yield Link(pod.metadata.namespace, kind=_GROUPS, name=name)


def is_of_groups(reading: Reading) -> bool:
    """Whether a workload's replicas are groups: its selector then names their leaders alone."""
    return reading.workload.spec.leader_worker_template is not None
