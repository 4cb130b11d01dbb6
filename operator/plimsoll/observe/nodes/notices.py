"""Decide whether a node takes new pods, and whether its pods must leave.

Read from the marks that others put on nodes: the cordon; taints of Karpenter, the cluster
autoscaler and the clouds' termination handlers; conditions of the kubelet, node-problem-detector
and GPU health checks. Which pods a node would accept is decided in `eligibility`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.kube.objects.objects import Node, NodeCondition, Taint
from plimsoll.vocabulary.reasons import Reason

QUARANTINE_TAINT = "plimsoll.dev/quarantine"
GIVEN_BACK_TAINT = "plimsoll.dev/given-back"
EMPTIED_TAINT = "plimsoll.dev/emptied"
_STATUS_TAINT = "status-taint.cluster-autoscaler.kubernetes.io"
"""Cluster-autoscaler takes new nodes of a group to have any other taint of one that is there."""
AUTOSCALED_GIVEN_BACK_TAINT = f"{_STATUS_TAINT}/plimsoll-given-back"
AUTOSCALED_EMPTIED_TAINT = f"{_STATUS_TAINT}/plimsoll-emptied"
OUT_OF_SERVICE_TAINT = "node.kubernetes.io/out-of-service"
NOT_READY_PATIENCE = timedelta(seconds=300)
"""How long a node that is not ready keeps its pods: as long as Kubernetes itself waits by default
before it evicts them. Most such nodes come back."""
_SHUT_DOWN_TAINT = "node.cloudprovider.kubernetes.io/shutdown"


@dataclass(frozen=True, slots=True)
class Availability:
    """What may be done with a node.

    Not `open`: it keeps its pods and takes no new ones. Not `usable`: everything must leave it.
    `message` is for people; an open node has neither a reason nor a message.
    """

    open: bool
    usable: bool
    reason: Reason | None = None
    message: str = ""


_OPEN = Availability(open=True, usable=True)


@dataclass(frozen=True, slots=True)
class _Mark:
    """The meaning of a taint or condition: `leave` drives pods away, otherwise none are added."""

    reason: Reason
    leave: bool


_QUARANTINED = _Mark(Reason.QUARANTINED, leave=True)
_GIVEN_BACK = _Mark(Reason.NODE_GIVEN_BACK, leave=False)
_EMPTIED = _Mark(Reason.NODE_EMPTIED, leave=True)
_GIVING_BACK = (_GIVEN_BACK, _EMPTIED)
_GOING = _Mark(Reason.DRAINING, leave=True)
_INTERRUPTED = _Mark(Reason.INTERRUPTION_NOTICE, leave=True)
_BROKEN = _Mark(Reason.UNHEALTHY, leave=True)
_AILING = _Mark(Reason.UNHEALTHY, leave=False)
_AT_RISK = _Mark(Reason.REBALANCE_RECOMMENDED, leave=False)
_CORDONED = _Mark(Reason.CORDONED, leave=False)
_NOT_READY = _Mark(Reason.NOT_READY, leave=False)

_TAINTS: Mapping[str, _Mark] = {
    QUARANTINE_TAINT: _QUARANTINED,
    GIVEN_BACK_TAINT: _GIVEN_BACK,
    EMPTIED_TAINT: _EMPTIED,
    AUTOSCALED_GIVEN_BACK_TAINT: _GIVEN_BACK,
    AUTOSCALED_EMPTIED_TAINT: _EMPTIED,
    "karpenter.sh/disrupted": _GOING,
    "karpenter.sh/disruption": _GOING,  # before Karpenter 1.0
    "ToBeDeletedByClusterAutoscaler": _GOING,
    "remediator.aks.microsoft.com/unschedulable": _GOING,
    "remediator.kubernetes.azure.com/unschedulable": _GOING,
    "aws-node-termination-handler/spot-itn": _INTERRUPTED,
    "aws-node-termination-handler/asg-lifecycle-termination": _INTERRUPTED,
    "aws-node-termination-handler/scheduled-maintenance": _CORDONED,
    "aws-node-termination-handler/rebalance-recommendation": _AT_RISK,
    "cloud.google.com/impending-node-termination": _INTERRUPTED,
    OUT_OF_SERVICE_TAINT: _BROKEN,
    _SHUT_DOWN_TAINT: _BROKEN,
    "node.cloudprovider.kubernetes.io/uninitialized": _NOT_READY,
    "node.kubernetes.io/unschedulable": _CORDONED,
    "node.kubernetes.io/not-ready": _NOT_READY,
    "node.kubernetes.io/unreachable": _NOT_READY,
    "node.kubernetes.io/network-unavailable": _NOT_READY,
    "node.kubernetes.io/memory-pressure": _AILING,
    "node.kubernetes.io/disk-pressure": _AILING,
    "node.kubernetes.io/pid-pressure": _AILING,
}

# By type and bad status. First the kubelet's and node-problem-detector's own, then the GPU checks
# of AKS and Nebius, which run under it, and EKS' node monitoring agent.
_CONDITIONS: Mapping[tuple[str, str], _Mark] = {
    ("NetworkUnavailable", "True"): _NOT_READY,
    ("MemoryPressure", "True"): _AILING,
    ("DiskPressure", "True"): _AILING,
    ("PIDPressure", "True"): _AILING,
    ("KernelDeadlock", "True"): _AILING,
    ("ReadonlyFilesystem", "True"): _AILING,
    ("VMEventScheduled", "True"): _AT_RISK,
    ("GPUMissing", "True"): _BROKEN,
    ("NVLinkStatusInactive", "True"): _BROKEN,
    ("XIDErrors", "True"): _BROKEN,
    ("NebiusGPUError", "True"): _BROKEN,
    ("AcceleratedHardwareReady", "False"): _BROKEN,
    ("ContainerRuntimeReady", "False"): _AILING,
    ("KernelReady", "False"): _AILING,
    ("NetworkingReady", "False"): _AILING,
    ("StorageReady", "False"): _AILING,
}


def availability(node: Node, *, now: datetime) -> Availability:
    """What may be done with `node`; the gravest mark decides.

    Time alone changes it only once the node has not been ready for too long: see `unready_since`.
    """
    if node.metadata.deletion_timestamp is not None:
        return Availability(
            open=False, usable=False, reason=Reason.DELETING, message="the node is being deleted"
        )
    found = (
        *_by_taints(node.spec.taints),
        *_by_conditions(node.status.conditions),
        *_by_readiness(node.status.conditions, now),
        *_by_cordon(node),
    )
    return min(found, key=lambda each: each.usable, default=_OPEN)


def closing_taint(node: Node) -> Taint | None:
    """The taint by which a node is closed to be given back; the one that empties it if it has both.

    None if it is not to be given back.
    """
    ours = [taint for taint in node.spec.taints if _TAINTS.get(taint.key) in _GIVING_BACK]
    return min(ours, key=lambda taint: _TAINTS[taint.key] is not _EMPTIED, default=None)


def is_emptied(taint: Taint) -> bool:
    """Whether everything must leave a node with this closing taint."""
    return _TAINTS[taint.key] is _EMPTIED


def unready_since(nodes: Iterable[Node]) -> Iterator[datetime]:
    """Since when nodes have not been ready."""
    for node in nodes:
        for condition in _unready(node.status.conditions):
            if condition.last_transition_time is not None:
                yield condition.last_transition_time


def is_given_up(since: datetime, now: datetime) -> bool:
    """Whether the pods of a node that has not been ready since then must leave it now."""
    return now - since > NOT_READY_PATIENCE


def has_interruption_notice(node: Node) -> bool:
    """Whether the provider has announced that it takes the node, whatever else is known of it."""
    return any(_TAINTS.get(taint.key) is _INTERRUPTED for taint in node.spec.taints)


def is_silent(node: Node) -> bool:
    """Whether the kubelet does not respond, or cannot end pods; it may still run them."""
    return any(True for _ in _unready(node.status.conditions))


def is_shut_down(node: Node) -> bool:
    """Whether the administrator or provider has declared that nothing runs on the node any more."""
    return any(taint.key in (OUT_OF_SERVICE_TAINT, _SHUT_DOWN_TAINT) for taint in node.spec.taints)


def _by_taints(taints: Iterable[Taint]) -> Iterator[Availability]:
    for taint in taints:
        mark = _TAINTS.get(taint.key)
        if mark is not None and taint.effect != "PreferNoSchedule":
            yield _availability(mark, f"taint {taint.key}:{taint.effect}")


def _by_conditions(conditions: Iterable[NodeCondition]) -> Iterator[Availability]:
    for condition in conditions:
        mark = _CONDITIONS.get((condition.type, condition.status))
        if mark is not None:
            yield _availability(mark, _said(condition))


def _by_readiness(conditions: Iterable[NodeCondition], now: datetime) -> Iterator[Availability]:
    for condition in _unready(conditions):
        since = condition.last_transition_time
        is_over = since is not None and is_given_up(since, now)
        yield _availability(_Mark(Reason.NOT_READY, leave=is_over), _said(condition))


def _unready(conditions: Iterable[NodeCondition]) -> Iterator[NodeCondition]:
    return (each for each in conditions if each.type == "Ready" and each.status != "True")


def is_closed_by_scheduler(node: Node) -> bool:
    """Whether kube-scheduler binds no pods to a node, since it is cordoned or a taint says so."""
    taints = (taint for taint in node.spec.taints if taint.effect in ("NoSchedule", "NoExecute"))
    return node.spec.unschedulable or any(taint.key in _TAINTS for taint in taints)


def _by_cordon(node: Node) -> Iterator[Availability]:
    if node.spec.unschedulable:
        yield _availability(_CORDONED, "the node is cordoned")


def _availability(mark: _Mark, message: str) -> Availability:
    return Availability(open=False, usable=not mark.leave, reason=mark.reason, message=message)


def _said(condition: NodeCondition) -> str:
    text = f"condition {condition.type} is {condition.status}"
    detail = condition.message or condition.reason
    return f"{text}: {detail}" if detail else text
