"""Changes to a problem that apply only while it is solved, and how to undo them.

Each adjustment builds on the problem that the previous ones have left, so they are undone in
reverse. What an adjustment does not undo stays as it was planned.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, count

from plimsoll_placement.model import Assignments, DomainName, Job, JobName, Placements, PowerDomain
from plimsoll_placement.problem import Problem


@dataclass(frozen=True, slots=True)
class Adjustment:
    """What a problem is solved with in place of its own jobs and power domains, by name.

    `jobs` and `power_domains` replace those of the same name. `parts` are solved for alongside the
    jobs that they belong to. `originals`: jobs as they were before, where the adjustment is
    not a change of the job itself. `running`: the real assignments of jobs that are planned as if
    they ran something else. `draws_as_it_runs`: whether power is counted for these real assignments
    rather than for the planned ones.
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
        """The job as it was before, unless the adjustment is a change of the job itself."""
        return self.originals.get(job.name, job)

    def restore_running(self, job: Job) -> Job:
        """The job with its real assignments."""
        running = self.running.get(job.name)
        return job if running is None else replace(job, running=running)

    def restore_draws(self, problem: Problem) -> Problem:
        """The problem with the running assignments that power is counted for."""
        if not (self.running and self.draws_as_it_runs):
            return problem
        return replace(problem, jobs=tuple(map(self.restore_running, problem.jobs)))

    def restore_placements(self, placements: Placements) -> dict[JobName, Assignments]:
        """The placements, with those of parts merged into their whole jobs."""
        found = dict(placements)
        for part in self.parts:
            if part.name in found:
                got = found.pop(part.name)
                found[part.whole_name] = _joined(found.get(part.whole_name, ()), got)
        return found


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A problem, and the adjustments made to it so far."""

    problem: Problem
    adjustments: tuple[Adjustment, ...] = ()

    def by(self, adjustment: Adjustment) -> "Adjusted":
        """The same with one more adjustment."""
        return Adjusted(adjustment.apply(self.problem), (*self.adjustments, adjustment))


def _joined(assignments: Assignments, more: Assignments) -> Assignments:
    """Assignments with more of the same job, which get free replica numbers."""
    found = list(assignments)
    for assignment in more:
        used = {each.replica for each in found if each.role == assignment.role}
        free = (number for number in chain((assignment.replica,), count()) if number not in used)
        found.append(replace(assignment, replica=next(free)))
    return tuple(found)
