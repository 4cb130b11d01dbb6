"""Check that a plan result still holds: test it against the latest snapshot before acting on it.

A job that has changed in between keeps what it has now, and is planned next. If the rest still
breaks no rule, and no job would be disturbed for one that is gone, the plan is acted on; otherwise
all of it is dropped and a new plan is made.

Searching a large cluster takes longer than the cluster stays unchanged. Such a late result is
carried over to the present cluster job by job, and used if it is still better than changing
nothing. It does not cover jobs that arrived or changed meanwhile: they are planned next.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import PlanInput
from plimsoll.planning.problem.effort import has_changed
from plimsoll.planning.training.urgency import PLAIN_MILLI
from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.carry_over import carried
from plimsoll_placement.model import Assignments, Job, LeftOut
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score

_CHECKED = "a plan that breaks it now is dropped"
_OF_TIME = "changes as time passes, and only weighs"

LEFT_OUT: Final = LeftOut(
    job={
        "sequence": "only weighs",
        "urgency_milli": _OF_TIME,
        "required_level": _CHECKED,
        "preferred_level": "only weighs",
        "crossing_percent": "only weighs",
        "spot_percent": _CHECKED,
        "restart_seconds": _OF_TIME,
        "checkpoint_seconds": _OF_TIME,
        "payback_seconds": _OF_TIME,
        "overdue": _OF_TIME,
    },
    role={"load_nano": "only weighs"},
)
"""What may have changed in a job while its placement was planned."""


def renewed(result: PlanResult, now: PlanInput) -> tuple[PlanResult, tuple[str, ...]]:
    """The plan result carried over to the present input, and what no longer holds there."""
    now, assignments, changed = _restated(result, now)
    placements = {name: each for name, each in assignments.items() if each}
    present = PlanResult(now, replace(result.solution, placements=placements), changed)
    broken = (str(violation) for violation in violations(now.problem, placements))
    return present, (*broken, *_in_vain(result, present))


def carried_over(late: PlanResult, now: PlanInput) -> PlanResult | None:
    """The plan result as it applies now; None if it is no longer of use."""
    plan_input, wanted, changed = _restated(late, now)
    if not all(job.knows_its_roles for job in plan_input.problem.jobs):
        return None
    solution = carried(plan_input.problem, wanted)
    return None if solution is None else PlanResult(plan_input, solution, changed)


def _restated(
    result: PlanResult, now: PlanInput
) -> tuple[PlanInput, dict[SolverName, Assignments], AbstractSet[JobName]]:
    """The present input, limited to jobs that were planned or run, and their carried placements.

    A job that has changed keeps what it has; jobs that get nothing are included. What came in
    between was not planned: it is planned next, and is not reported as waiting. Third come the
    names of the jobs that have changed: such a job may have lost a place, so that less of it runs
    than its status says.
    """
    before = result.problem.job_by_name
    known = tuple(job for job in now.problem.jobs if job.name in before or job.running)
    placements: dict[SolverName, Assignments] = {}
    changed = set(result.changed)
    for job in known:
        was, assignments = before.get(job.name), result.solution.placements.get(job.name, ())
        goes_on = (
            was is not None
            and _is_same(result.plan_input.original(was), now.original(job))
            and _may_come(now.problem, job, assignments)
        )
        placements[job.name] = assignments if goes_on else job.running
        if not goes_on:
            changed.add(JobName(job.whole_name))
    return replace(now, problem=replace(now.problem, jobs=known)), placements, changed


def _may_come(problem: Problem, job: Job, assignments: Assignments) -> bool:
    """Whether none of the nodes that a job would move to has been closed to it meanwhile."""
    index = problem.node_index
    return all(
        job.role(assignment.role).eligible >> index[name] & 1
        for assignment in assignments
        if assignment not in job.running
        for name in assignment.nodes
        if name in index
    )


def _in_vain(result: PlanResult, present: PlanResult) -> Iterator[str]:
    """Jobs that were given a place and no longer want it, if other jobs would lose theirs."""
    placements = present.solution.placements
    if not any(
        set(job.running) - set(placements.get(job.name, ())) for job in present.problem.jobs
    ):
        return
    for job in result.problem.jobs:
        assignments = result.solution.placements.get(job.name, ())
        if set(assignments) - set(job.running) and placements.get(job.name) != assignments:
            yield f"{job.name}: others would make room for it, but it is gone or has changed"


def _is_same(was: Job, job: Job) -> bool:
    """Whether nothing has changed in a job that its placement depends on."""
    return was is job or was.signature(LEFT_OUT) == job.signature(LEFT_OUT)


def settled(result: PlanResult) -> Problem:
    """The problem as it will be once the plan is acted on, with nothing left to plan."""
    jobs = (
        _once_placed(job, result.solution.placements.get(job.name, ()))
        for job in result.problem.jobs
    )
    return replace(result.problem, jobs=tuple(jobs))


def is_best(problem: Problem) -> bool:
    """Whether all jobs run, and could not do better wherever they were placed.

    Then no plan is better than none, whatever it costs to stop them.
    """
    if not all(job.running and job.knows_its_roles for job in problem.jobs):
        return False
    reached = score(problem, {job.name: job.running for job in problem.jobs})
    return reached >= simple_bound(problem, reached)


def costs_alone_differ(before: Problem, now: Problem) -> bool:
    """Whether two problems differ at most in what stops cost, which changes every minute."""
    if len(before.jobs) != len(now.jobs):
        return False
    if any(map(has_changed, before.jobs, now.jobs)):
        return False
    return replace(now, jobs=before.jobs) == before


def _once_placed(job: Job, assignments: Assignments) -> Job:
    """The job as it will be: a gang is urgent only while it waits."""
    urgency = PLAIN_MILLI if job.gang and assignments else job.urgency_milli
    if assignments == job.running and urgency == job.urgency_milli:
        return job
    return replace(job, running=_in_order(assignments), urgency_milli=urgency)


def _in_order(assignments: Assignments) -> Assignments:
    return tuple(sorted(assignments, key=lambda assignment: (assignment.role, assignment.replica)))
