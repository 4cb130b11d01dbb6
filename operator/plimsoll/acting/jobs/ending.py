"""Which of a job's pods are still there to be told, to be deleted, or to be removed by force.

To remove a pod by force is to forget it, whether it has ended or not. A gang's next workers start
once those before are gone, so a worker is forgotten only where it surely writes no checkpoint any
more: its node is gone, or its kubelet answers and has had time to kill it. A replica of a service
may be there twice.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.step import Turn
from plimsoll.observe.nodes.notices import is_shut_down, is_silent
from plimsoll.observe.snapshot import JobView, NodeView, PodView

LATE: Final = timedelta(seconds=10)
"""How long after its time a pod is given up whose node will not end it."""
UNNOTICED: Final = timedelta(seconds=60)
"""For how long a node may be cut off before it is said to be: 50 s by default, kube-controller-
manager's node-monitor-grace-period."""


def alive(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that run or will, and that nobody deletes."""
    return tuple(pod for pod in pods if not pod.is_over and not pod.deleting)


def not_deleting(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that nobody deletes."""
    return tuple(pod for pod in pods if not pod.deleting)


def to_delete(view: JobView, pods: Iterable[PodView], turn: Turn) -> tuple[PodView, ...]:
    """The pods of these that nobody deletes, and those that must be removed by force by now."""
    return tuple(pod for pod in pods if not pod.deleting or _is_given_up(view, pod, turn))


def given_up_at(view: JobView, pods: Iterable[PodView], turn: Turn) -> list[datetime]:
    """When pods will be removed by force that are only being deleted so far."""
    times = (_given_up_at(view, pod, turn) for pod in pods)
    return [at for at in times if at is not None]


def _is_given_up(view: JobView, pod: PodView, turn: Turn) -> bool:
    until = _given_up_at(view, pod, turn)
    return until is not None and turn.now >= until


def _given_up_at(view: JobView, pod: PodView, turn: Turn) -> datetime | None:
    """When a pod is removed by force that no kubelet will end; None: never, as things are."""
    if not pod.node or pod.ends_by is None:
        return None
    node = turn.snapshot.node_by_name.get(pod.node)
    if node is None or is_shut_down(node.node):
        return pod.ends_by + LATE
    if node.state.usable:
        return None
    patience = LATE if view.training is None else _patience_with_workers(node, turn)
    return None if patience is None else pod.ends_by + patience


def _patience_with_workers(node: NodeView, turn: Turn) -> timedelta | None:
    """How long after its time a worker may still write, on a node that is to be left."""
    if not is_silent(node.node):
        return UNNOTICED
    policy = turn.snapshot.policy
    forced = policy.spec.unreachable_nodes.force_delete_after if policy is not None else None
    return None if forced is None else max(LATE, forced)
