"""Select a job's pods that are still alive, to be deleted, or to be removed by force.

Removing a pod by force means forgetting it, whether it has ended or not. A gang's next workers
start once the previous ones are gone, so a worker is forgotten only where it surely writes no more
checkpoints: its node is gone, or its kubelet responds and has had time to kill it. A replica of a
service may briefly exist twice.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.step import Turn
from plimsoll.observe.nodes.notices import is_shut_down, is_silent
from plimsoll.observe.snapshot import JobView, NodeView, PodView

LATE: Final = timedelta(seconds=10)
"""How long past its deadline a pod is removed by force, if its node will not end it."""
UNNOTICED: Final = timedelta(seconds=60)
"""How long a node may be cut off before it is reported: 50 s by default, kube-controller-manager's
node-monitor-grace-period."""


def alive(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that run or will run, and that are not being deleted."""
    return tuple(pod for pod in pods if not pod.is_over and not pod.deleting)


def not_deleting(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that are not being deleted."""
    return tuple(pod for pod in pods if not pod.deleting)


def to_delete(view: JobView, pods: Iterable[PodView], turn: Turn) -> tuple[PodView, ...]:
    """Of these pods, those not being deleted yet, and those due to be removed by force."""
    return tuple(pod for pod in pods if not pod.deleting or _is_given_up(view, pod, turn))


def given_up_at(view: JobView, pods: Iterable[PodView], turn: Turn) -> list[datetime]:
    """When pods that are being deleted will be removed by force."""
    times = (_given_up_at(view, pod, turn) for pod in pods)
    return [at for at in times if at is not None]


def _is_given_up(view: JobView, pod: PodView, turn: Turn) -> bool:
    until = _given_up_at(view, pod, turn)
    return until is not None and turn.now >= until


def _given_up_at(view: JobView, pod: PodView, turn: Turn) -> datetime | None:
    """When a pod that no kubelet will end is removed by force; None: never, as things are."""
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
    """How long past its deadline a worker may still write, on a node that must be left."""
    if not is_silent(node.node):
        return UNNOTICED
    policy = turn.snapshot.policy
    forced = policy.spec.unreachable_nodes.force_delete_after if policy is not None else None
    return None if forced is None else max(LATE, forced)
