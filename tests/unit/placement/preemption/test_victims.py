"""What a job loses by being stopped follows from the problem at hand, wherever it runs."""

import gc
from dataclasses import replace

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import JobName
from plimsoll_placement.placing.place import Request
from plimsoll_placement.preemption.victims import victims_of
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import Solver
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import H100, a_node, a_problem, a_training_job, gang_on, placed

RUNNING = gang_on("n0")
MOST_LEDGERS = 2
"""What a solver keeps of the last problem."""


def a_full_node(*, restart_seconds: int) -> Problem:
    """A node of one GPU, held by a gang, for which one of higher priority waits."""
    held = replace(a_training_job("held", running=RUNNING), restart_seconds=restart_seconds)
    return a_problem([a_node(gpus=1)], [held, a_training_job("urgent", priority=100)])


def losses(ledger: Ledger) -> list[int]:
    urgent, held = (ledger.problem.job_by_name[JobName(name)] for name in ("urgent", "held"))
    request = Request(urgent, urgent.roles[0], H100, (0,))
    return [each.loss for each in victims_of(ledger, request, held, reclaim=True)]


def test_a_ledger_that_turns_to_another_problem_tells_what_is_lost_by_that() -> None:
    ledger = ledger_after(a_full_node(restart_seconds=600), placed(held=RUNNING))
    (before,) = losses(ledger)
    assert ledger.turn_to(a_full_node(restart_seconds=1200))
    (after,) = losses(ledger)
    assert after == 2 * before > 0


def test_nothing_is_kept_of_a_cluster_once_its_solver_is_gone() -> None:
    before, solver = ledgers(), Solver()
    problem = a_full_node(restart_seconds=600)
    for count in range(1, 5):
        nodes = tuple(a_node(f"n{number}", gpus=1, open=not number) for number in range(count))
        solver.solve(replace(problem, nodes=nodes), Effort(0))
    assert ledgers() <= before + MOST_LEDGERS
    del solver
    assert ledgers() == before


def ledgers() -> int:
    """How many ledgers there are."""
    gc.collect()
    return sum(isinstance(each, Ledger) for each in gc.get_objects())
