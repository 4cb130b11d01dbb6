"""Whether a plan is sound: every rule applied to every job, node, queue and power domain."""

from collections.abc import Iterator, Mapping

from plimsoll_placement.check.job_rules import JOB_RULES
from plimsoll_placement.check.placed import PlacedJob, placed_jobs
from plimsoll_placement.check.shared_rules import SHARED_RULES, taken
from plimsoll_placement.check.violation import Rule, UnsoundPlanError, Violation
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.problem import Problem


def violations(
    problem: Problem, placements: Mapping[JobName, Assignments]
) -> tuple[Violation, ...]:
    """Everything that is wrong with these placements; empty if they are sound."""
    placed = tuple(placed_jobs(problem, placements))
    return (
        *_unknown_jobs(problem, placements),
        *(violation for job in placed for violation in _against_job(problem, job)),
        *_against_all(problem, placed),
    )


def require_sound(problem: Problem, placements: Mapping[JobName, Assignments]) -> None:
    """Raise UnsoundPlanError, listing the violations, unless these placements are sound."""
    found = violations(problem, placements)
    if found:
        raise UnsoundPlanError(found)


def _unknown_jobs(
    problem: Problem, placements: Mapping[JobName, Assignments]
) -> Iterator[Violation]:
    known = {job.name for job in problem.jobs}
    for name, assignments in placements.items():
        if name not in known:
            message = f"no such job, yet {len(assignments)} replicas are placed for it"
            yield Violation(Rule.KNOWN_NAMES, name, message)


def _against_job(problem: Problem, placed: PlacedJob) -> Iterator[Violation]:
    name = placed.job.name
    if placed.is_held:
        return
    if placed.job.pinned:
        runs, got = len(placed.job.running), len(placed.replicas)
        message = f"pinned to its {runs} running replicas, the {got} placed are not these"
        yield Violation(Rule.PINNED, name, message)
    if placed.unknown:
        message = f"{len(placed.unknown)} unknown: {', '.join(placed.unknown)}"
        yield Violation(Rule.KNOWN_NAMES, name, message)
        return
    if placed.replicas:
        for rule, broken in JOB_RULES:
            for message in broken(problem, placed):
                yield Violation(rule, name, message)


def _against_all(problem: Problem, placed: tuple[PlacedJob, ...]) -> Iterator[Violation]:
    totals = taken(problem, placed)
    for rule, broken in SHARED_RULES:
        for subject, message in broken(totals):
            yield Violation(rule, subject, message)
