"""Find the plain pods of PodGroups, as if their group had made them.

A pod names its group, and no field of the group names its pods. So each such pod is joined with its
group here, and counts from then on as other workloads' Jobs do: as what a workload has made.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.kube.objects.objects import OwnerReference, Pod, PodSpec
from plimsoll.kube.objects.workload_parts import WorkerSpec, WorkloadMeta, WorkloadObject
from plimsoll.kube.objects.workloads.pod_group import GroupedPod, PodGroup
from plimsoll.observe.adoption.kinds.adapter import asks
from plimsoll.observe.adoption.kinds.table import adapter_of, adapter_of_kind
from plimsoll.observe.labels import QUEUE

Groups = Mapping[tuple[str, str], PodGroup]
"""PodGroups by namespace and name."""


class GroupedPods:
    """Finds them, one snapshot after the other; what has not changed is the same object."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Pod, OwnerReference | None, GroupedPod]] = {}

    def of(self, items: Sequence[WorkloadObject], pods: Sequence[Pod]) -> tuple[GroupedPod, ...]:
        """The pods of the PodGroups among these workloads.

        A pod whose group is not there waits for it, so it is none of them. What makes a pod may be
        planned itself; then the pod is that one's.
        """
        groups = {
            (item.metadata.namespace, item.metadata.name): item
            for item in items
            if isinstance(item, PodGroup)
        }
        before, self._known = self._known, {}
        for pod in pods if groups else ():
            group = _group_of(pod, groups)
            if group is not None:
                owner, uid = _as_owner(group), pod.metadata.uid
                known = before.get(uid)
                if known is None or known[0] is not pod or known[1] != owner:
                    known = (pod, owner, _grouped(pod, owner))
                self._known[uid] = known
        return tuple(grouped for _, _, grouped in self._known.values())


def _group_of(pod: Pod, groups: Groups) -> PodGroup | None:
    named = pod.spec.scheduling_group
    if named is None:
        return None
    maker = pod.metadata.controller
    if maker is not None and adapter_of_kind(maker.api_version, maker.kind) is not None:
        return None
    return groups.get((pod.metadata.namespace, named.pod_group_name))


def _as_owner(group: PodGroup) -> OwnerReference | None:
    """The group as what has made its pods; None if it does not ask to be planned."""
    if not asks(group):
        return None
    adapter, meta = adapter_of(group), group.metadata
    return OwnerReference(adapter.api_version, adapter.kind, meta.name, meta.uid, controller=True)


def _grouped(pod: Pod, owner: OwnerReference | None) -> GroupedPod:
    """A pod of a group. One whose group does not ask to be planned does not ask either."""
    meta = pod.metadata
    spec: dict[str, Any] = {name: getattr(pod.spec, name) for name in PodSpec.__struct_fields__}
    return GroupedPod(
        metadata=WorkloadMeta(
            name=meta.name,
            namespace=meta.namespace,
            uid=meta.uid,
            resource_version=meta.resource_version,
            deletion_timestamp=meta.deletion_timestamp,
            labels={k: v for k, v in meta.labels.items() if k != QUEUE or owner is not None},
            owner_references=() if owner is None else (owner,),
        ),
        spec=WorkerSpec(**spec),
        status=pod.status,
    )
