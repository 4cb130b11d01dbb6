"""A ledger that holds what placements use."""

from collections.abc import Callable
from dataclasses import replace

from plimsoll_placement.model import Job, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger


def ledger_after(
    problem: Problem, placements: Placements, counts: Callable[[Job], bool] = lambda _: True
) -> Ledger:
    """A ledger that holds the placements of the jobs that count.

    The largest pods go first, so that fractions are packed as they can be. What is beyond a limit
    or a node counts as well.
    """
    ledger = Ledger(problem)
    held = [
        (-job.role(assignment.role).shape.gpu_milli, forced, assignment)
        for job in problem.jobs
        if placements.get(job.name) and counts(job)
        for forced in (replace(job, pinned=True),)
        for assignment in placements[job.name]
    ]
    for _, forced, assignment in sorted(held, key=lambda entry: entry[0]):
        if not ledger.take(forced, (assignment,)):
            ledger.hold_replica(forced, assignment)
    return ledger
