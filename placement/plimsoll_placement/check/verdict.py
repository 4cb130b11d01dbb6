"""Whether a plan is sound: every rule applied to every job, node, queue and power domain."""

from collections.abc import Mapping

from plimsoll_placement.check.standing import Standing
from plimsoll_placement.check.violation import UnsoundPlanError, Violation
from plimsoll_placement.model import Assignments, JobName
from plimsoll_placement.problem import Problem


def violations(
    problem: Problem, placements: Mapping[JobName, Assignments]
) -> tuple[Violation, ...]:
    """Everything that is wrong with these placements; empty if they are sound.

    What was verified before of a problem with the same memory is not verified again.
    """
    standing = Standing() if problem.memory is None else problem.memory.part(Standing)
    return standing.violations(problem, placements)


def require_sound(problem: Problem, placements: Mapping[JobName, Assignments]) -> None:
    """Raise UnsoundPlanError, listing the violations, unless these placements are sound."""
    found = violations(problem, placements)
    if found:
        raise UnsoundPlanError(found)
