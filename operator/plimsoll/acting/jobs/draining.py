"""Remove replicas without losing requests: take them out of their Services, delete them later.

A service's pods have a readiness gate, a condition that only the operator sets: True on wanted
pods, False on departing ones. A pod with a closed gate is not ready, so Services send it nothing
new. It is deleted once it has no requests left to answer, or its role's `drain` is over. The
condition's transition time says when draining began, so nothing else has to be remembered. While
its power domain is over its budget, a departing replica has no more time than the domain.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.acting.jobs.ending import alive, given_up_at, to_delete
from plimsoll.acting.jobs.overshoot import Overshoot, overshoot_of
from plimsoll.acting.pods.gpu_request import pod_placements
from plimsoll.acting.pods.manifest import drain_of
from plimsoll.acting.step import GateChange, JobEvent, Step, Turn
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus, RoleStatus
from plimsoll.api.parts.placement import Assignment
from plimsoll.naming import first_few
from plimsoll.observe.nodes.notices import has_interruption_notice
from plimsoll.observe.snapshot import JobView, NodeView, PodView
from plimsoll.planning.cluster.surge import surge_pods
from plimsoll.vocabulary.reasons import Reason

SETTLED: Final = timedelta(seconds=65)
"""How long after a gate closed a measurement of no requests is believed. Services take seconds to
notice, and a measurement may be as old as Prometheus's scrape interval, by default a minute."""
NOTICE_DRAIN: Final = timedelta(seconds=15)
"""The longest drain on a node that its provider reclaims: half of the 30 s that Google Cloud and
Azure leave, so that the pods have the other half to end."""
_BROKEN: Final = frozenset({Reason.UNHEALTHY, Reason.NOT_READY})
_NAMED: Final = 4
NO_TIME: Final = timedelta()


@dataclass(frozen=True, slots=True)
class Departure:
    """What happens to departing pods: gates to close, pods to delete now, when to look again."""

    gates: tuple[GateChange, ...] = ()
    delete: tuple[PodView, ...] = ()
    times: tuple[datetime, ...] = ()
    events: tuple[JobEvent, ...] = ()


def departure(view: JobView, pods: Iterable[PodView], turn: Turn) -> Departure:
    """Drain or delete the departing pods, replica by replica."""
    delete: list[PodView] = []
    closing: list[GateChange] = []
    cut: list[tuple[str, PodView]] = []
    times: list[datetime] = []
    for replica in _replicas(pods):
        until = _drains_until(view, replica, turn)
        hurry = None if until is None else _hurry(view, replica, until, turn)
        if hurry is not None and hurry.ends <= turn.now:
            cut += [(f"its drain ends early: {hurry.text}", pod) for pod in replica]
            until = None
        if until is None:
            delete += to_delete(view, replica, turn)
            times += given_up_at(view, replica, turn)
        else:
            closing += _closed(replica, until, hurry, turn)
            times.append(until if hurry is None else hurry.ends)
    later = tuple(at for at in times if at > turn.now)
    events = (
        *_events(Reason.DRAINING, ((change.message, change.pod) for change in closing)),
        *_events(Reason.POWER_OVERSHOOT, cut),
    )
    return Departure(tuple(closing), tuple(delete), later, events)


def opened(pods: Iterable[PodView], turn: Turn) -> tuple[GateChange, ...]:
    """The gate changes that let pods serve which do not serve yet, or have stopped serving."""
    why = (Reason.ADMITTED, "the replica has its place", whole_second(turn.now))
    return tuple(
        GateChange(pod, True, *why)  # noqa: FBT003 - `opens`
        for pod in alive(pods)
        if pod.gate is not None and not pod.gate.is_open
    )


def taken_back(
    places: Iterable[Assignment], view: JobView, job: InferenceJob, turn: Turn
) -> tuple[Assignment, ...]:
    """The places, with the revision of departing pods that are still there and fit as they are.

    So a replica that is wanted again before it has gone serves on at once.
    """
    draining: dict[tuple[str, int], list[PodView]] = {}
    lingers = surge_pods(view)
    for pod in alive(view.pods):
        if pod.draining_since or pod in lingers:
            draining.setdefault((pod.role, pod.replica), []).append(pod)
    return tuple(
        place.model_copy(update={"revision": pods[0].revision})
        if (pods := draining.get((place.role, place.replica))) and _fits(pods, place, job, turn)
        else place
        for place in places
    )


def with_draining(step: Step) -> Step:
    """The step, which also reports how many replicas of each role drain once it is done."""
    status = step.status
    if not isinstance(status, InferenceJobStatus):
        return step
    numbers = _draining_after(step)
    known = {role.name for role in status.roles}
    roles = (
        *(role.model_copy(update={"draining": numbers.get(role.name, 0)}) for role in status.roles),
        *(RoleStatus(name=name, draining=n) for name, n in numbers.items() if name not in known),
    )
    if roles == status.roles:
        return step
    return replace(step, status=status.model_copy(update={"roles": roles}))


