"""Which of a job's pods are still there to be told, to be deleted, or to be removed by force."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from plimsoll.acting.step import Turn
from plimsoll.observe.snapshot import PodView

LATE = timedelta(seconds=10)
"""How long after its time a pod is given up whose node will not end it."""


def alive(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that run or will, and that nobody deletes."""
    return tuple(pod for pod in pods if not pod.is_over and not pod.deleting)


def not_deleting(pods: Iterable[PodView]) -> tuple[PodView, ...]:
    """The pods that nobody deletes."""
    return tuple(pod for pod in pods if not pod.deleting)


def to_delete(pods: Iterable[PodView], turn: Turn) -> tuple[PodView, ...]:
    """The pods of these that nobody deletes, and those that must be removed by force by now."""
    return tuple(pod for pod in pods if not pod.deleting or _is_given_up(pod, turn))


def given_up_at(pods: Iterable[PodView], turn: Turn) -> list[datetime]:
    """When pods will be removed by force that are only being deleted so far."""
    return [pod.ends_by + LATE for pod in pods if pod.ends_by and _is_stranded(pod, turn)]


def _is_given_up(pod: PodView, turn: Turn) -> bool:
    late = pod.ends_by is not None and turn.now >= pod.ends_by + LATE
    return late and _is_stranded(pod, turn)


def _is_stranded(pod: PodView, turn: Turn) -> bool:
    """Whether no kubelet will end the pod: its node is gone, or is to be left."""
    node = turn.snapshot.node_by_name.get(pod.node)
    return bool(pod.node) and (node is None or not node.state.usable)
