"""Pods with a container that the kubelet cannot start, for as long as it goes on trying."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from plimsoll.observe.snapshot import PodView

LONGEST_WORD: Final = 300
"""The most characters reported of a kubelet's message."""


@dataclass(frozen=True, slots=True)
class Stuck:
    """What cannot start, and why; `what` stays the same while the kubelet tries, `why` does not."""

    pod: PodView
    what: str
    why: str


def is_stuck(pod: PodView) -> bool:
    """Whether the kubelet says that it cannot start a container."""
    return pod.wait is not None and pod.wait.is_error


def stuck_among(pods: Iterable[PodView]) -> Stuck | None:
    """The first by name of the pods that are stuck; None if none is."""
    stuck = (pod for pod in pods if is_stuck(pod) and not pod.is_over and not pod.deleting)
    first = min(stuck, key=lambda pod: pod.name, default=None)
    if first is None or first.wait is None:
        return None
    wait = first.wait
    fails = "pull the image of" if "Image" in wait.reason else "start"
    what = f"{first.name} on {first.node} cannot {fails} container {wait.container}"
    return Stuck(first, what, wait.message[:LONGEST_WORD] or wait.reason)
