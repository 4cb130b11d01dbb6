"""What the model says that placements gain and lose is what they gain and lose."""

from dataclasses import replace

import pytest
from ortools.sat.python.cp_model import OPTIMAL, CpModel, CpSolver

from plimsoll_placement.cpsat.exact.balance import Total, balances
from plimsoll_placement.cpsat.exact.extract import hints
from plimsoll_placement.cpsat.exact.gangs import add_gang
from plimsoll_placement.cpsat.exact.scope import Remains, Scope
from plimsoll_placement.cpsat.exact.services import add_service
from plimsoll_placement.cpsat.exact.variables import Variables
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.score.price import Changes, changes_of
from plimsoll_placement.solve import solve
from support.problems.random_problems import random_problem


def as_decided(scope: Scope) -> Variables:
    """The jobs of a scope where they are placed, as the values of variables."""
    variables = Variables(CpModel(), Remains(scope))
    for job in scope.jobs:
        add = add_gang if job.gang else add_service
        add(variables, job)
    for variable, value in hints(variables):
        variables.model.add(variable == value)
    return variables


def said(scope: Scope) -> dict[int, Changes]:
    """What the model says that each priority gains at most, and loses."""
    variables = as_decided(scope)
    found = balances(variables)
    gains = (each for of in found.values() for each in (of.gained, of.by_work))
    variables.model.maximize(sum(each.expression() for each in gains))
    solver = CpSolver()
    assert solver.solve(variables.model) == OPTIMAL

    def value(total: Total) -> int:
        return int(solver.value(total.expression()))

    return {
        priority: Changes(value(of.gained), value(of.by_work), value(of.lost), value(of.counted))
        for priority, of in found.items()
    }


@pytest.mark.slow
@pytest.mark.parametrize("block", range(2))
def test_it_is_what_the_score_says(block: int) -> None:
    gaining = losing = 0
    for seed in range(50 * block, 50 * block + 50):
        drawn = random_problem(seed, nodes=5, jobs=9, companions=seed % 3 == 0)
        problem = with_baseline(drawn)
        if problem.baseline is None:
            continue
        free = replace(drawn.weights, break_even_percent=0)
        for_nothing = replace(drawn, weights=free, loss_allowance=None)
        placements = solve(for_nothing, Effort(deterministic_seconds=0.2)).placements
        jobs = tuple(job for job in problem.jobs if not job.pinned)
        scope = Scope(problem, placements, jobs[::2], frozenset(range(len(problem.nodes))))
        expected = changes_of(problem, placements, problem.jobs)
        for priority, changes in said(scope).items():
            assert changes == expected.get(priority, Changes()), seed
            gaining, losing = gaining + (changes.gained > 0), losing + (changes.lost > 0)
    assert gaining > 10
    assert losing > 5
