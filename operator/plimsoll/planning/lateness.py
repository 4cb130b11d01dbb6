"""What is left of an answer when the cluster has changed since it was asked for.

The search of a large cluster takes longer than the cluster rests. What it found is carried over to
the cluster as it is, job by job, and used if it is still better than leaving all as it is; else it
is thrown away. Nothing is said of jobs that came or changed meanwhile: they are planned for next.
"""

from collections.abc import Mapping
from dataclasses import replace

from plimsoll.planning.decisions import Answer
from plimsoll.planning.problems import Question
from plimsoll.planning.soundness import is_same
from plimsoll_placement.carrying import carried
from plimsoll_placement.problem import Assignment, Job, JobName


def carried_over(late: Answer, now: Question) -> Answer | None:
    """The answer as it can be had now; None if it is of no use any more."""
    before = late.problem.job_by_name
    known = tuple(job for job in now.problem.jobs if job.name in before or job.running)
    asked = replace(now, problem=replace(now.problem, jobs=known))
    if not all(job.knows_its_roles for job in known):
        return None
    solution = carried(asked.problem, _wanted(late, known))
    return None if solution is None else Answer(asked, solution)


def _wanted(late: Answer, known: tuple[Job, ...]) -> Mapping[JobName, tuple[Assignment, ...]]:
    """What the answer says of the jobs that are as they were."""
    before = late.problem.job_by_name
    return {
        job.name: late.solution.placements.get(job.name, ())
        for job in known
        if job.name in before and is_same(before[job.name], job)
    }
