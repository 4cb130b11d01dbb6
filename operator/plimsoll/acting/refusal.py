"""When kube-scheduler or the API server will not have a pod, and what follows for its job."""

from datetime import datetime, timedelta

from plimsoll.acting.release import released
from plimsoll.acting.step import Note, Step, Turn
from plimsoll.acting.telling import Fact, told
from plimsoll.api.job_parts import AvoidedNode
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.telemetry import Reason

MOST_AVOIDED = 64


def patience_ends(pod: PodView, turn: Turn) -> datetime:
    """Until when a pod that kube-scheduler refuses is left to it.

    Where its node has been closed since, such as by a cordon, there is nothing to wait for.
    """
    node = turn.snapshot.node_by_name.get(pod.wanted_node)
    is_open = node is not None and node.state.open
    return (pod.created or turn.now) + timedelta(seconds=turn.refusal_seconds if is_open else 0)


def is_refused(pod: PodView, turn: Turn) -> bool:
    """Whether kube-scheduler has refused a pod for longer than that."""
    return bool(pod.unschedulable) and not pod.deleting and turn.now >= patience_ends(pod, turn)


def avoided(known: tuple[AvoidedNode, ...], nodes: set[str], turn: Turn) -> tuple[AvoidedNode, ...]:
    """The avoided nodes with some more, without those whose time is over."""
    until = (turn.now + timedelta(seconds=turn.avoid_seconds)).replace(microsecond=0)
    kept = [each for each in known if each.until > turn.now and each.node not in nodes]
    return (*kept, *(AvoidedNode(node=node, until=until) for node in sorted(nodes)))[-MOST_AVOIDED:]


def pods_refused(view: JobView, message: str, now: datetime) -> Step:
    """The API server refuses a job's pods: it gives up its place until its spec changes."""
    fact = Fact.false("Admitted", Reason.POD_REFUSED, message)
    status = told(released(view.resource.status), view, now, [fact])
    gone = tuple(pod for pod in view.pods if not pod.deleting)
    return Step(view, status, delete=gone, notes=(Note(fact.reason, message, warning=True),))
