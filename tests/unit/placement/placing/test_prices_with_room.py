"""A GPU type is as cheap as the nodes that have room, not as cheap as the cheapest of all."""

from dataclasses import replace

import pytest

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Job, JobName, Node
from plimsoll_placement.placing.options import price_of
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    A100,
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
)

DOLLAR = 1_000_000
ANY = {H100: 1000, A100: 1000}
FULL = a_training_job("full", worker=a_role(gpu_milli=8000), running=gang_on("old"))


def nodes(*, spot: bool = False) -> tuple[Node, ...]:
    """Cheap H100, on which a job may be, dear ones, and A100 in between."""
    prices = {"old": DOLLAR, "new": 8 * DOLLAR}
    old, new = (a_node(name, microdollars_per_gpu_hour=price) for name, price in prices.items())
    between = a_node("between", gpu_type=A100, microdollars_per_gpu_hour=3 * DOLLAR)
    return replace(old, spot=spot), new, between


def where(problem: Problem, name: str) -> set[str]:
    return {node for each in greedy_placements(problem)[JobName(name)] for node in each.nodes}


@pytest.mark.parametrize(("others", "found"), [((), "old"), ((FULL,), "between")])
def test_a_gang_goes_where_it_costs_least_that_has_room(
    others: tuple[Job, ...], found: str
) -> None:
    gang = a_training_job("gang", worker=a_role(rates=ANY))
    assert where(a_problem(nodes(), [*others, gang]), "gang") == {found}


@pytest.mark.parametrize(("others", "found"), [((), "old"), ((FULL,), "between")])
def test_so_does_a_replica(others: tuple[Job, ...], found: str) -> None:
    role = a_mixable_role(counts=(1,), wanted_milli=1000, carried=ANY)
    service = an_inference_job(roles=(role,))
    assert where(a_problem(nodes(), [*others, service]), "serve") == {found}


def test_spot_that_a_job_may_not_use_makes_no_type_cheap() -> None:
    gang = a_training_job("gang", worker=a_role(rates=ANY))
    assert where(a_problem(nodes(spot=True), [gang]), "gang") == {"between"}


@pytest.mark.parametrize(("pods", "dollars"), [(8, 8), (10, 8 + 2 * 8), (16, 8 + 8 * 8), (17, 17)])
def test_pods_beyond_the_room_on_cheap_nodes_cost_what_others_do(pods: int, dollars: int) -> None:
    """Without room for all, the cheapest price counts: somebody would have to leave first."""
    problem = a_problem(nodes(), [a_training_job("gang", worker=a_role(rates=ANY))])
    [gang] = problem.jobs
    one, all_of_them = (price_of(Ledger(problem), gang, gang.roles[0], H100, n) for n in (1, pods))
    assert all_of_them == one * dollars
