"""Which bought nodes are emptied because what runs there fits elsewhere."""

from plimsoll.planning.provisioning.trading.emptying import as_it_is, candidates
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.fleets import a_job_on, bought, estimated, fleet_of
from support.objects.bought_nodes import (
    a_claim,
    a_growing_pool,
    a_node_of,
    an_autoscaled_pool,
)
from support.objects.job_manifests import a_policy, a_priority_class

DEAR = a_growing_pool(price="50")
A, B = bought("a", "h100"), bought("b", "h100")


def emptied(*manifests: Manifest) -> list[str]:
    """The nodes that may be emptied."""
    fleet = fleet_of(*manifests)
    found: list[str] = []
    for each in candidates(fleet.snapshot, fleet.settled):
        trade = each.trade(as_it_is(fleet.settled), fleet.idle_prices)
        placements = estimated(trade.offer.problem)
        if trade.net(placements, fleet.settled.loss_allowance) is not None:
            found.append(each.node)
    return found


def test_the_emptier_of_two_half_full_nodes_comes_first() -> None:
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    assert emptied(DEAR, *A, *B, *jobs) == ["b", "a"]


def test_a_node_whose_jobs_do_not_fit_elsewhere_stays() -> None:
    jobs = (a_job_on("a", "more", 5), a_job_on("b", "less", 4))
    assert emptied(DEAR, *A, *B, *jobs) == []


def test_gangs_that_can_go_elsewhere_make_room_for_who_is_more_important() -> None:
    own = a_node_of("own", "own", gpu_type=A100)
    urgent = a_job_on("a", "only-there", 4, priorityClassName="high")
    there = (DEAR, *A, *B, own, a_priority_class("high", 10), urgent)
    anywhere = a_job_on("b", "anywhere", 6, rates={H100: 1, A100: 1})
    assert emptied(*there, anywhere) == ["a", "b"]
    assert emptied(*there, a_job_on("b", "only-there-too", 6)) == []


def test_an_idle_node_is_no_place_to_move_to() -> None:
    assert emptied(DEAR, *A, *B, a_job_on("a", "job", 2)) == []


def test_what_nobody_bought_takes_jobs_and_stays() -> None:
    own = a_node_of("h100", "own")
    assert emptied(DEAR, *A, own, a_job_on("a", "job", 2)) == ["a"]
    assert emptied(DEAR, *A, own, a_job_on("own", "job", 2)) == []


def test_a_node_stays_whose_price_is_less_than_what_the_moves_throw_away() -> None:
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    thrifty, lavish = (
        a_policy(objective={"weights": {"money": money}}) for money in ("1", "0.001")
    )
    assert emptied(DEAR, *A, *B, *jobs, thrifty) == ["b", "a"]
    assert emptied(DEAR, *A, *B, *jobs, lavish) == []


def test_no_more_work_is_thrown_away_than_plans_may() -> None:
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    budget = {"window": "1h", "maxLostPercent": 0}
    policy = a_policy(disruptionBudgets=[budget])
    assert emptied(DEAR, *A, *B, *jobs, policy) == []


def test_a_protected_job_keeps_its_node() -> None:
    kept = a_job_on("b", "kept", 2, disruption={"maxPerDay": 0})
    assert emptied(DEAR, *A, *B, a_job_on("a", "more", 4), kept) == ["a"]


def test_a_pool_keeps_its_fewest_nodes() -> None:
    pool = a_growing_pool(price="50", provisioning={"min": 2})
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    assert emptied(pool, *A, *B, *jobs) == []


def test_a_node_that_is_too_old_is_emptied_whatever_it_costs() -> None:
    pool = a_growing_pool(price="0", provisioning={"maxAge": "1m", "min": 2})
    own = a_node_of("h100", "own")
    assert emptied(pool, *A, own, a_job_on("a", "job", 2)) == ["a"]


def test_a_node_that_is_about_to_go_is_none_of_the_fewest() -> None:
    pool = a_growing_pool(price="50", provisioning={"min": 2})
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    taint = {"key": "plimsoll.dev/emptied", "effect": "NoSchedule"}
    claim = a_claim("h100-c", node="c", arrived=True)
    assert emptied(pool, *A, *B, claim, a_node_of("h100", "c"), *jobs) == ["b", "a"]
    assert emptied(pool, *A, *B, claim, a_node_of("h100", "c", taints=[taint]), *jobs) == []


def test_nodes_that_cluster_autoscaler_made_are_emptied_too() -> None:
    pool = an_autoscaled_pool(price="50")
    jobs = (a_job_on("a", "more", 4), a_job_on("b", "less", 2))
    assert emptied(pool, A[1], B[1], *jobs) == ["b", "a"]
