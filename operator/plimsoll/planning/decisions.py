"""From the solver's placements to a plan: what changes for whom, why, and who waits for what."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Admit, Change, Hold, Migrate, Plan, Preempt, Resize, Seats
from plimsoll.planning.parts import is_missing_part, seats_of, whole_name
from plimsoll.planning.problems import Question
from plimsoll.planning.shapes import running_assignments
from plimsoll.telemetry import Reason
from plimsoll_placement.explain import Explainer
from plimsoll_placement.problem import Assignment, Job, Problem
from plimsoll_placement.solution import Solution


@dataclass(frozen=True, slots=True)
class Answer:
    """A question with the solver's answer to it."""

    question: Question
    solution: Solution

    @property
    def problem(self) -> Problem:
        """What was asked."""
        return self.question.problem


def plan_of(snapshot: Snapshot, answer: Answer) -> Plan:
    """The plan that brings the cluster from what runs to what was answered."""
    whole = (job for job in answer.problem.jobs if not is_missing_part(job))
    jobs = [_as_it_runs(snapshot, job) for job in sorted(whole, key=_turn)]
    seats = {job.name: seats_of(job, answer.solution.placements) for job in jobs}
    changes = [
        change
        for job in jobs
        if (change := _change(snapshot, answer, job, seats[job.name])) is not None
    ]
    asked = answer.question
    explainer = Explainer(asked.problem, answer.solution.placements, asked.feasibility)
    return Plan(
        made=snapshot.now,
        changes=tuple(sorted(changes, key=_takes)),
        holds=(*answer.question.holds, *_holds(answer, explainer)),
        gap_percent=answer.solution.gap_percent,
        outcome=answer.solution.outcome,
        admitted=sum(bool(each) for each in seats.values()),
        short={
            JobName(job.name): explainer.lack(job).sentence()
            for job in jobs
            if _is_short(job, seats[job.name])
        },
    )


def _as_it_runs(snapshot: Snapshot, job: Job) -> Job:
    """The job with all that it runs, also what the solver was not asked about (see `parts`)."""
    if job.gang or not job.pinned:
        return job
    resource = snapshot.job_by_name[JobName(job.name)].resource
    return replace(job, running=running_assignments(resource))


def _turn(job: Job) -> tuple[int, int, str]:
    """Not all changes can be written at once: important and old jobs go first."""
    return -job.priority, job.sequence, job.name


def _takes(change: Change) -> bool:
    """What frees capacity goes before what takes it."""
    return not isinstance(change, Preempt)


def _change(snapshot: Snapshot, answer: Answer, job: Job, seats: Seats) -> Change | None:
    name = JobName(job.name)
    if not any(role.least for role in job.roles):
        return _to_zero(snapshot, job)
    if set(seats) == set(job.running):
        return None
    if not job.running:
        return Admit(name, seats, Reason.ADMITTED, f"placed: {seats_text(seats)}")
    if not seats:
        return _preempt(snapshot, answer, job)
    return _moved(snapshot, job, seats)


def _moved(snapshot: Snapshot, job: Job, seats: Seats) -> Change:
    """What becomes of a job that has other places than before."""
    name = JobName(job.name)
    if len(seats) != len(job.running):
        was, now = len(job.running), len(seats)
        text = f"from {was} to {now} {_noun(job)}: {seats_text(seats)}"
        return Resize(name, seats, Reason.RESIZED, text)
    left = _unusable_nodes(snapshot, job)
    if left:
        text = f"left {', '.join(left)}, now {seats_text(seats)}"
        return Migrate(name, seats, Reason.NODE_LEFT, text)
    return Migrate(name, seats, Reason.MIGRATED, f"moved to {seats_text(seats)}")


def _to_zero(snapshot: Snapshot, job: Job) -> Change | None:
    """What becomes of a job of which nothing is wanted: it sleeps, which is a place like others."""
    name, text = JobName(job.name), "no replicas are wanted"
    if job.running:
        return Resize(name, (), Reason.SCALED_TO_ZERO, text)
    if snapshot.job_by_name[name].resource.status.placement is None:
        return Admit(name, (), Reason.SCALED_TO_ZERO, text)
    return None


def _noun(job: Job) -> str:
    return "workers" if job.gang else "replicas"


def _preempt(snapshot: Snapshot, answer: Answer, job: Job) -> Preempt:
    name = JobName(job.name)
    left = _unusable_nodes(snapshot, job)
    if left:
        text = f"{', '.join(left)} must be left, and there is no other place"
        return Preempt(name, Reason.NODE_LEFT, text)
    winners = _winners(answer, job)
    names = tuple(dict.fromkeys(JobName(whole_name(winner)) for winner in winners))
    if not winners:
        return Preempt(name, Reason.EVICTED, "its place no longer fits within the limits")
    listed = ", ".join(f"{whole_name(w)} (priority {w.priority})" for w in winners[:3])
    if max(w.priority for w in winners) > job.priority:
        return Preempt(name, Reason.PREEMPTED, f"gives way to {listed}", names)
    return Preempt(name, Reason.RECLAIMED, f"gives back what is guaranteed to {listed}", names)


def _winners(answer: Answer, victim: Job) -> list[Job]:
    """The jobs that are new on the victim's nodes; if none, those that are new on its GPU type."""
    nodes = {name for a in victim.running for name in a.nodes}
    types = {a.gpu_type for a in victim.running}
    new = [
        (job, fresh)
        for job in answer.problem.jobs
        if (fresh := set(answer.solution.placements.get(job.name, ())) - set(job.running))
    ]
    there = [job for job, fresh in new if any(nodes.intersection(a.nodes) for a in fresh)]
    alike = [job for job, fresh in new if any(a.gpu_type in types for a in fresh)]
    return sorted(there or alike, key=lambda job: (-job.priority, job.name))


def _unusable_nodes(snapshot: Snapshot, job: Job) -> list[str]:
    nodes = snapshot.node_by_name
    names = sorted({name for a in job.running for name in a.nodes})
    return [
        f"{name} ({nodes[name].state.reason})" if name in nodes else f"{name} (gone)"
        for name in names
        if name not in nodes or not nodes[name].state.usable
    ]


def _is_short(job: Job, seats: Seats) -> bool:
    """Whether a job has a place, but fewer replicas of a role than are wanted."""
    held = Counter(seat.role for seat in seats)
    return bool(seats) and not job.gang and any(held[r.name] < r.counts[-1] for r in job.roles)


def _holds(answer: Answer, explainer: Explainer) -> Iterable[Hold]:
    for job in answer.problem.jobs:
        if not answer.solution.placements.get(job.name) and any(r.least for r in job.roles):
            lack = explainer.lack(job)
            yield Hold(JobName(job.name), Reason(lack.reason), lack.sentence())


def seats_text(seats: Iterable[Assignment]) -> str:
    """Where the pods are, by GPU type: `NVIDIA-L4 on node-1 ×3, node-2`."""
    by_type: dict[str, dict[str, int]] = {}
    for seat in seats:
        pods = by_type.setdefault(seat.gpu_type, {})
        for name in seat.nodes:
            pods[name] = pods.get(name, 0) + 1
    return "; ".join(f"{kind} on {nodes_text(pods)}" for kind, pods in sorted(by_type.items()))


def nodes_text(pods: Mapping[str, int], most: int = 4) -> str:
    """The nodes with how many pods each has, the first few by name: `node-1 ×3, node-2`."""
    listed = [f"{name} ×{n}" if n > 1 else name for name, n in sorted(pods.items())]
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f" and {rest} more" if rest > 0 else "")
