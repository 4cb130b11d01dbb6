"""Who asks to be planned, and who may not be: what another manager has is left alone."""

from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.observe.adoption.kinds.adapter import Candidate, asks
from plimsoll.observe.adoption.kinds.table import adapter_of, has_labels_of_maker, maker_of
from plimsoll.observe.kueue import left_to_kueue
from plimsoll.observe.labels import QUEUE


def is_concern(item: WorkloadObject) -> bool:
    """Whether a workload asks to be planned, or did so before.

    What another workload has made is that one's concern, unless it asks itself: by a label of its
    own, not one that was handed on to it.
    """
    if asks(item) and not has_labels_of_maker(item):
        return True
    return maker_of(item) is None and adapter_of(item).is_held(item)


def is_watched(item: WorkloadObject) -> bool:
    """Whether a workload is of concern, or may have been made by one that is.

    Or its pods may be, which wait behind our gate whether it asks or not.
    """
    return is_concern(item) or maker_of(item) is not None or adapter_of(item).named_by_pods


def manager_of(candidate: Candidate) -> str | None:
    """Who else manages a workload, and the remedy, in a sentence; None if nobody does."""
    adapter, meta, what = candidate.adapter, candidate.item.metadata, candidate.title
    managed_by = adapter.managed_by(candidate.item)
    found = left_to_kueue(what, meta.labels, managed_by=managed_by)
    for pods in () if found else candidate.pod_sets:
        gates = [gate.name for gate in pods.template.spec.scheduling_gates]
        labels = pods.template.metadata.labels
        found = found or left_to_kueue(pods.field, labels, gates=gates)
        found = found or left_to_kueue(f"the Job around {pods.field}", pods.made_by or {})
    if found is not None:
        return found
    if managed_by and managed_by not in adapter.own_managers:
        return (
            f"{what} has spec.managedBy {managed_by}, which makes its pods: leave it to that, or"
            " create it without spec.managedBy"
        )
    owner = meta.controller
    creators = adapter.creators
    if owner and creators is not None and (owner.api_version, owner.kind) not in creators:
        return (
            f"{what} belongs to {owner.kind} {owner.name}, which suspends and resumes it: remove"
            f" the label {QUEUE} from the template there"
        )
    return None
