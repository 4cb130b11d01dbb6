"""Handle pods that are refused or never start, and decide what follows for their job.

Kube-scheduler does not bind them, the API server refuses them, or they never become ready.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeVar

from plimsoll.acting.conditions.conditions import (
    Fact,
    starts_no_more,
    with_conditions,
    with_facts,
    without,
)
from plimsoll.acting.jobs.draining import departure
from plimsoll.acting.jobs.release import released
from plimsoll.acting.jobs.starting import no_start, nodes_at_fault
from plimsoll.acting.pods.gpu_request import accelerators_summary, nodes_summary
from plimsoll.acting.step import JobEvent, Refusal, Step, Turn
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.placement import Assignment, AvoidedNode
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.planning.disruption.backoff import ABLE_TO_SCALE, growth_refusal, refusal_pause
from plimsoll.planning.serving.old_templates import replicas_by_role
from plimsoll.vocabulary.reasons import Reason

S = TypeVar("S", bound=JobStatus)
J = TypeVar("J", TrainingJob, InferenceJob)

MOST_AVOIDED = 64
_WHATEVER_THE_NODE: Final = re.compile(
    r"\d+/\d+ nodes are available: (?P<why>[^\d\s].*)", re.DOTALL
)
"""What kube-scheduler says of a pod that it could bind to no node, however many there were."""


def patience_ends(pod: PodView, turn: Turn) -> datetime:
    """Until when a pod that kube-scheduler refuses is given time.

    If its node has been closed since, for example by a cordon, there is nothing to wait for.
    """
    node = turn.snapshot.node_by_name.get(pod.wanted_node)
    is_open = node is not None and node.state.open
    return (pod.created or turn.now) + timedelta(seconds=turn.refusal_seconds if is_open else 0)


def is_refused(pod: PodView, turn: Turn) -> bool:
    """Whether kube-scheduler has refused a pod for longer than that."""
    return bool(pod.unschedulable) and not pod.deleting and turn.now >= patience_ends(pod, turn)


def bound_nowhere(
    view: JobView, status: JobStatus, refused: Sequence[PodView], turn: Turn
) -> Step | None:
    """The step if no node would do for a refused pod, as without its volume; None if one might.

    Its gang, or the replicas with refused pods, give up their place and are not retried for a
    while. Of nodes kube-scheduler says how many lack what. What it says first, without a number,
    holds for all of them: another node would not help.
    """
    for pod in refused:
        found = _WHATEVER_THE_NODE.fullmatch(pod.unschedulable)
        if found is not None:
            why = found["why"].partition(". ")[0].rstrip(".")
            refusal = Refusal(f"kube-scheduler can bind {pod.name} to no node: {why}")
            return _given_up(view, status, refusal, _without(refused, status), turn)
    return None


def refused_anew(
    view: JobView, status: JobStatus, refused: Sequence[PodView], turn: Turn
) -> Step | None:
    """The step if replicas of an old template serve while new pods are refused; None if not.

    Where one of the new template goes no other may go either, so no more are tried for a while.
    """
    kept = _without(refused, status)
    if not kept or not replicas_by_role(view):
        return None
    more = avoided(status.avoided_nodes, {pod.wanted_node for pod in refused}, turn)
    status = status.model_copy(update={"avoided_nodes": more})
    return _given_up(view, status, Refusal(not_bound(refused[0])), kept, turn)


def not_bound(pod: PodView) -> str:
    """That kube-scheduler does not bind a pod where it is to go, and why."""
    return f"kube-scheduler refused {pod.name} on {pod.wanted_node}: {pod.unschedulable}"


def avoided(known: tuple[AvoidedNode, ...], nodes: set[str], turn: Turn) -> tuple[AvoidedNode, ...]:
    """The avoided nodes with these added, and without those whose time is over."""
    until = (turn.now + timedelta(seconds=turn.avoid_seconds)).replace(microsecond=0)
    kept = [each for each in known if each.until > turn.now and each.node not in nodes]
    return (*kept, *(AvoidedNode(node=node, until=until) for node in sorted(nodes)))[-MOST_AVOIDED:]


def pods_refused(view: JobView, refusal: Refusal, turn: Turn) -> Step:
    """The API server refuses a job's pods: it gives up its place, except for complete replicas."""
    return _given_up(view, view.resource.status, refusal, _complete(view), turn)


def not_ready_in_time(
    view: JobView, status: JobStatus, late: Sequence[PodView], turn: Turn
) -> Step:
    """Pods never started: their gang, or their replicas, give up their place."""
    more = avoided(status.avoided_nodes, nodes_at_fault(late, view.pods), turn)
    status = status.model_copy(update={"avoided_nodes": more})
    return _given_up(view, status, no_start(late, turn), _without(late, status), turn)


def _complete(view: JobView) -> tuple[Assignment, ...]:
    """The places of replicas that have all their pods; none for a gang."""
    if view.inference is None:
        return ()
    there = Counter((pod.role, pod.replica, pod.revision) for pod in view.pods if not pod.deleting)
    places = _places(view.inference.status)
    return _of_all_roles(
        [p for p in places if there[p.role, p.replica, p.revision] == len(p.nodes)], places
    )


