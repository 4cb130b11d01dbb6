"""A role's pods for load measurement: which replicas should report.

A replica reports through any of its pods: often only the first of several serves requests.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.snapshot import PodView

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
