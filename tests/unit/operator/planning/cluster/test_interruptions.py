from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.api.gpu_pool import GPUPool, GPUPoolStatus, SpotAvailability, SpotHistory
from plimsoll.planning.actions import Plan
from plimsoll.planning.cluster.cluster import cluster_of
from plimsoll.planning.cluster.interruptions import (
    LONGEST_WATCH,
    RECOUNT,
    interruption_rate,
    spot_history,
)
from plimsoll.planning.cluster.spot_availability import belief_of
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_pool

KWOK = {"type": "kwok"}
NOTICE = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule", "value": ""}


def noticed(name: str) -> Manifest:
    node = fake_node(name)
    node["spec"]["taints"] = [NOTICE]
    return node


def pool(history: Manifest | None = None, *, nodes: int = 2, **spec: Any) -> Manifest:  # noqa: ANN401
    manifest = a_pool("p", KWOK, capacityType="Spot", **{"interruptionsPerHour": "0.05", **spec})
    status = {"nodes": nodes, **({"spot": history} if history else {})}
    return {**manifest, "status": status}


def history(**fields: Any) -> Manifest:  # noqa: ANN401 - fields of a history
    return {"observedTime": NOW.isoformat(), **fields}


def seen_later(after: timedelta, *manifests: Manifest) -> SpotHistory:
    snapshot = seen(*manifests, now=NOW + after)
    found = spot_history(snapshot.pools[0], snapshot.nodes, snapshot.now)
    assert found is not None
    return found


NODES = (fake_node("a"), fake_node("b"))


def test_a_node_with_a_notice_is_an_interruption_once() -> None:
    first = seen_later(timedelta(0), pool(history()), noticed("a"), fake_node("b"))
    assert (first.interruptions, first.noticed_nodes) == (1, ("a",))
    again = seen_later(timedelta(minutes=1), pool(first.wire()), noticed("a"), fake_node("b"))
    assert again == first


def test_a_node_that_comes_back_and_is_noticed_again_counts_again() -> None:
    gone = history(interruptions=1, noticedNodes=["a"])
    back = seen_later(timedelta(0), pool(gone), *NODES)
    assert (back.interruptions, back.noticed_nodes) == (1, ())
    assert seen_later(timedelta(0), pool(back.wire()), noticed("a")).interruptions == 2


def test_node_hours_are_those_of_the_nodes_that_there_were() -> None:
    later = seen_later(timedelta(minutes=30), pool(history(), nodes=4), *NODES)
    assert later.node_hours == 2
    assert later.observed_time == NOW + timedelta(minutes=30)


def test_nothing_is_written_only_because_a_little_time_has_passed() -> None:
    before = seen_later(timedelta(0), pool(history(), nodes=0), *NODES)
    almost = RECOUNT - timedelta(seconds=1)
    assert seen_later(almost, pool(before.wire()), *NODES) == before
    assert seen_later(RECOUNT, pool(before.wire()), *NODES) != before


def test_while_nobody_watched_no_hours_are_counted() -> None:
    away = LONGEST_WATCH + timedelta(seconds=1)
    assert seen_later(away, pool(history()), *NODES).node_hours == 0


def test_what_was_seen_a_month_ago_counts_half() -> None:
    old = history(interruptions=8, nodeHours=1000)
    later = seen_later(timedelta(days=30), pool(old), *NODES)
    assert (later.interruptions, later.node_hours) == (4, 500)


def test_the_first_look_counts_what_is_noticed_and_no_hours() -> None:
    first = seen_later(timedelta(0), pool(), noticed("a"))
    assert (first.interruptions, first.node_hours) == (1, 0)


def test_pools_off_spot_keep_no_history() -> None:
    snapshot = seen(a_pool("p", KWOK), *NODES)
    assert spot_history(snapshot.pools[0], snapshot.nodes, NOW) is None
    assert interruption_rate(snapshot.pools[0]) == 0


@pytest.mark.parametrize(
    ("kept", "declared", "rate"),
    [
        (None, "0.05", "0.05"),
        (history(interruptions=20, nodeHours=360), "0.05", "0.055"),
        (history(nodeHours=40), "0.05", "0.025"),
        (history(nodeHours=40), "0", "0"),
        (history(interruptions=4, nodeHours=300), "0", "0.01"),
    ],
)
def test_plans_count_with_the_corrected_rate(
    kept: Manifest | None, declared: str, rate: str
) -> None:
    snapshot = seen(pool(kept, interruptionsPerHour=declared), fake_node("a"))
    assert interruption_rate(snapshot.pools[0]) == Decimal(rate)
    node = cluster_of(snapshot, {}).nodes[0]
    assert node.interruptions_per_kilohour == int(Decimal(rate) * 1000)


def test_a_translator_sees_that_the_rate_has_changed() -> None:
    translator = ProblemBuilder()
    calm, wild = (
        translator.cluster(seen(pool(kept), fake_node("a"))).nodes[0].interruptions_per_kilohour
        for kept in (history(), history(interruptions=40, nodeHours=100))
    )
    assert calm < wild


def test_the_pool_says_what_was_seen_of_it() -> None:
    snapshot = seen(pool(history(), nodes=2), noticed("a"), fake_node("b"))
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    plan: Plan = plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort())))
    [status] = [
        status
        for resource, status in cluster_statuses(snapshot, plan_input.problem, plan, ())
        if isinstance(resource, GPUPool) and isinstance(status, GPUPoolStatus)
    ]
    assert status.spot is not None
    assert (status.spot.interruptions, status.spot.observed_time) == (1, datetime_of(NOW))


def datetime_of(moment: datetime) -> datetime:
    return moment.replace(microsecond=0)


def availability(found: SpotHistory) -> SpotAvailability:
    assert found.availability is not None
    return found.availability


def test_when_its_last_node_goes_spot_is_gone_and_that_is_counted() -> None:
    first = seen_later(timedelta(0), pool(), *NODES)
    hour = timedelta(hours=1)
    gone = seen_later(hour, pool(first.wire()), *map(noticed, "ab"))
    assert availability(gone).available is False
    assert (availability(gone).since, availability(gone).ended) == (NOW + hour, 1)
    assert availability(gone).expected > 0
    back = seen_later(2 * hour, pool(gone.wire()), noticed("a"), fake_node("b"))
    assert (availability(back).available, availability(back).since) == (True, NOW + 2 * hour)
    assert 0.9 < availability(back).ended < 1


def test_a_node_less_is_no_end_of_spot() -> None:
    first = seen_later(timedelta(0), pool(), *NODES)
    later = seen_later(timedelta(hours=1), pool(first.wire()), fake_node("a"))
    assert (availability(later).since, availability(later).ended) == (NOW, 0)


def test_what_was_written_and_what_was_seen_since_make_the_belief() -> None:
    first = seen_later(timedelta(0), pool(), *NODES)
    snapshot = seen(pool(first.wire()), *NODES, now=NOW + timedelta(hours=3))
    belief = belief_of(snapshot.pools[0], snapshot.nodes, snapshot.now)
    assert (belief.spot_is_up, belief.seconds, belief.ended) == (True, 3 * 3600, 0)
    written = seen_later(timedelta(hours=3), pool(first.wire()), *NODES)
    assert float(availability(written).expected) == pytest.approx(belief.expected, abs=1e-5)
    snapshot = seen(pool(first.wire()), now=NOW + timedelta(hours=3))
    belief = belief_of(snapshot.pools[0], (), snapshot.now)
    assert (belief.spot_is_up, belief.seconds, belief.ended) == (False, 0, 1)
