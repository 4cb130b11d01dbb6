"""Nodes on their way are for those that wait for them, and come for nobody else."""

from collections.abc import Mapping

import pytest

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.awaited import arriving, unawaited
from plimsoll.planning.provisioning.buying.purchases import Purchases
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_priority_class, a_training_job

GANG = JobName("TrainingJob/team/gang")
POOL = a_growing_pool()
ARRIVED = [a_claim("h100-1", node="n", arrived=True), a_node_of("h100", "n")]
COMING = a_claim("h100-2")


def waits_for(*orders: str, kept: frozenset[str] = frozenset()) -> Purchases:
    """What was found while all these were on their way for the gang."""
    snapshot = seen(POOL, *(a_claim(name) for name in orders))
    nodes = tuple(each for each in future_nodes(snapshot, frozenset()) if each.order is not None)
    return Purchases(waiting={GANG: nodes}, kept={GANG: kept})


def test_what_has_arrived_is_known_while_the_rest_comes() -> None:
    found = waits_for("h100-1", "h100-2", kept=frozenset({"own"}))
    assert arriving(found, seen(POOL, *ARRIVED, COMING)) == {GANG: {"own", "n"}}


def test_nothing_is_kept_for_one_whose_order_has_failed_or_is_still_to_be_made() -> None:
    assert arriving(waits_for("h100-1", "h100-2"), seen(POOL, *ARRIVED)) == {}
    to_buy = future_nodes(seen(POOL), frozenset())[:1]
    assert arriving(Purchases(waiting={GANG: to_buy}), seen(POOL, *ARRIVED)) == {}


def taken_back(found: Purchases, pool: Manifest, *manifests: Manifest) -> list[str]:
    snapshot = seen(pool, *manifests)
    return [each.order.name for each in unawaited(found, snapshot, frozenset(), None)]


def test_what_comes_for_nobody_is_taken_back() -> None:
    assert taken_back(waits_for("h100-2"), POOL, COMING) == []
    assert taken_back(Purchases(), POOL, COMING, *ARRIVED) == ["h100-2"]
    leaving = a_claim("h100-2", deletionTimestamp="2026-11-21T11:59:00Z")
    assert taken_back(Purchases(), POOL, leaving) == []


@pytest.mark.parametrize(
    ("provisioning", "expected"),
    [({"min": 2}, []), ({"min": 1}, ["h100-2"]), ({"headroom": 2}, []), ({}, ["h100-2"])],
)
def test_what_is_always_to_be_there_comes(provisioning: Manifest, expected: list[str]) -> None:
    pool = a_growing_pool(provisioning=provisioning)
    assert taken_back(Purchases(), pool, COMING, *ARRIVED) == expected


def test_a_node_that_its_order_does_not_name_yet_is_not_counted_twice() -> None:
    pool = a_growing_pool(provisioning={"min": 2})
    there = [a_node_of("h100", "n"), a_node_of("h100", "m")]
    coming = [a_claim("h100-1"), a_claim("h100-2")]
    assert taken_back(Purchases(), pool, *there, *coming) == []
    assert taken_back(Purchases(), pool, *there, *coming, a_claim("h100-3")) == ["h100-1"]
    assert taken_back(Purchases(), POOL, *there, *coming) == []
    assert taken_back(Purchases(), POOL, *there, *coming, a_claim("h100-3")) == ["h100-1"]


def placed(*jobs: Manifest, arrives: Mapping[JobName, frozenset[str]]) -> list[str]:
    """The jobs that start now, with nodes kept for those whose other nodes come."""
    snapshot, builder = seen(POOL, *ARRIVED, *jobs), ProblemBuilder()
    builder.reservations.arriving = arrives
    problem = plan_input_of(snapshot, builder).problem
    found = solve(problem, Effort(deterministic_seconds=0)).placements
    return [name.split("/")[2] for name, places in found.items() if places]


def test_a_node_that_has_come_for_a_gang_goes_to_nobody_younger() -> None:
    gang = a_training_job("gang", workers=2, gpus=8)
    early, late = (
        a_training_job(name, gpus=8) | {"metadata": {"name": name, "creationTimestamp": at}}
        for name, at in (("early", "2026-11-21T10:00:00Z"), ("late", "2026-11-21T11:59:00Z"))
    )
    gang["metadata"]["creationTimestamp"] = "2026-11-21T11:00:00Z"
    kept = {GANG: frozenset({"n"})}
    assert placed(gang, late, arrives={}) == ["late"]
    assert placed(gang, late, arrives=kept) == []
    assert placed(gang, late, early, arrives=kept) == ["early"]
    urgent = a_training_job("urgent", gpus=8, priorityClassName="urgent")
    assert placed(gang, urgent, a_priority_class("urgent", 9), arrives=kept) == ["urgent"]


def test_what_is_on_its_way_for_a_job_that_cannot_be_paid_now_is_not_taken_back() -> None:
    found = waits_for("h100-1")
    unpaid = Purchases(unpaid=found.waiting)
    claim = a_claim("h100-1")
    assert taken_back(Purchases(), POOL, claim) == ["h100-1"]
    assert taken_back(unpaid, POOL, claim) == []
