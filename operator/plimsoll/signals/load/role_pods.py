"""A role's pods for load measurement: which replicas should report, and how fast they start.

A replica reports through any of its pods: often only the first of several serves requests.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import median
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.snapshot import PodView

MOST_START: Final = timedelta(minutes=30)
"""The longest start assumed, whatever pods seem to have needed."""
LEAST_DRAIN_SECONDS: Final = 30.0
"""Waiting requests need never be served faster than within this time."""


@dataclass(frozen=True, slots=True)
class RolePods:
    """`names`: of all existing pods. `ready`: the ready replicas.

    `settled`: those ready for long enough that Prometheus should know them, each by the names of
    its pods.
    """

    names: frozenset[str] = frozenset()
    ready: int = 0
    settled: tuple[frozenset[str], ...] = ()


def role_pods(pods: Iterable[PodView], now: datetime, settled: timedelta) -> dict[str, RolePods]:
    """The pods of a job by role; those ready for longer than `settled` should be known."""
    found: dict[str, dict[int, list[PodView]]] = defaultdict(lambda: defaultdict(list))
    for pod in pods:
        found[pod.role][pod.replica].append(pod)
    return {role: _of(replicas, now - settled) for role, replicas in found.items()}


def start_seconds(pods: Iterable[PodView]) -> float | None:
    """The median time from a job's pods' creation to their readiness; None if unknown.

    The median, since a pod that was briefly unready later on seems to have started slowly.
    """
    seconds = [
        (pod.ready_since - pod.created).total_seconds()
        for pod in pods
        if pod.ready and pod.ready_since is not None and pod.created is not None
    ]
    return max(0.0, median(seconds)) if seconds else None


def start_within(pods: Iterable[PodView]) -> timedelta | None:
    """The assumed duration of a start, by what starts needed before."""
    seconds = start_seconds(pods)
    return None if seconds is None else min(timedelta(seconds=seconds), MOST_START)


def drain_seconds(job: InferenceJob, start: timedelta | None) -> float:
    """The time within which waiting requests should be served: the start time of a replica.

    Requests that wait for less are served before a new replica could serve them.
    """
    time = job.spec.load.forecast.horizon if start is None else start
    return max(time.total_seconds(), LEAST_DRAIN_SECONDS)


def _of(replicas: Mapping[int, list[PodView]], before: datetime) -> RolePods:
    ready = [
        pods for pods in replicas.values() if all(pod.ready and not pod.deleting for pod in pods)
    ]
    settled = [
        frozenset(pod.name for pod in pods)
        for pods in ready
        if all(pod.ready_since is None or pod.ready_since <= before for pod in pods)
    ]
    names = frozenset(pod.name for pods in replicas.values() for pod in pods)
    return RolePods(names, len(ready), tuple(settled))
