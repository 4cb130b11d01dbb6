"""Pods that never start: how long to wait for them, and what to report after that.

A gang with one worker that never starts does nothing, and a replica that is never ready serves
nobody, but both hold GPUs. Only time shows that no scheduler knows of a pod, that a scheduling gate
holds it back, that its image cannot be pulled or that its volume cannot be mounted.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

from plimsoll.acting.conditions.stuck_pods import LONGEST_WORD, is_stuck
from plimsoll.acting.step import Refusal, Turn
from plimsoll.api.values.durations import duration_text
from plimsoll.observe.snapshot import PodView
from plimsoll.planning.disruption.backoff import terms_of
from plimsoll.vocabulary.reasons import Reason

_NO_LIMIT: Final = timedelta()


def workers_that_wait(pods: Iterable[PodView]) -> list[PodView]:
    """The workers of a gang that do not run yet; one that runs but is not ready may well train."""
    return [pod for pod in pods if pod.phase != "Running" or pod.wait is not None]


def start_ends(pods: Iterable[PodView], turn: Turn) -> datetime | None:
    """When the first of the pods that have not started runs out of time; None: never."""
    times = (_start_ends(pod, turn) for pod in pods)
    return min((at for at in times if at is not None), default=None)


def never_started(pods: Iterable[PodView], turn: Turn) -> list[PodView]:
    """The pods that have not started within their time."""
    found = ((pod, _start_ends(pod, turn)) for pod in pods)
    return [pod for pod, until in found if until is not None and until <= turn.now]


def no_start(late: Sequence[PodView], turn: Turn) -> Refusal:
    """The refusal for pods that never started, with the message of one of them."""
    first = min(late, key=lambda pod: pod.wait is None)
    others = f" ({len(late)} pods have not started)" if len(late) > 1 else ""
    return Refusal(f"{_why(first, turn)}{others}", reason=Reason.PODS_READY_TIMEOUT)


def nodes_at_fault(late: Iterable[PodView], pods: Iterable[PodView]) -> set[str]:
    """The nodes of late pods, if pods of the same template started elsewhere."""
    there = tuple(pods)
    return {
        pod.node
        for pod in late
        if pod.node
        and any(
            other.served and other.node != pod.node and other.template_hash == pod.template_hash
            for other in there
        )
    }


def _start_ends(pod: PodView, turn: Turn) -> datetime | None:
    if pod.served or pod.is_over or pod.deleting or pod.created is None:
        return None
    terms = terms_of(turn.snapshot.policy)
    times = [pod.created + terms.timeout] if terms.timeout else []
    if _is_in_error(pod) and terms.error_timeout:
        times.append(max(pod.created, pod.prepared or pod.created) + terms.error_timeout)
    return min(times, default=None)


def _is_in_error(pod: PodView) -> bool:
    """Whether a pod cannot start by itself; refusals by kube-scheduler are handled elsewhere."""
    return _is_unseen(pod) or is_stuck(pod)


def _is_unseen(pod: PodView) -> bool:
    return not pod.node and not pod.unschedulable


def _why(pod: PodView, turn: Turn) -> str:
    since = turn.now - pod.created if pod.created is not None else _NO_LIMIT
    after = f"after {duration_text(timedelta(seconds=int(since.total_seconds())))}"
    if pod.gates:
        return (
            f"{pod.name} is held back by scheduling gate {pod.gates[0]} {after}: lift the gate, or"
            " remove it from schedulingGates in the template"
        )
    if _is_unseen(pod):
        return (
            f"no scheduler has bound {pod.name} {after}: start scheduler {pod.scheduler}, or"
            " remove schedulerName from the template"
        )
    return f"{pod.name} on {pod.node or pod.wanted_node} {_what_the_kubelet_says(pod, after)}"


def _what_the_kubelet_says(pod: PodView, after: str) -> str:
    if pod.wait is None:
        return f"is not ready {after}: check its logs and readiness probe"
    said = ": ".join(filter(None, (pod.wait.reason, pod.wait.message[:LONGEST_WORD])))
    if pod.wait.is_error:
        return f"cannot start container {pod.wait.container} {after}: {said}"
    return f"has not started {after}: {said}; its events (kubectl get events) say why"
