"""Whatever pools, jobs and orders there are: no more is bought than the limits allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.limits import Limits
from plimsoll.planning.provisioning.buying.offers import Offer
from plimsoll.planning.provisioning.buying.purchase_search import outcome, purchase_search
from plimsoll.planning.provisioning.buying.purchases import (
    Purchases,
    left_per_hour,
    offer_to,
    purchases,
    unpriced,
)
from plimsoll.planning.provisioning.future_nodes import future_nodes, hourly_price
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve_lean
from support.clusters.seen import NOW, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

AT_ONCE = Effort(deterministic_seconds=0)
DATES: Mapping[str, Manifest] = {
    "leaving": {"deletionTimestamp": (NOW - timedelta(minutes=1)).isoformat()},
    "overdue": {"creationTimestamp": (NOW - timedelta(hours=2)).isoformat()},
}
STATES = ("leaving", "coming", "overdue", "registered", "arrived")


def a_cluster(rng: Random) -> list[Manifest]:
    """Pools that may grow, with what they have and what is on its way; jobs; perhaps a budget."""
    made = [each for n in range(rng.randint(1, 3)) for each in a_grown_pool(rng, f"pool-{n}")]
    jobs = [a_job(rng, f"job-{n}") for n in range(rng.randint(1, 7))]
    budget = {"mostPerHour": str(rng.randint(0, 60))} if rng.random() < 0.7 else {}
    queues = [a_queue("default", parent="all", **a_budget(rng)), a_queue("all", **a_budget(rng))]
    return [*made, *jobs, *queues, a_priority_class("urgent", 1000), a_policy(purchasing=budget)]


def a_budget(rng: Random) -> Manifest:
    """Perhaps a limit of a queue on what is bought for it."""
    most = {"mostPerHour": str(rng.randint(0, 60))}
    return {"purchasing": most} if rng.random() < 0.3 else {}


clusters = st.builds(
    a_cluster,
    st.randoms(use_true_random=False) | st.builds(Random, st.integers(0, 1_000_000)),
)


def a_grown_pool(rng: Random, pool: str) -> list[Manifest]:
    """A pool, its nodes, and its orders in any state."""
    alike: Manifest = {"gpus": rng.choice([4, 8]), "gpu_type": rng.choice([H100, L4])}
    found = [
        a_growing_pool(
            pool,
            most=rng.randint(0, 5),
            price=rng.choice(["0", "0.3", "1", "2"]),
            capacityType=rng.choice(["OnDemand", "Spot"]),
            **alike,
        )
    ]
    if rng.random() < 0.3:
        found.append(a_node_of(pool, f"{pool}-own", **alike))
    for number in range(max(0, rng.randint(-2, 2))):
        state, node = rng.choice(STATES), f"{pool}-n-{number}"
        has_node = state in ("registered", "arrived") or (state == "leaving" and rng.random() < 0.5)
        dates = DATES.get(state, {})
        claim = f"{pool}-{number}"
        arrived = state == "arrived"
        found.append(a_claim(claim, pool, node if has_node else "", arrived=arrived, **dates))
        if has_node:
            found.append(a_node_of(pool, node, **alike))
    return found


def a_job(rng: Random, name: str) -> Manifest:
    """A gang, or a service, of any size that may fit."""
    size, gpus = rng.randint(1, 3), rng.choice([1, 2, 3, 5, 8])
    loads: Mapping[str, int | str] = {H100: 1, L4: 1}
    urgent: Manifest = {"priorityClassName": "urgent"} if rng.random() < 0.5 else {}
    if rng.random() < 0.5:
        return an_inference_job(name, replicas=size, gpus=gpus, loads=loads, **urgent)
    spot = {"allowed": rng.random() < 0.5}
    return a_training_job(name, workers=size, gpus=gpus, rates=loads, spot=spot, **urgent)


@dataclass(frozen=True, slots=True)
class Found:
    """What is bought, for what, and each problem on the way with its placements."""

    snapshot: Snapshot
    offer: Offer | None
    solved: Sequence[tuple[Problem, Placements]]
    bought: Purchases


def found_for(manifests: Sequence[Manifest]) -> Found:
    """What the operator would buy."""
    snapshot, builder = seen(*manifests), ProblemBuilder()
    plan_input = plan_input_of(snapshot, builder)
    plan = settled(PlanResult(plan_input, solve_lean(plan_input.problem, AT_ONCE)))
    offer = offer_to(snapshot, plan, future_nodes(snapshot, unpriced(snapshot)), ProblemBuilder())
    solved: list[tuple[Problem, Placements]] = []

    def solve(problem: Problem) -> Placements:
        placements = solve_lean(problem, AT_ONCE).placements
        solved.append((problem, placements))
        return placements

    bought = outcome(purchase_search(offer, left_per_hour(snapshot)), solve)
    return Found(snapshot, offer, solved, bought)


@given(clusters)
def test_no_more_is_bought_than_pools_and_budget_allow(manifests: list[Manifest]) -> None:
    found = found_for(manifests)
    snapshot, bought = found.snapshot, found.bought.nodes
    budget = snapshot.policy.spec.purchasing.most_per_hour if snapshot.policy else None
    price = Decimal(0)
    for pool in snapshot.pools:
        name, terms = pool.metadata.name, pool.spec.provisioning
        orders = [order for order in snapshot.orders if order.pool == name]
        nodes = {node.name for node in snapshot.nodes if node.name.startswith(f"{name}-")}
        coming = [order for order in orders if order.node not in nodes]
        new = bought.get(name, 0)
        assert terms is not None
        assert not new or len(nodes) + len(coming) + new <= terms.max
        per_node = pool.spec.price_per_gpu_hour * (pool.spec.gpus_per_node or 0)
        assert not new or budget is None or per_node
        price += per_node * (len(orders) + new)
    assert not bought or budget is None or price <= budget
    assert not [*Limits(snapshot).broken(bought)]
    for queue in snapshot.queues:  # all jobs belong to both
        most = queue.spec.purchasing.most_per_hour
        prices = {pool.metadata.name: hourly_price(pool) for pool in snapshot.pools}
        assert most is None or sum(prices[name] * n for name, n in bought.items()) <= most
        assert most is None or all(prices[name] for name, n in bought.items() if n)


@given(clusters)
def test_what_is_bought_serves_a_plan_that_the_verifier_accepts(manifests: list[Manifest]) -> None:
    found = found_for(manifests)
    for problem, placements in found.solved:
        assert not violations(problem, placements)
    if found.offer is None:
        assert not found.bought.nodes
        return
    offer, left = found.offer, left_per_hour(found.snapshot)
    (placements, *_) = (p for _, p in found.solved if purchases(offer, p, left) == found.bought)
    paid = {
        job.name: placements.get(job.name, ())
        for job in offer.problem.jobs
        if job.running or job.whole_name in found.bought.waiting
    }
    # Those for which there is no money wait on, and the others start on what is bought alone.
    assert not violations(_only(offer, found.bought).problem, paid)
    new = {
        each.name for nodes in found.bought.waiting.values() for each in nodes if each.order is None
    }
    assert len(new) == sum(found.bought.nodes.values())


def _only(offer: Offer, bought: Purchases) -> Offer:
    """The offer with no node to buy but those that are bought, whichever of their pool."""
    names = {each.name for nodes in bought.waiting.values() for each in nodes}
    nodes = (
        replace(node, open=node.open and (node.name not in offer.to_buy or node.name in names))
        for node in offer.problem.nodes
    )
    return replace(offer, problem=replace(offer.problem, nodes=tuple(nodes)))