def _replicas(pods: Iterable[PodView]) -> list[tuple[PodView, ...]]:
    """The pods grouped by replica, each group by rank."""

    def key(pod: PodView) -> tuple[str, int, int]:
        return pod.role, pod.replica, pod.revision

    ordered = sorted(pods, key=lambda pod: (*key(pod), pod.rank))
    return [tuple(replica) for _, replica in groupby(ordered, key)]


def _drains_until(view: JobView, replica: tuple[PodView, ...], turn: Turn) -> datetime | None:
    """Until when a replica may still answer; None if it has nothing to answer, or no time."""
    limit = _limit(view, replica, turn)
    if limit <= NO_TIME or not all(_may_answer(pod, view) for pod in replica):
        return None
    since = max(pod.draining_since or whole_second(turn.now) for pod in replica)
    is_over = turn.now >= since + limit or _is_idle(view, replica, since)
    return None if is_over else since + limit


def _limit(view: JobView, replica: tuple[PodView, ...], turn: Turn) -> timedelta:
    """How long a replica may drain, by its role and its nodes."""
    if view.inference is None:
        return NO_TIME
    limit = drain_of(view.inference, replica[0].role)
    nodes = [turn.snapshot.node_by_name.get(pod.node) for pod in replica]
    if any(node is None or _is_broken(node) for node in nodes):
        return NO_TIME
    noticed = any(node is not None and has_interruption_notice(node.node) for node in nodes)
    return min(limit, NOTICE_DRAIN) if noticed else limit


def _is_broken(node: NodeView) -> bool:
    """Whether responses from a node are wrong, or do not arrive at all."""
    return not node.state.usable and node.state.reason in _BROKEN


def _may_answer(pod: PodView, view: JobView) -> bool:
    """Whether a pod may have requests: it has served, and its containers are alive."""
    served = pod.gate is not None and pod.gate.is_open is not None
    if not served or pod.is_over or pod.deleting:
        return False
    return pod.answers or bool(view.demand and view.demand.running_requests.get(pod.name))


def _is_idle(view: JobView, replica: tuple[PodView, ...], since: datetime) -> bool:
    """Whether a late enough measurement shows that a replica has no requests left.

    Its first pod must have been measured; with some servers the other pods report nothing.
    """
    demand = view.demand
    if demand is None or demand.at < since + SETTLED:
        return False
    running = [demand.running_requests.get(pod.name) for pod in replica]
    return running[0] is not None and not any(running)


def _hurry(
    view: JobView, replica: tuple[PodView, ...], until: datetime, turn: Turn
) -> Overshoot | None:
    """The overshoot that leaves a replica less time than its drain, if any."""
    overshoot = overshoot_of(view, replica, turn)
    return overshoot if overshoot is not None and overshoot.ends < until else None


def _closed(
    replica: Iterable[PodView], until: datetime, hurry: Overshoot | None, turn: Turn
) -> Iterator[GateChange]:
    ends, why = (until, "") if hurry is None else (hurry.ends, f": {hurry.text}")
    text = f"gets no new requests and is deleted by {ends:%H:%M:%S} UTC{why}"
    for pod in replica:
        if not pod.draining_since:
            yield GateChange(pod, False, Reason.DRAINING, text, whole_second(turn.now))  # noqa: FBT003


def _events(reason: Reason, said: Iterable[tuple[str, PodView]]) -> Iterator[JobEvent]:
    """The events about replicas, one for all pods with the same message."""
    by_message: dict[str, list[PodView]] = {}
    for message, pod in said:
        by_message.setdefault(message, []).append(pod)
    for message, pods in by_message.items():
        names = first_few([pod.name for pod in pods], _NAMED)
        warns = reason is not Reason.DRAINING
        yield JobEvent(reason, f"{names}: {message}", warns, pods=tuple(pods))


def _fits(pods: list[PodView], place: Assignment, job: InferenceJob, turn: Turn) -> bool:
    """Whether draining pods match a place in everything but their revision."""
    placements = pod_placements(turn.snapshot, job, place) or ()
    there = [(pod.rank, pod.node, pod.revision) for pod in sorted(pods, key=lambda p: p.rank)]
    wanted = [(each.rank, each.node, pods[0].revision) for each in placements]
    return there == wanted and all(
        pod.answers and pod.requests.others.get(each.gpu_resource) == each.gpu_units
        for pod, each in zip(sorted(pods, key=lambda p: p.rank), placements, strict=True)
    )


def _draining_after(step: Step) -> dict[str, int]:
    """How many replicas of each role drain once the step is done."""
    closes = {change.pod.uid: not change.opens for change in step.gates}
    gone = {pod.uid for pod in step.delete}
    found = {
        (pod.role, pod.replica)
        for pod in alive(step.job.pods)
        if pod.uid not in gone and closes.get(pod.uid, pod.draining_since is not None)
    }
    roles = sorted(role for role, _ in found)
    return {role: roles.count(role) for role in dict.fromkeys(roles)}
