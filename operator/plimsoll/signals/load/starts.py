"""Learn how long replicas take to start, by role and GPU type; kept from look to look.

A start includes all that precedes serving: the image, the weights, the warm-up. It is counted once,
when a pod is first seen ready, since a pod that was briefly unready later on seems to have started
slowly. The first of a job's pods on a node may have to pull the image, so those are also counted
apart. Pods that are ready when this process first looks are what it knows at first.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.snapshot import PodView

MOST_START: Final = timedelta(minutes=30)
"""The longest start assumed, whatever pods seem to have needed."""
REMEMBERED: Final = 20
"""The latest starts that count, of each role on each GPU type."""
USUAL: Final = 0.75
"""The share of starts that take no longer than what is assumed."""


@dataclass(frozen=True, slots=True)
class Start:
    """How long a start takes: anywhere, and on a node where the job had no pod before."""

    anywhere: timedelta
    on_new_node: timedelta


@dataclass(slots=True)
class _Page:
    """The pods of a job that were counted, the nodes that had any, and the starts in seconds."""

    counted: frozenset[str] = frozenset()
    nodes: frozenset[str] = frozenset()
    anywhere: dict[tuple[str, str], deque[float]] = field(
        default_factory=dict[tuple[str, str], deque[float]]
    )
    on_new_node: dict[tuple[str, str], deque[float]] = field(
        default_factory=dict[tuple[str, str], deque[float]]
    )


class StartBook:
    """Remembers the latest starts of each job."""

    def __init__(self) -> None:
        self._pages: dict[str, _Page] = {}

    def look(self, job: InferenceJob, pods: Iterable[PodView]) -> None:
        """Count the pods that are ready for the first time."""
        page = self._pages.setdefault(job.metadata.uid, _Page())
        kinds, there = _kinds(job), sorted(pods, key=_by_creation)
        for pod in there:
            seconds = _seconds(pod)
            if seconds is not None and pod.uid not in page.counted:
                key = pod.role, kinds.get((pod.role, pod.replica), "")
                _starts(page.anywhere, key).append(seconds)
                if pod.node not in page.nodes:
                    _starts(page.on_new_node, key).append(seconds)
                page.nodes |= {pod.node}
        page.counted = frozenset(
            pod.uid for pod in there if pod.uid in page.counted or _seconds(pod) is not None
        )

    def start(self, job: InferenceJob, role: str) -> Start | None:
        """How long a role's replicas take, by the slowest of the GPU types that it is placed on.

        By the other types if nothing is known of those; None if nothing is known at all.
        """
        page = self._pages.get(job.metadata.uid, _Page())
        known = {kind: each for (of, kind), each in page.anywhere.items() if of == role}
        if not known:
            return None
        used = {kind for (of, _), kind in _kinds(job).items() if of == role} & known.keys()
        slowest = max(used or known, key=lambda kind: _usual(known[kind]))
        anywhere = _usual(known[slowest])
        new = page.on_new_node.get((role, slowest))
        return Start(anywhere, max(anywhere, _usual(new)) if new else anywhere)

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._pages = {uid: page for uid, page in self._pages.items() if uid in kept}


def _kinds(job: InferenceJob) -> Mapping[tuple[str, int], str]:
    """The GPU types of a job's replicas, by role and index."""
    placement = job.status.placement
    places = placement.assignments if placement else ()
    return {(place.role, place.replica): place.accelerator_type for place in places}


def _seconds(pod: PodView) -> float | None:
    """How long a ready pod took; None if it is not ready, or that is unknown."""
    if not pod.ready or pod.ready_since is None or pod.created is None:
        return None
    return max(0.0, (pod.ready_since - pod.created).total_seconds())


def _by_creation(pod: PodView) -> tuple[bool, float]:
    return pod.created is None, pod.created.timestamp() if pod.created else 0.0


def _starts(book: dict[tuple[str, str], deque[float]], key: tuple[str, str]) -> deque[float]:
    return book.setdefault(key, deque(maxlen=REMEMBERED))


def _usual(seconds: Iterable[float]) -> timedelta:
    ascending = sorted(seconds)
    found = ascending[math.ceil(USUAL * len(ascending)) - 1]
    return min(timedelta(seconds=found), MOST_START)
