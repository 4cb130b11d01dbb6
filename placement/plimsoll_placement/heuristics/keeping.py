"""What goes on as it runs: all that may stay where it is, in a ledger.

From one problem to the next most of it is the same. So the ledger of the last problem is brought
up to date, rather than filled anew: what was placed since and does not run goes out, what runs and
was not placed comes in.
"""

from collections.abc import Sequence

from plimsoll_placement.entitlements import admission_order
from plimsoll_placement.memory import changed_rows
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignment,
    Assignments,
    Job,
    JobName,
    Node,
    NodeName,
)
from plimsoll_placement.placing.retention import stayable, within_spot_share
from plimsoll_placement.placing.shortfall import count, missing
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger


class Keeping:
    """Ledgers with what runs, by number, and what each job may keep."""

    def __init__(self) -> None:
        self._nodes: tuple[Node, ...] = ()
        self._ledgers: dict[int, Ledger] = {}
        self._kept: dict[JobName, tuple[Job, Assignments]] = {}

    def ledger(self, problem: Problem, number: int = 0) -> Ledger:
        """A ledger that holds what runs and may stay; the same object as for the last problem."""
        jobs = _first_first([job for job in problem.jobs if job.is_running])
        self._turn_to(problem, jobs)
        known = self._ledgers.pop(number, None)
        if known is None or not self._is_brought_up(known, problem, jobs):
            known = _filled(problem, jobs)
        self._ledgers[number] = known
        return known

    def _turn_to(self, problem: Problem, jobs: Sequence[Job]) -> None:
        """Work out what jobs may keep that are not as they were, nor where they run."""
        rows = changed_rows(self._nodes, problem.nodes)
        changed = {problem.nodes[row].name for row in rows or ()}
        kept: dict[JobName, tuple[Job, Assignments]] = {}
        for job in jobs:
            known = self._kept.get(job.name) if rows is not None else None
            if known is None or known[0] is not job or _is_on(job, changed):
                known = job, _kept(problem, job)
            kept[job.name] = known
        self._nodes, self._kept = problem.nodes, kept

    def _is_brought_up(self, ledger: Ledger, problem: Problem, jobs: Sequence[Job]) -> bool:
        """Hold what runs instead of what it holds; False if it cannot be used any more."""
        before = ledger.problem
        if not ledger.turn_to(problem):
            return False
        wanted = {job.name: job for job in jobs}
        for name, placed in list(ledger.placed.items()):
            was, job = before.job_by_name[name], wanted.get(name)
            if job is None or not self._holds(ledger, was, job):
                ledger.give_back(was, placed)
        for job in jobs:
            kept = self._kept[job.name][1]
            if kept and job.name not in ledger.placed and not ledger.take_kept(job, kept):
                return False
        if not ledger.is_within_limits:  # then it depends on who came first
            return False
        ledger.placed = {
            job.name: self._kept[job.name][1] for job in jobs if job.name in ledger.placed
        }
        return True

    def _holds(self, ledger: Ledger, was: Job, job: Job) -> bool:
        """Whether a ledger holds what a job may keep, as if it had just taken it."""
        if not _counts_as(was, job) or any(
            _takes_a_part(role.shape.gpu_milli) for role in job.roles
        ):
            return False
        placed, kept = ledger.placed[job.name], self._kept[job.name][1]
        return placed == kept or (len(placed) == len(kept) and set(placed) == set(kept))


def _filled(problem: Problem, jobs: Sequence[Job]) -> Ledger:
    """A new ledger with what runs, pinned jobs first, as far as it may stay and there is room."""
    ledger = Ledger(problem)
    for job in jobs:
        if job.pinned:
            ledger.hold(job)
        elif job.gang:
            ledger.take(job, stayable(problem, job))
        else:
            _keep_replicas(ledger, job, _needed(job, stayable(problem, job)))
    return ledger


def _keep_replicas(ledger: Ledger, job: Job, stays: Assignments) -> None:
    for assignment in stays:
        ledger.take(job, (assignment,))
    held = ledger.placed.get(job.name, ())
    kept = within_spot_share(ledger.problem, job, held)
    ledger.give_back(job, tuple(a for a in held if a not in kept))
    if not is_whole(job, ledger.placed.get(job.name, ())):
        ledger.clear(job)


def _kept(problem: Problem, job: Job) -> Assignments:
    """What a job may keep if there is room for all of it."""
    if job.pinned:
        return job.running
    stays = stayable(problem, job)
    if job.gang:
        return stays
    kept = within_spot_share(problem, job, _needed(job, stays))
    return kept if is_whole(job, kept) else ()


def is_whole(job: Job, placed: Assignments) -> bool:
    """Whether a service has of each role as many replicas as are of use at least."""
    return all(count(role, placed) >= role.least for role in job.roles)


def _first_first(jobs: Sequence[Job]) -> list[Job]:
    """Pinned jobs first, then by age; of one age the largest pods, hardest to find a device for."""
    return sorted(jobs, key=_order)


def _order(job: Job) -> tuple[object, ...]:
    largest = max((role.shape.gpu_milli for role in job.roles), default=0)
    return not job.pinned, *admission_order(job)[:-1], -largest, job.name


def _needed(job: Job, stays: Assignments) -> Assignments:
    """The replicas, less those beyond the largest count or beyond what is wanted."""
    kept: list[Assignment] = []
    for assignment in sorted(stays, key=lambda a: (a.role, a.replica)):
        role = job.role(assignment.role)
        if count(role, kept) < role.least or missing(role, tuple(kept)):
            kept.append(assignment)
    return tuple(kept)


def _is_on(job: Job, names: set[NodeName]) -> bool:
    return bool(names) and any(not names.isdisjoint(each.nodes) for each in job.running)


def _counts_as(was: Job, job: Job) -> bool:
    """Whether what one holds counts as if the other held it."""
    return was is job or (
        was.roles == job.roles
        and was.queue == job.queue
        and was.priority == job.priority
        and was.gang == job.gang
        and was.pinned == job.pinned
    )


def _takes_a_part(gpu_milli: int) -> bool:
    """Whether a pod takes part of a device: which one depends on who came before."""
    return gpu_milli % WHOLE_GPU_MILLI != 0
