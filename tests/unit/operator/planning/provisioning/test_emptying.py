"""Which bought nodes are emptied because what runs there fits elsewhere."""

import asyncio
from typing import Any

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.emptying import emptyings
from plimsoll.planning.provisioning.idle_nodes import in_use
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.seen import at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_policy, a_training_job

DEAR = a_growing_pool(price="50")


def bought(name: str, pool: str = "h100") -> list[Manifest]:
    """A node that was bought and has arrived."""
    return [a_claim(f"{pool}-{name}", pool, name, arrived=True), a_node_of(pool, name)]


def a_job(name: str, node: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - its fields
    return at(a_training_job(name, gpus=gpus, **spec), node)


def emptied(*manifests: Manifest) -> list[str]:
    """The nodes that may be emptied."""
    snapshot = seen(*manifests)
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    used = in_use(snapshot, frozenset())
    idle = frozenset(order.node for order in snapshot.orders if order.arrived) - used
    found: list[str] = []
    for each in emptyings(snapshot, problem, idle, most=8):
        solution = asyncio.run(InlineSolver(0).estimate(each.problem))
        assert solution is not None
        if each.pays(solution.placements, problem.loss_allowance):
            found.append(each.node)
    return found


def test_the_emptier_of_two_half_full_nodes_comes_first() -> None:
    jobs = (a_job("more", "a", 4), a_job("less", "b", 2))
    assert emptied(DEAR, *bought("a"), *bought("b"), *jobs) == ["b", "a"]


def test_a_node_whose_jobs_do_not_fit_elsewhere_stays() -> None:
    jobs = (a_job("more", "a", 5), a_job("less", "b", 4))
    assert emptied(DEAR, *bought("a"), *bought("b"), *jobs) == []


def test_an_idle_node_is_no_place_to_move_to() -> None:
    assert emptied(DEAR, *bought("a"), *bought("b"), a_job("job", "a", 2)) == []


def test_what_nobody_bought_takes_jobs_and_stays() -> None:
    own = a_node_of("h100", "own")
    assert emptied(DEAR, *bought("a"), own, a_job("job", "a", 2)) == ["a"]
    assert emptied(DEAR, *bought("a"), own, a_job("job", "own", 2)) == []


def test_a_node_stays_whose_price_is_less_than_what_the_moves_throw_away() -> None:
    jobs = (a_job("more", "a", 4), a_job("less", "b", 2))
    thrifty, lavish = (
        a_policy(objective={"weights": {"money": money}}) for money in ("1", "0.001")
    )
    assert emptied(DEAR, *bought("a"), *bought("b"), *jobs, thrifty) == ["b", "a"]
    assert emptied(DEAR, *bought("a"), *bought("b"), *jobs, lavish) == []


def test_no_more_work_is_thrown_away_than_plans_may() -> None:
    jobs = (a_job("more", "a", 4), a_job("less", "b", 2))
    budget = {"window": "1h", "maxLostPercent": 0}
    policy = a_policy(disruptionBudgets=[budget])
    assert emptied(DEAR, *bought("a"), *bought("b"), *jobs, policy) == []


def test_a_protected_job_keeps_its_node() -> None:
    kept = a_job("kept", "b", 2, disruption={"maxPerDay": 0})
    assert emptied(DEAR, *bought("a"), *bought("b"), a_job("more", "a", 4), kept) == ["a"]


def test_a_pool_keeps_its_fewest_nodes() -> None:
    pool = a_growing_pool(price="50", provisioning={"min": 2})
    jobs = (a_job("more", "a", 4), a_job("less", "b", 2))
    assert emptied(pool, *bought("a"), *bought("b"), *jobs) == []


def test_a_node_that_is_too_old_is_emptied_whatever_it_costs() -> None:
    pool = a_growing_pool(price="0", provisioning={"maxAge": "1m", "min": 2})
    own = a_node_of("h100", "own")
    assert emptied(pool, *bought("a"), own, a_job("job", "a", 2)) == ["a"]
