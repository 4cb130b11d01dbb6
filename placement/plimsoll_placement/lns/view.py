"""Placements as seen from a job and from a node: what neighbourhoods are drawn from."""

from collections import defaultdict
from functools import cached_property

from plimsoll_placement.lns.problem_index import ProblemIndex
from plimsoll_placement.model import Assignments, Job, JobName

Placements = dict[JobName, Assignments]


class View:
    """Placements, indexed; pinned jobs are not part of it."""

    def __init__(self, ground: ProblemIndex, placements: Placements) -> None:
        self.ground = ground
        self.placements = placements

    @cached_property
    def placed(self) -> list[Job]:
        """The jobs that have a place."""
        return [job for job in self.ground.jobs if self.placements.get(job.name)]

    @cached_property
    def waiting(self) -> list[Job]:
        """The jobs that have no place but could have one, the highest priority first."""
        waiting = [
            job
            for job in self.ground.jobs
            if not self.placements.get(job.name) and self.ground.rows_for(job)
        ]
        return sorted(waiting, key=lambda job: (-job.priority, -job.urgency_milli, job.name))

    @cached_property
    def displaced(self) -> list[Job]:
        """The jobs that run now, but not as they did."""
        return [
            job
            for job in self.ground.jobs
            if job.is_running and set(job.running) != set(self.placements.get(job.name, ()))
        ]

    @cached_property
    def growing(self) -> list[Job]:
        """The jobs that have a place but fewer replicas than they may have."""
        return [
            job
            for job in self.placed
            if len(self.placements[job.name]) < sum(role.counts[-1] for role in job.roles)
        ]

    @cached_property
    def jobs_on(self) -> dict[int, list[Job]]:
        """The jobs on each row, each listed once even with several pods there."""
        found: dict[int, list[Job]] = defaultdict(list)
        for job in self.placed:
            for row in self.rows_of(job):
                found[row].append(job)
        return found

    def rows_of(self, job: Job) -> list[int]:
        """The rows that a job is on, each once."""
        return self._rows(self.placements.get(job.name, ()))

    def home_of(self, job: Job) -> list[int]:
        """The rows that it runs on now."""
        return self._rows(job.running)

    def _rows(self, assignments: Assignments) -> list[int]:
        index = self.ground.problem.node_index
        names = dict.fromkeys(name for assignment in assignments for name in assignment.nodes)
        return [index[name] for name in names if name in index]
