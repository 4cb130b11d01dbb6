"""What queues may spend on nodes."""

import asyncio
from collections.abc import Mapping
from typing import Any

from plimsoll.control.provisioning.procurement import worked_out
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import Purchases, offer_to
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.seen import at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_queue, a_training_job

POOL = a_growing_pool(price="2", most=9)  # a node is 16 an hour


def found(*manifests: Manifest) -> Purchases:
    """What is bought once a plan has given out what there is."""
    snapshot, builder = seen(*manifests), ProblemBuilder()
    plan_input = plan_input_of(snapshot, builder)
    plan = settled(
        PlanResult(plan_input, solve(plan_input.problem, Effort(deterministic_seconds=0)))
    )
    offer = offer_to(snapshot, plan, future_nodes(snapshot, frozenset()), ProblemBuilder())
    bought = asyncio.run(worked_out(InlineSolver(0), offer, None))
    assert bought is not None
    return bought


def bought(*manifests: Manifest) -> Mapping[str, int]:
    return found(*manifests).nodes


def a_team(name: str, most: str | None = None, **spec: Any) -> Manifest:  # noqa: ANN401 - of a queue
    """A queue that may spend at most so much an hour."""
    purchasing: Manifest = {} if most is None else {"mostPerHour": most}
    return a_queue(name, purchasing=purchasing, **spec)


def jobs_of(queue: str, number: int) -> list[Manifest]:
    """Jobs that need a node each."""
    return [a_training_job(f"{queue}-{n}", gpus=8, queue=queue) for n in range(number)]


def test_a_queue_gets_the_nodes_that_it_can_pay_for() -> None:
    jobs = jobs_of("small", 3)
    assert bought(POOL, a_team("small"), *jobs) == {"h100": 3}
    assert bought(POOL, a_team("small", "32"), *jobs) == {"h100": 2}
    assert bought(POOL, a_team("small", "15.9"), *jobs) == {}


def test_the_others_get_theirs() -> None:
    teams = (a_team("small", "0"), a_team("large"))
    left = found(POOL, *teams, *jobs_of("small", 1), *jobs_of("large", 2))
    assert left.nodes == {"h100": 2}
    (why,) = left.why_unpaid.values()
    assert why == "purchasing.mostPerHour of JobQueue small leaves 0.00"


def test_a_queue_above_pays_for_all_below() -> None:
    teams = (a_team("all", "32"), a_team("a", parent="all"), a_team("b", parent="all"))
    left = found(POOL, *teams, *jobs_of("a", 2), *jobs_of("b", 2))
    assert left.nodes == {"h100": 2}
    assert {*left.why_unpaid.values()} == {"purchasing.mostPerHour of JobQueue all leaves 0.00"}


def test_what_its_jobs_hold_of_bought_nodes_counts_by_gpu() -> None:
    node = (a_claim("h100-1", node="n", arrived=True), a_node_of("h100", "n"))
    half = at(a_training_job("half", gpus=4, queue="small"), "n")
    assert bought(POOL, *node, half, a_team("small", "24"), *jobs_of("small", 1)) == {"h100": 1}
    assert bought(POOL, *node, half, a_team("small", "23"), *jobs_of("small", 1)) == {}
    own = a_node_of("h100", "n")
    assert bought(POOL, own, half, a_team("small", "16"), *jobs_of("small", 1)) == {"h100": 1}


def test_what_is_on_its_way_for_it_counts() -> None:
    coming = a_claim("h100-1")
    jobs = jobs_of("small", 2)
    assert bought(POOL, coming, a_team("small", "32"), *jobs) == {"h100": 1}
    assert bought(POOL, coming, a_team("small", "31"), *jobs) == {}


def test_with_a_budget_nothing_is_bought_whose_price_is_unknown() -> None:
    free, teams = a_growing_pool(price="0"), (a_team("small", "50"), a_team("large"))
    left = found(free, *teams, *jobs_of("small", 1), *jobs_of("large", 1))
    assert left.nodes == {"h100": 1}
    (why,) = left.why_unpaid.values()
    assert why == (
        "purchasing.mostPerHour of JobQueue small is a limit,"
        " and GPUPool h100 says no pricePerGPUHour"
    )


def test_a_circle_of_queues_pays_once() -> None:
    teams = (a_team("a", "16", parent="b"), a_team("b", parent="a"))
    assert bought(POOL, *teams, *jobs_of("a", 2)) == {"h100": 1}
