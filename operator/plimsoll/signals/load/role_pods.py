"""A role's pods for load measurement: which replicas should report, and which roles have none.

A replica reports through any of its pods: often only the first of several serves requests.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.roles import Role
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.serving.replicas import is_measured, role_status
from plimsoll.signals.load.servers.gateways import gateway_of

Kinds = Mapping[tuple[str, int], str]
"""The GPU type of each replica, by role and number."""
LEAST_DRAIN_SECONDS: Final = 30.0
"""Waiting requests need never be served faster than within this time."""


@dataclass(frozen=True, slots=True)
class RolePods:
    """`names`: of all existing pods. `ready`: the ready replicas.

    `settled`: those ready for long enough that Prometheus should know them, each by the names of
    its pods. `types`: these by GPU type, where it is known of all.
    """

    names: frozenset[str] = frozenset()
    ready: int = 0
    settled: tuple[frozenset[str], ...] = ()
    types: Mapping[str, tuple[frozenset[str], ...]] = field(
        default_factory=dict[str, tuple[frozenset[str], ...]]
    )


def role_pods(
    pods: Iterable[PodView], now: datetime, settled: timedelta, kinds: Kinds | None = None
) -> dict[str, RolePods]:
    """The pods of a job by role; those ready for longer than `settled` should be known."""
    found: dict[str, dict[int, list[PodView]]] = defaultdict(lambda: defaultdict(list))
    for pod in pods:
        found[pod.role][pod.replica].append(pod)
    return {
        role: _of({(role, number): each for number, each in replicas.items()}, now - settled, kinds)
        for role, replicas in found.items()
    }


def kinds_of(job: InferenceJob) -> dict[tuple[str, int], str]:
    """The GPU type of each replica that has a place."""
    placement = job.status.placement
    places = placement.assignments if placement is not None else ()
    return {(each.role, each.replica): each.accelerator_type for each in places}


def pods_by_type(pods: Mapping[str, RolePods]) -> dict[str, dict[str, frozenset[str]]]:
    """The names of the settled pods by GPU type, of roles that several types serve at once."""
    return {
        role: {kind: frozenset[str]().union(*replicas) for kind, replicas in each.types.items()}
        for role, each in pods.items()
        if len(each.types) > 1
    }


def drain_seconds(job: InferenceJob, start: timedelta | None) -> float:
    """The time within which waiting requests should be served: the start time of a replica.

    Requests that wait for less are served before a new replica could serve them.
    """
    time = job.spec.load.forecast.horizon if start is None else start
    return max(time.total_seconds(), LEAST_DRAIN_SECONDS)


def asleep(jobs: Iterable[InferenceJob], pods: Iterable[PodView]) -> Iterator[InferenceJob]:
    """The services that have no pod, for want of load, and that a measurement can wake."""
    idle = [job for job in jobs if is_measured(job) and _is_measured_in_front(job)]
    idle = [job for job in idle if all(_sleeps(job, role) for role in job.spec.roles)]
    awake = {pod.job_uid for pod in pods} if idle else set[str]()
    return (job for job in idle if job.metadata.uid not in awake)


def _sleeps(job: InferenceJob, role: Role) -> bool:
    """Whether nothing is wanted of a role."""
    status = role_status(job, role)
    wanted = status.loads if status else ()
    return not role.replicas.min and not any(each.wanted for each in wanted)


def _is_measured_in_front(job: InferenceJob) -> bool:
    """Whether requests are counted before they reach a replica."""
    return gateway_of(job) is not None or bool(job.spec.load.queries)


def _of(
    replicas: Mapping[tuple[str, int], list[PodView]], before: datetime, kinds: Kinds | None
) -> RolePods:
    ready = {
        key: pods
        for key, pods in replicas.items()
        if all(pod.ready and not pod.deleting for pod in pods)
    }
    settled = {
        key: frozenset(pod.name for pod in pods)
        for key, pods in ready.items()
        if all(pod.ready_since is None or pod.ready_since <= before for pod in pods)
    }
    names = frozenset(pod.name for pods in replicas.values() for pod in pods)
    return RolePods(names, len(ready), tuple(settled.values()), _by_type(settled, kinds or {}))


def _by_type(
    settled: Mapping[tuple[str, int], frozenset[str]], kinds: Kinds
) -> dict[str, tuple[frozenset[str], ...]]:
    """The settled replicas by GPU type; empty if that of any is unknown."""
    found: dict[str, list[frozenset[str]]] = defaultdict(list)
    for key, pods in settled.items():
        found[kinds.get(key, "")].append(pods)
    return {} if "" in found else {kind: tuple(each) for kind, each in found.items()}
