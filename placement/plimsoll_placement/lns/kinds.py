"""The kinds of neighbourhood: where one begins, in rows and jobs, the most wanted of each first.

Each is drawn at random; what it names is cut to size later.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from plimsoll_placement.lns.view import View
from plimsoll_placement.model import Job

T = TypeVar("T")

NOBODY = -1 << 62
"""Less than any priority."""


@dataclass(frozen=True, slots=True)
class Seed:
    """Rows and jobs that a neighbourhood begins with; both are empty if there are none."""

    rows: tuple[int, ...] = ()
    jobs: tuple[Job, ...] = ()


Kind = Callable[[View, Random], Seed]


def near_a_node(view: View, rng: Random) -> Seed:
    """A node with others of one of its topology domains, then any with the same GPUs."""
    problem = view.ground.problem
    if not problem.nodes:
        return Seed()
    row, rows = rng.randrange(len(problem.nodes)), list[int]()
    if problem.levels:
        level = rng.randrange(len(problem.levels))
        rows += shuffled(rng, view.ground.domain_with(level, row))
    return Seed(tuple(dict.fromkeys((row, *rows, *shuffled(rng, view.ground.like(row))))))


def of_a_queue(view: View, rng: Random) -> Seed:
    """Jobs of one queue, with where they are."""
    if not view.ground.jobs:
        return Seed()
    queue = rng.choice(view.ground.jobs).queue
    jobs = [job for job in view.ground.jobs if job.queue == queue]
    return _with_rows(view, shuffled(rng, jobs))


def of_any_jobs(view: View, rng: Random) -> Seed:
    """Random jobs, with where they are."""
    return _with_rows(view, shuffled(rng, view.ground.jobs))


def waiting_and_in_its_way(view: View, rng: Random) -> Seed:
    """A waiting job, preferably an important one, with nodes whose jobs count least."""
    if not view.waiting:
        return Seed()
    job = view.waiting[int(len(view.waiting) * rng.random() ** 2)]
    rows = shuffled(rng, view.ground.rows_for(job))
    return Seed(tuple(sorted(rows, key=lambda row: _highest_priority(view, row))), (job,))


def in_a_power_domain(view: View, rng: Random) -> Seed:
    """Nodes under one power budget."""
    problem = view.ground.problem
    if not problem.power_domains:
        return Seed()
    name = rng.choice(problem.power_domains).name
    rows = [row for row, node in enumerate(problem.nodes) if name in node.power_domains]
    return Seed(tuple(shuffled(rng, rows)))


def able_to_grow(view: View, rng: Random) -> Seed:
    """Jobs that have fewer replicas than they may have, with where they are."""
    return _with_rows(view, shuffled(rng, view.growing))


def away_from_home(view: View, rng: Random) -> Seed:
    """Jobs that do not stay as they run, with the nodes that they leave."""
    jobs = shuffled(rng, view.displaced)
    return Seed(tuple(dict.fromkeys(row for job in jobs for row in view.home_of(job))), tuple(jobs))


KINDS: tuple[Kind, ...] = (
    near_a_node,
    of_a_queue,
    of_any_jobs,
    waiting_and_in_its_way,
    in_a_power_domain,
    able_to_grow,
    away_from_home,
)


def shuffled(rng: Random, things: Sequence[T]) -> list[T]:
    """The same in a random order."""
    return rng.sample(things, len(things))


def _with_rows(view: View, jobs: Sequence[Job]) -> Seed:
    return Seed(tuple(dict.fromkeys(_rows(view, jobs))), tuple(jobs))


def _rows(view: View, jobs: Iterable[Job]) -> Iterator[int]:
    for job in jobs:
        yield from view.rows_of(job)


def _highest_priority(view: View, row: int) -> int:
    return max((job.priority for job in view.jobs_on.get(row, ())), default=NOBODY)
