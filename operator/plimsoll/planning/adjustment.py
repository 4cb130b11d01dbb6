"""How a problem differs from the cluster while it is solved, and what undoes that.

Each adjustment builds on the problem that the ones before it have left, so they are undone in
reverse. What one does not undo stays as it was planned with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count

from plimsoll_placement.model import Assignments, DomainName, Job, JobName, Placements, PowerDomain
from plimsoll_placement.problem import Problem


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What a problem is solved with in place of its own jobs and power domains, by name.

    `jobs` and `power_domains` replace those of the same name. `parts` are solved for beside the
    jobs that they are parts of.
    `originals`: jobs as they were before, where it is no change of theirs that it comes or goes.
    `running`: what jobs really run that are planned as if they ran something else.
    `draws_as_it_runs`: whether power is counted for what these really run, rather than as planned.
    """

    jobs: Mapping[JobName, Job] = field(default_factory=dict[JobName, Job])
    power_domains: Mapping[DomainName, PowerDomain] = field(
        default_factory=dict[DomainName, PowerDomain]
    )
    parts: tuple[Job, ...] = ()
    originals: Mapping[JobName, Job] = field(default_factory=dict[JobName, Job])
    running: Mapping[JobName, Assignments] = field(default_factory=dict[JobName, Assignments])
    draws_as_it_runs: bool = False

    def apply(self, problem: Problem) -> Problem:
        """The problem that is solved in place of this one."""
        if not (self.jobs or self.power_domains or self.parts):
            return problem
        jobs = [self.jobs.get(job.name, job) for job in problem.jobs]
        if self.parts:
            jobs = sorted([*jobs, *self.parts], key=lambda job: job.name)
        domains = (self.power_domains.get(each.name, each) for each in problem.power_domains)
        return replace(problem, jobs=tuple(jobs), power_domains=tuple(domains))

    def restore_original(self, job: Job) -> Job:
        """The job as it was before, as far as the adjustment is no change of the job."""
        return self.originals.get(job.name, job)

    def restore_running(self, job: Job) -> Job:
        """The job with what it really runs."""
        running = self.running.get(job.name)
        return job if running is None else replace(job, running=running)

    def restore_draws(self, problem: Problem) -> Problem:
        """The problem with jobs that run what power is counted for."""
        if not (self.running and self.draws_as_it_runs):
            return problem
        return replace(problem, jobs=tuple(map(self.restore_running, problem.jobs)))

    def restore_placements(self, placements: Placements) -> dict[JobName, Assignments]:
        """The placements, in which whole jobs have what their parts got."""
        found = dict(placements)
        for part in self.parts:
            if part.name in found:
                got = found.pop(part.name)
                found[part.whole_name] = _joined(found.get(part.whole_name, ()), got)
        return found


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A problem, and what has been adjusted in it so far."""

    problem: Problem
    adjustments: tuple[Adjustment, ...] = ()

    def by(self, adjustment: Adjustment) -> "Adjusted":
        """The same with one more adjustment."""
        return Adjusted(adjustment.apply(self.problem), (*self.adjustments, adjustment))


def _joined(assignments: Assignments, more: Assignments) -> Assignments:
    """Seats with more of the same job, which get free replica numbers."""
    found = list(assignments)
    for assignment in more:
        used = {each.replica for each in found if each.role == assignment.role}
        free = (number for number in chain((assignment.replica,), count()) if number not in used)
        found.append(replace(assignment, replica=next(free)))
    return tuple(found)
