"""Turn a neighbourhood's seed into a scope of a given size: rows and jobs are added or cut."""

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from plimsoll_placement.cpsat.exact.scope import Scope
from plimsoll_placement.lns.kinds import Kind, shuffled
from plimsoll_placement.lns.view import View
from plimsoll_placement.model import Job

JOBS_PER_ROW = 2
"""The number of free jobs for each free row."""

ROWS_PER_JOB = 4
"""For each of the seed's jobs, one in this many rows is one that it could use."""


def drawn_scope(view: View, kind: Kind, rng: Random, size: int) -> Scope | None:
    """A scope of about `size` rows; None if there is nothing of the kind."""
    seed = kind(view, rng)
    rows = _rows(view, rng, seed.rows, seed.jobs, size)
    most = size * JOBS_PER_ROW
    jobs = {job.name: job for job in seed.jobs[: most // 2]}
    for job in _jobs(view, rng, rows):
        if len(jobs) >= most:
            break
        jobs[job.name] = job
    if not jobs:
        return None
    return Scope(view.ground.problem, view.placements, tuple(jobs.values()), frozenset(rows))


def _rows(
    view: View, rng: Random, rows: Sequence[int], jobs: Sequence[Job], size: int
) -> list[int]:
    """The first rows that are named, and if these are few, some that the jobs could use."""
    chosen = dict.fromkeys(rows[:size])
    for job in jobs[:size]:
        if len(chosen) < size:
            suitable = view.ground.rows_for(job)
            count = min(1 + size // ROWS_PER_JOB, len(suitable))
            chosen.update(dict.fromkeys(rng.sample(suitable, count)))
    return list(chosen)[:size]


def _jobs(view: View, rng: Random, rows: Iterable[int]) -> Iterator[Job]:
    """Alternately, jobs on the rows and jobs waiting for such rows, the important first."""
    here = dict.fromkeys(row for row in rows)
    placed = [job for row in here for job in view.jobs_on.get(row, ())]
    waiting = [job for job in view.waiting if not here.keys().isdisjoint(view.ground.rows_for(job))]
    turns = iter(sorted(shuffled(rng, waiting), key=lambda job: -job.priority))
    for job in placed:
        yield job
        yield from (other for other in (next(turns, None),) if other is not None)
    yield from turns
