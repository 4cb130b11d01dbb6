"""One of our pods, by its labels and its status."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.kube.objects.objects import Pod, PodCondition
from plimsoll.naming import one_line
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.labels import (
    GATE,
    JOB_KIND,
    PLACED_AT,
    RANK,
    REPLICA,
    REVISION,
    ROLE,
    SERVING,
    TEMPLATE_HASH,
)
from plimsoll.observe.snapshot import TARGET, PodEnd, PodView, ServingGate
from plimsoll.observe.views.ownership import named_job
from plimsoll.observe.views.pod_starts import finished_at, has_served, prepared_at, wait_of
from plimsoll.observe.whole_numbers import whole_number

READY: Final = "Ready"
DATED_CONDITIONS: Final = frozenset({READY, SERVING})
"""The conditions whose transition times a view includes."""
_FAR_FUTURE: Final = 2**32
"""The year 2106: a pod sent later was not sent by us, and times near the maximum overflow."""


def pod_view(pod: Pod, requests: Requests) -> PodView:
    """One of our pods, by its labels and its status."""
    labels, gate = pod.metadata.labels, _gate(pod)
    gates = tuple(each.name for each in pod.spec.scheduling_gates)
    ready = _condition(pod, READY)
    return PodView(
        name=pod.metadata.name,
        namespace=pod.metadata.namespace,
        uid=pod.metadata.uid,
        job_uid=named_job(pod),
        role=labels.get(ROLE, ""),
        replica=label_number(labels, REPLICA),
        rank=label_number(labels, RANK),
        revision=label_number(labels, REVISION),
        template_hash=labels.get(TEMPLATE_HASH, ""),
        wanted_node=wanted_node(pod),
        node=pod.spec.node_name,
        phase=pod.status.phase,
        # The kubelet takes a moment to notice that the gate has been closed.
        ready=_holds(ready) and (gate is None or gate.is_open is not False),
        ready_since=ready.last_transition_time if ready else None,
        created=pod.metadata.creation_timestamp,
        requests=requests,
        ends_by=pod.metadata.deletion_timestamp,
        unschedulable=_unschedulable(pod),
        disrupted=_is_disrupted(pod),
        gated=GATE in gates,
        end=_end(pod),
        labels=labels,
        answers=_holds(ready) or _holds(_condition(pod, "ContainersReady")),
        gate=gate,
        gates=gates,
        scheduler=pod.spec.scheduler_name,
        served=_holds(ready) or has_served(pod),
        wait=wait_of(pod),
        prepared=prepared_at(pod),
        started=pod.status.start_time,
        finished=finished_at(pod),
        watched=pod if GATE in gates else None,
    )


def pods_of_kind(pods: Iterable[Pod], kind: str) -> Iterator[PodView]:
    """The pods of jobs of a kind; omits what they take of their nodes."""
    for pod in pods:
        if pod.metadata.labels.get(JOB_KIND) == kind:
            yield pod_view(pod, Requests())


def target_pod_view(pod: Pod, requests: Requests, job_uid: str) -> PodView:
    """A pod of a job's target. It counts as created when it was sent to its node."""
    seen, since = pod_view(pod, requests), _sent_at(pod)
    return replace(seen, job_uid=job_uid, role=TARGET, replica=-1, rank=0, created=since)


def adopted_pod_view(pod: Pod, requests: Requests, job_uid: str) -> PodView:
    """A pod of the workload that a job stands for.

    It has a place, and a revision, once it was sent there for this very job.
    """
    seen, since = pod_view(pod, requests), _sent_at(pod)
    seen = replace(seen, job_uid=job_uid, role=WORKER, rank=0, created=since)
    if seen.gated or named_job(pod) != job_uid:
        return replace(seen, replica=-1, revision=-1)
    return seen


def _sent_at(pod: Pod) -> datetime | None:
    """When a pod of others was sent to its node; when it was created, if that is unknown."""
    sent = label_number(pod.metadata.labels, PLACED_AT)
    known = 0 < sent < _FAR_FUTURE
    return datetime.fromtimestamp(sent, UTC) if known else pod.metadata.creation_timestamp


def label_number(labels: Mapping[str, str], key: str) -> int:
    """The number that a label holds; -1 if it holds none."""
    number = whole_number(labels.get(key, ""))
    return -1 if number is None else number


def _condition(pod: Pod, kind: str) -> PodCondition | None:
    return next((each for each in pod.status.conditions if each.type == kind), None)


def _holds(condition: PodCondition | None) -> bool:
    return condition is not None and condition.status == "True"


def _gate(pod: Pod) -> ServingGate | None:
    """What our readiness gate says; None if the pod has none."""
    if not any(gate.condition_type == SERVING for gate in pod.spec.readiness_gates):
        return None
    said = _condition(pod, SERVING)
    return ServingGate(_holds(said), said.last_transition_time) if said else ServingGate()


def wanted_node(pod: Pod) -> str:
    """The node that a pod's affinity sends it to, "" if it names none."""
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
    """Whether something else ended the pod; the kubelet states that in the pod's own reason."""
    targeted = any(
        condition.type == "DisruptionTarget" and condition.status == "True"
        for condition in pod.status.conditions
    )
    return targeted or bool(pod.status.reason and pod.status.reason != "DeadlineExceeded")


def _end(pod: Pod) -> PodEnd | None:
    """The first container that failed; without one, the pod's own account of its failure."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    ended = [status.state.terminated for status in statuses]
    failed = next((end for end in ended if end is not None and end.exit_code != 0), None)
    if failed is not None:
        return PodEnd(failed.exit_code, failed.reason, one_line(failed.message))
    if pod.status.phase == "Failed":
        return PodEnd(-1, pod.status.reason, one_line(pod.status.message))
    return None