def _without(pods: Iterable[PodView], status: JobStatus) -> tuple[Assignment, ...]:
    """The places of the replicas that have none of these pods; none for a gang."""
    if not isinstance(status, InferenceJobStatus):
        return ()
    gone = {(pod.role, pod.replica) for pod in pods}
    places = _places(status)
    return _of_all_roles([p for p in places if (p.role, p.replica) not in gone], places)


def _places(status: InferenceJobStatus) -> tuple[Assignment, ...]:
    return status.placement.assignments if status.placement else ()


def _of_all_roles(
    kept: Iterable[Assignment], places: Iterable[Assignment]
) -> tuple[Assignment, ...]:
    """These places, or none if a role is left without any: the other roles need it."""
    kept = tuple(kept)
    return kept if {p.role for p in kept} == {p.role for p in places} else ()


def _given_up(
    view: JobView, status: JobStatus, refusal: Refusal, kept: tuple[Assignment, ...], turn: Turn
) -> Step:
    """The job gives up its place, except for the replicas in `kept`."""
    if kept and isinstance(status, InferenceJobStatus):
        return _without_growth(view, status, kept, refusal, turn)
    status = _counted(released(status), view, refusal)
    pause = refusal_pause(status, refusal.reason, turn.snapshot.policy)
    message = f"{refusal.message}; {_tried_again(pause, turn.now)}"
    facts = [
        Fact.false("Admitted", refusal.reason, message),
        *starts_no_more(status, refusal.reason),
    ]
    status = with_conditions(status, view, turn.now, facts)
    going = departure(view, view.pods, turn)
    events = (JobEvent(refusal.reason, refusal.message, warning=True), *going.events)
    return Step(view, status, gates=going.gates, delete=going.delete, events=events)


def _tried_again(pause: timedelta | None, now: datetime) -> str:
    if pause is None:
        return "not tried again until the spec changes"
    return f"tried again at {now + pause:%H:%M:%S} UTC, or when the spec changes"


def _without_growth(
    view: JobView,
    status: InferenceJobStatus,
    kept: tuple[Assignment, ...],
    refusal: Refusal,
    turn: Turn,
) -> Step:
    """The existing replicas stay, and no others are asked for until the refusal may be retried."""
    before, placement, message = growth_refusal(status), status.placement, refusal.message
    assert placement is not None  # noqa: S101 - some of its replicas are kept
    status = status.model_copy(
        update={
            "placement": placement.model_copy(update={"assignments": kept}),
            "nodes_summary": nodes_summary(kept),
            "accelerators_summary": accelerators_summary(kept),
        }
    )
    status = _counted(status, view, refusal)
    fact = Fact.false(ABLE_TO_SCALE, refusal.reason, message)
    status = with_conditions(status, view, turn.now, [fact])
    is_news = before is None or before.message != message
    events = (JobEvent(refusal.reason, message, warning=True),) if is_news else ()
    again = tries_again_at(status, turn.snapshot.policy)
    return Step(view, status, events=events, again_at=again)


def begun_anew(job: J) -> J:
    """The job, with its count of refusals reset if its spec has changed since."""
    status = job.status
    if not status.refusals or status.observed_generation == job.metadata.generation:
        return job
    return job.model_copy(update={"status": status.model_copy(update={"refusals": 0})})


def _counted(status: S, view: JobView, refusal: Refusal) -> S:
    """The status with one more refusal; failures and refusals of an older spec do not count."""
    if refusal.fails:
        return status
    same = status.observed_generation == view.resource.metadata.generation
    return status.model_copy(update={"refusals": (status.refusals if same else 0) + 1})


def with_refusal_reviewed(
    status: InferenceJobStatus, view: JobView, turn: Turn
) -> InferenceJobStatus:
    """The status without a refusal that is over, or with one due for a retry set to Unknown."""
    found = growth_refusal(status)
    if found is None:
        return status
    generation = view.resource.metadata.generation
    has_all = all(role.ready >= role.wanted for role in status.roles)
    if (has_all and _new_pods_start(view)) or found.observed_generation != generation:
        others = without(status.conditions, ABLE_TO_SCALE)
        return status.model_copy(update={"conditions": others, "refusals": 0})
    pause = refusal_pause(status, found.reason, turn.snapshot.policy)
    if found.status == "Unknown" or pause is None:
        return status
    if turn.now - found.last_transition_time <= pause:
        return status
    fact = Fact.unknown(found.type, Reason(found.reason), found.message)
    conditions = with_facts(status.conditions, [fact], now=turn.now, generation=generation)
    return status.model_copy(update={"conditions": conditions})


def _new_pods_start(view: JobView) -> bool:
    """Whether pods of the present templates serve; if those of old ones do, that says nothing."""
    return all(
        any(each.is_ready and not each.is_old for each in replicas.values())
        for replicas in replicas_by_role(view).values()
    )


def tries_again_at(status: InferenceJobStatus, policy: PlacementPolicy | None) -> datetime | None:
    """When refused replicas are asked for again; None if none were refused, or none will be."""
    found = growth_refusal(status)
    if found is None or found.status != "False":
        return None
    pause = refusal_pause(status, found.reason, policy)
    return None if pause is None else found.last_transition_time + pause + timedelta(seconds=1)
