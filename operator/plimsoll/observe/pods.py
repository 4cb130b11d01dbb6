"""What one of our pods is by its labels, and what has become of it by its status."""

from collections.abc import Mapping

from plimsoll.kube.objects import Pod
from plimsoll.observe.requests import Requests
from plimsoll.observe.snapshot import (
    JOB_UID,
    RANK,
    REPLICA,
    REVISION,
    ROLE,
    TEMPLATE_HASH,
    PodEnd,
    PodView,
)


def pod_view(pod: Pod, requests: Requests) -> PodView:
    """One of our pods, by its labels and its status."""
    labels = pod.metadata.labels
    return PodView(
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        uid=pod.metadata.uid,
        job_uid=labels.get(JOB_UID, ""),
        role=labels.get(ROLE, ""),
        replica=label_number(labels, REPLICA),
        rank=label_number(labels, RANK),
        revision=label_number(labels, REVISION),
        template_hash=labels.get(TEMPLATE_HASH, ""),
        wanted_node=_wanted_node(pod),
        node=pod.spec.node_name,
        phase=pod.status.phase,
        ready=any(c.type == "Ready" and c.status == "True" for c in pod.status.conditions),
        created=pod.metadata.creation_timestamp,
        requests=requests,
        ends_by=pod.metadata.deletion_timestamp,
        unschedulable=_unschedulable(pod),
        disrupted=_is_disrupted(pod),
        end=_end(pod),
        labels=labels,
    )


def label_number(labels: Mapping[str, str], key: str) -> int:
    """The number that a label holds; -1 where it holds none."""
    text = labels.get(key, "")
    return int(text) if text.isdecimal() else -1


def _wanted_node(pod: Pod) -> str:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
    fields = (field for term in terms for field in term.match_fields)
    return next((f.values[0] for f in fields if f.key == "metadata.name" and f.values), "")


def _unschedulable(pod: Pod) -> str:
    return next(
        (
            condition.message
            for condition in pod.status.conditions
            if condition.type == "PodScheduled" and condition.reason == "Unschedulable"
        ),
        "",
    )


def _is_disrupted(pod: Pod) -> bool:
    """Whether something else ended the pod; kubelet names that in the pod's own reason."""
    targeted = any(
        condition.type == "DisruptionTarget" and condition.status == "True"
        for condition in pod.status.conditions
    )
    return targeted or bool(pod.status.reason and pod.status.reason != "DeadlineExceeded")


def _end(pod: Pod) -> PodEnd | None:
    """The first container that failed; without one, what the pod itself says of its failure."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    ended = [status.state.terminated for status in statuses]
    failed = next((end for end in ended if end is not None and end.exit_code != 0), None)
    if failed is not None:
        return PodEnd(failed.exit_code, failed.reason, failed.message)
    if pod.status.phase == "Failed":
        return PodEnd(-1, pod.status.reason, pod.status.message)
    return None
