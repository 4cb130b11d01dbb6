"""When kube-scheduler or the API server will not have a pod, and what follows for its job."""

from collections import Counter
from datetime import datetime, timedelta
from typing import TypeVar

from plimsoll.acting.draining import departure
from plimsoll.acting.release import released
from plimsoll.acting.step import Note, Refusal, Step, Turn
from plimsoll.acting.telling import Fact, told
from plimsoll.api.conditions import with_condition
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus
from plimsoll.api.job_parts import Assignment, AvoidedNode
from plimsoll.api.kinds import JobStatus
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.refusals import ABLE_TO_SCALE, growth_refusal, refusal_pause
from plimsoll.telemetry import Reason

S = TypeVar("S", bound=JobStatus)

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


def pods_refused(view: JobView, refusal: Refusal, turn: Turn) -> Step:
    """The API server refuses a job's pods: it gives up its place, but for replicas that serve."""
    if view.inference is not None:
        kept = _complete(view, view.inference)
        if kept:
            return _without_growth(view, view.inference, kept, refusal, turn)
    status = _counted(released(view.resource.status), view, refusal)
    again = turn.now + refusal_pause(status)
    message = f"{refusal.message}; tried again at {again:%H:%M:%S} UTC, or when the spec changes"
    fact = Fact.false("Admitted", Reason.POD_REFUSED, message)
    status = told(status, view, turn.now, [fact])
    going = departure(view, view.pods, turn)
    notes = (Note(fact.reason, refusal.message, warning=True), *going.notes)
    return Step(view, status, gates=going.gates, delete=going.delete, notes=notes)


def _complete(view: JobView, job: InferenceJob) -> tuple[Assignment, ...]:
    """The places of replicas that have all their pods; none where a role is left without any."""
    places = job.status.placement.assignments if job.status.placement else ()
    there = Counter((pod.role, pod.replica, pod.revision) for pod in view.pods if not pod.deleting)
    kept = tuple(p for p in places if there[p.role, p.replica, p.revision] == len(p.nodes))
    return kept if {p.role for p in kept} == {p.role for p in places} else ()


def _without_growth(
    view: JobView, job: InferenceJob, kept: tuple[Assignment, ...], refusal: Refusal, turn: Turn
) -> Step:
    """The replicas that are there stay, and others are not asked for again for a while."""
    before, placement, message = growth_refusal(job.status), job.status.placement, refusal.message
    assert placement is not None  # noqa: S101 - some of its replicas are kept
    status = job.status.model_copy(
        update={"placement": placement.model_copy(update={"assignments": kept})}
    )
    status = _counted(status, view, refusal)
    status = told(status, view, turn.now, [Fact.false(ABLE_TO_SCALE, Reason.POD_REFUSED, message)])
    is_news = before is None or before.message != message
    notes = (Note(Reason.POD_REFUSED, message, warning=True),) if is_news else ()
    return Step(view, status, notes=notes, again_at=turn.now + refusal_pause(status))


def _counted(status: S, view: JobView, refusal: Refusal) -> S:
    """The status with one refusal more; those of another spec and failures do not count."""
    if refusal.fails:
        return status
    same = status.observed_generation == view.resource.metadata.generation
    return status.model_copy(update={"refusals": (status.refusals if same else 0) + 1})


def with_refusal_reviewed(
    status: InferenceJobStatus, view: JobView, now: datetime
) -> InferenceJobStatus:
    """The status without a refusal that is over, and open about one that is to be tried again."""
    found = growth_refusal(status)
    if found is None:
        return status
    generation = view.resource.metadata.generation
    has_all = all(role.ready >= role.wanted for role in status.roles)
    if has_all or found.observed_generation != generation:
        others = tuple(each for each in status.conditions if each != found)
        return status.model_copy(update={"conditions": others, "refusals": 0})
    if found.status == "Unknown" or now - found.last_transition_time <= refusal_pause(status):
        return status
    at = {"status": "Unknown", "last_transition_time": now.replace(microsecond=0)}
    conditions = with_condition(status.conditions, found.model_copy(update=at))
    return status.model_copy(update={"conditions": conditions})


def tries_again_at(status: InferenceJobStatus) -> datetime | None:
    """When refused replicas are asked for again; None where none were refused."""
    found = growth_refusal(status)
    if found is None or found.status != "False":
        return None
    return found.last_transition_time + refusal_pause(status) + timedelta(seconds=1)
