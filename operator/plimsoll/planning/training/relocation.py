"""Choose a gang to move off a straggler's node, and its new place: at most one per plan.

Only if another place is free that is worth no less, and the time that the gang gains there soon
exceeds the cost of the move: no gang waits, and no job is preempted, because a worker is slow.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from plimsoll.api.placement_policy import Stragglers
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.training.expected_end import seconds_left
from plimsoll.planning.training.stopping import restart_seconds
from plimsoll.planning.training.stragglers import sentence, was_replaced
from plimsoll_placement.heuristics.relocation import other_place
from plimsoll_placement.model import Assignments, Job, NodeName
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import lost_work


@dataclass(frozen=True, slots=True)
class Relocation:
    """A gang that goes on elsewhere, and why.

    `adjustment`: the gang as if it were there already and pinned, so that no plan undoes the move.
    """

    job: JobName
    why: str
    adjustment: Adjustment


@dataclass(frozen=True, slots=True)
class _Case:
    """A gang that would gain by leaving some nodes, and the share of its time lost there."""

    job: JobName
    left: frozenset[NodeName]
    lost: float
    why: str


class Relocations:
    """Finds relocations, and remembers a search that found no place until something has changed."""

    def __init__(self) -> None:
        self._vain: tuple[Problem, tuple[_Case, ...]] | None = None

    def of(self, snapshot: Snapshot, problem: Problem) -> Relocation | None:
        """The relocation with the largest gain for which there is a place."""
        cases = tuple(sorted(_cases(snapshot, problem), key=lambda case: (-case.lost, case.job)))
        if not cases or self._vain == (problem, cases):
            return None
        for case in cases:
            placed = other_place(problem, SolverName(case.job), case.left, lost=case.lost)
            if placed is not None:
                gang = problem.job_by_name[SolverName(case.job)]
                return Relocation(case.job, case.why, _moved(gang, placed))
        self._vain = (problem, cases)
        return None


def _moved(gang: Job, placed: Assignments) -> Adjustment:
    there = replace(gang, running=placed, pinned=True)
    return Adjustment(jobs={gang.name: there}, running={gang.name: gang.running})


def _cases(snapshot: Snapshot, problem: Problem) -> Iterator[_Case]:
    rules = snapshot.policy.spec.stragglers if snapshot.policy else Stragglers()
    if not rules.slower_percent:
        return
    for view in snapshot.present:
        job = view.training
        if job is None or not job.status.slow_workers:
            continue
        gang = problem.job_by_name.get(SolverName(view.name))
        if gang is None or gang.pinned or not _may_move(view, job, snapshot, rules):
            continue
        case = _case(view, job)
        if case is not None and _pays_back(job, case, snapshot.now, problem):
            yield case


def _may_move(view: JobView, job: TrainingJob, snapshot: Snapshot, rules: Stragglers) -> bool:
    """Whether a gang runs undisturbed and was not moved for a straggler recently."""
    status, nodes = job.status, snapshot.node_by_name
    if status.placement is None or status.notice is not None or not view.pods:
        return False
    if any(snapshot.now - each.time < rules.interval for each in status.replaced_workers):
        return False
    names = {name for place in status.placement.assignments for name in place.nodes}
    return all(name in nodes and nodes[name].state.usable for name in names)


def _case(view: JobView, job: TrainingJob) -> _Case | None:
    """What a gang gains by leaving slow nodes; None if its own program is uneven."""
    found = [slow for slow in job.status.slow_workers if slow.found_time is not None]
    leave = [slow for slow in found if was_replaced(job.status, slow) is None]
    if not leave:
        return None
    stay = [slow.lost_percent for slow in job.status.slow_workers if slow not in leave]
    worst = max(leave, key=lambda slow: (slow.lost_percent, -slow.replica))
    lost = worst.lost_percent - max(stay, default=0)
    nodes = frozenset(NodeName(slow.node) for slow in leave)
    return _Case(view.name, nodes, lost / 100, sentence(worst))


def _pays_back(job: TrainingJob, case: _Case, now: datetime, problem: Problem) -> bool:
    """Whether the gang gains more than a stop costs it while the choice should last.

    The stop must be within the disruption budget.
    """
    gang, allowance = problem.job_by_name[SolverName(case.job)], problem.loss_allowance
    if allowance is not None and lost_work(gang, ()) > allowance:
        return False
    left, horizon = seconds_left(job, now), problem.weights.horizon_seconds
    lasts = horizon if left is None else min(left, horizon)
    return case.lost * lasts > restart_seconds(job, now)
