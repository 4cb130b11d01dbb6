"""Jobs with deadlines wait for spot where that costs less, and only under `Economy`."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Migrate, Plan, Preempt
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.validation import settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import Purchases, waits_for_nodes
from plimsoll.planning.spot.deadlines import SpotRules, SpotRulesMaker
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve_lean
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_gpu_pod, a_policy, a_pool, a_training_job

SPOT, STEADY = {"terms": "spot"}, {"terms": "steady"}
HOUR = 3600
ECONOMY = a_policy(objective={"preset": "Economy"})
SPOT_NODE, STEADY_NODE = (
    fake_node("cheap", H100, 8, labels=SPOT),
    fake_node("dear", H100, 8, labels=STEADY),
)


def spot_pool(*, price: float | str = 1, gone_minutes: float | None = 5, **spec: Any) -> Manifest:  # noqa: ANN401
    """A spot pool of which nodes have last been seen so long ago; None if it has one."""
    since = NOW - timedelta(minutes=120 if gone_minutes is None else gone_minutes)
    availability = {"available": gone_minutes is None, "since": since.isoformat()}
    spot = {"observedTime": NOW.isoformat(), "availability": availability}
    spec = {"capacityType": "Spot", "pricePerGPUHour": price, "gpuType": H100, **spec}
    return {**a_pool("spot", SPOT, **spec), "status": {"spot": spot}}


def steady_pool(price: float = 3) -> Manifest:
    return a_pool("steady", STEADY, pricePerGPUHour=price)


def job(
    hours_left: float,
    *,
    hours_to_do: float = 5,
    name: str = "train",
    on: str = "",
    **spec: Any,  # noqa: ANN401
) -> Manifest:
    """A job of one unit a second on one H100, with so much time and work left."""
    deadline = (NOW + timedelta(hours=hours_left)).isoformat()
    work = {"amount": str(100 * HOUR), "unit": "steps", "deadline": deadline}
    spec = {"work": work, "spot": {"allowed": True}, **spec}
    manifest = a_training_job(name, **spec)
    progress = {"done": str((100 - hours_to_do) * HOUR), "unit": "steps", "rate": 1}
    if on:
        return at(manifest, on, progress=progress)
    return {**manifest, "status": {"progress": progress}}


def rules_in(snapshot: Snapshot) -> SpotRules:
    builder = ProblemBuilder()
    cluster = builder.cluster(snapshot)
    return SpotRulesMaker().rules(snapshot, cluster, snapshot.jobs, builder.eligible)


def rules(*manifests: Manifest, nodes: tuple[Manifest, ...] = (STEADY_NODE,)) -> SpotRules:
    return rules_in(seen(*nodes, *manifests))


def short(names: Any) -> list[str]:  # noqa: ANN401 - names of jobs, whatever holds them
    return sorted(name.rpartition("/")[2] for name in names)


def test_with_much_time_a_job_waits_for_spot_that_has_just_gone() -> None:
    found = rules(ECONOMY, spot_pool(), steady_pool(), job(24))
    assert (short(found.waiting), found.off, found.to) == (["train"], {}, frozenset())


def test_with_little_time_it_does_not() -> None:
    found = rules(ECONOMY, spot_pool(), steady_pool(), job(5.3))
    assert (found.waiting, short(found.off)) == ({}, ["train"])


def test_with_some_time_it_depends_on_how_long_spot_has_been_away() -> None:
    just_gone, long_gone = spot_pool(gone_minutes=1), spot_pool(gone_minutes=100)
    found = rules(ECONOMY, just_gone, steady_pool(), job(6.1))
    assert (short(found.waiting), found.off) == (["train"], {})
    found = rules(ECONOMY, long_gone, steady_pool(), job(6.1))
    assert (found.waiting, short(found.off)) == ({}, ["train"])
    assert "would probably cost more than it saves" in "".join(found.off.values())


@pytest.mark.parametrize(
    "others",
    [
        (a_policy(), spot_pool(), steady_pool()),
        (spot_pool(), steady_pool()),
        (ECONOMY, spot_pool(price=4), steady_pool()),
        (ECONOMY, spot_pool(price=0), steady_pool()),
        (ECONOMY, spot_pool(), steady_pool(price=0)),
        (ECONOMY, spot_pool(gpuType=A100), steady_pool()),
        (ECONOMY, steady_pool()),
    ],
    ids=["balanced", "no policy", "dearer", "no price", "free", "another type", "no spot"],
)
def test_nobody_waits_without_a_reason(others: tuple[Manifest, ...]) -> None:
    assert rules(*others, job(24)) == SpotRules()


def test_a_job_that_may_not_be_on_spot_or_asks_for_other_nodes_does_not_wait_for_it() -> None:
    cluster = (ECONOMY, spot_pool(), steady_pool())
    assert rules(*cluster, job(24, spot={"allowed": False})) == SpotRules()
    elsewhere = job(24)
    elsewhere["spec"]["workers"]["template"]["spec"]["nodeSelector"] = STEADY
    assert rules(*cluster, elsewhere) == SpotRules()


def test_without_room_off_spot_nobody_counts_on_it() -> None:
    full = at(a_training_job("other", gpus=8), "dear")
    assert rules(ECONOMY, spot_pool(), steady_pool(), full, job(24)) == SpotRules()


def test_nobody_waits_for_spot_that_others_hold() -> None:
    full = at(a_training_job("other", gpus=8), "cheap")
    cluster = (ECONOMY, spot_pool(gone_minutes=None), steady_pool(), full)
    assert rules(*cluster, job(24), nodes=(SPOT_NODE, STEADY_NODE)) == SpotRules()


BOTH = (SPOT_NODE, STEADY_NODE)


def test_a_job_on_spot_stays_there() -> None:
    cluster = (ECONOMY, spot_pool(gone_minutes=None), steady_pool())
    found = rules(*cluster, job(24, on="cheap"), nodes=BOTH)
    assert (short(found.on), found.to, found.off, found.waiting) == (["train"], frozenset(), {}, {})


def test_a_plan_that_weighs_risk_does_not_move_it_off_again() -> None:
    """Otherwise it would go back and forth, each time for free."""
    risky = spot_pool(gone_minutes=None, price="2.9", interruptionsPerHour=3)
    soon = {"interval": "10m", "saveSeconds": 0, "restoreSeconds": 0}
    manifest = job(24, hours_to_do=9, on="cheap", checkpoint=soon)
    manifest["status"]["progress"]["savesOnNotice"] = True
    cluster = (*BOTH, risky, steady_pool(), manifest)
    assert plan(a_policy(), *cluster, effort_seconds=1).changes
    assert plan(ECONOMY, *cluster, effort_seconds=1).changes == ()


def test_a_job_that_may_only_partly_be_on_spot_does_not_wait_for_it() -> None:
    half = job(24, spot={"allowed": True, "maxSharePercent": 50})
    assert rules(ECONOMY, spot_pool(), steady_pool(), half) == SpotRules()


def test_a_job_off_spot_goes_back_to_it_and_only_as_many_as_there_is_room_for() -> None:
    cluster = (ECONOMY, spot_pool(gone_minutes=None), steady_pool())
    first, second = job(24, on="dear", gpus=5), job(23, name="sooner", on="dear", gpus=3)
    assert short(rules(*cluster, first, second, nodes=BOTH).to) == ["sooner", "train"]
    second = job(23, name="sooner", on="dear", gpus=4)
    found = rules(*cluster, first, second, nodes=BOTH)
    assert short(found.to) == ["sooner"]


def test_a_job_that_runs_off_spot_goes_on_while_spot_is_gone() -> None:
    assert rules(ECONOMY, spot_pool(), steady_pool(), job(24, on="dear")) == SpotRules()


def test_a_job_off_spot_stays_there_where_going_back_would_cost_more() -> None:
    young = spot_pool(gone_minutes=None)
    cluster = (ECONOMY, young, steady_pool())
    slow = {"interval": "1m", "saveSeconds": 0, "restoreSeconds": 3600}
    found = rules(*cluster, job(24, hours_to_do=1, on="dear", checkpoint=slow), nodes=BOTH)
    assert (found.to, short(found.off)) == (frozenset(), ["train"])


def test_what_it_says_does_not_change_as_time_passes() -> None:
    manifests = (STEADY_NODE, ECONOMY, spot_pool(), steady_pool(), job(24))
    said = [
        rules_in(seen(*manifests, now=NOW + timedelta(seconds=later))).waiting
        for later in (0, 30, 600)
    ]
    assert said[0] == said[1] == said[2]
    latest = NOW + timedelta(hours=24 - 5) - timedelta(seconds=30 + 60 + 600 + 60)
    assert f"until {latest:%Y-%m-%d %H:%M} UTC" in str(said[0])


def planned(snapshot: Snapshot, *, effort_seconds: float = 0) -> PlanResult:
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    effort = Effort(deterministic_seconds=effort_seconds)
    return PlanResult(plan_input, solve_lean(plan_input.problem, effort))


def plan(*manifests: Manifest, effort_seconds: float = 0) -> Plan:
    snapshot = seen(*manifests)
    return plan_of(snapshot, planned(snapshot, effort_seconds=effort_seconds))


def test_the_plan_lets_it_wait_and_says_for_what() -> None:
    [hold] = plan(STEADY_NODE, ECONOMY, spot_pool(), steady_pool(), job(24)).holds
    assert (hold.reason, hold.inadmissible) == (Reason.WAITING_FOR_SPOT, False)
    assert hold.message.startswith("waits for spot capacity")


def test_who_waits_for_spot_keeps_no_node_and_no_trade_from_others() -> None:
    snapshot = seen(STEADY_NODE, ECONOMY, spot_pool(), steady_pool(), job(24))
    result = planned(snapshot)
    holds, after = plan_of(snapshot, result).holds, settled(result)
    assert not waits_for_nodes(snapshot, after, holds, Purchases())
    (on_order,) = ({hold.job: ()} for hold in holds)
    assert waits_for_nodes(snapshot, after, holds, Purchases(waiting=on_order))


def test_the_plan_moves_it_back_to_spot() -> None:
    pools = (ECONOMY, spot_pool(gone_minutes=None), steady_pool())
    [change] = plan(*BOTH, *pools, job(24, hours_to_do=9, on="dear")).changes
    assert isinstance(change, Migrate)
    assert [name for each in change.assignments for name in each.nodes] == ["cheap"]
    assert "cheaper" in change.message, "its old place is still allowed, but dear"


def test_where_spot_has_too_little_cpu_it_stays_where_it_is() -> None:
    pools = (ECONOMY, spot_pool(gone_minutes=None), steady_pool())
    hog = a_gpu_pod("hog", "cheap", cpu=SPOT_NODE["status"]["allocatable"]["cpu"])
    needy = job(24, hours_to_do=9, on="dear")
    container = needy["spec"]["workers"]["template"]["spec"]["containers"][0]
    container["resources"] = {"requests": {"cpu": "1"}}
    assert plan(*BOTH, *pools, needy).changes
    assert plan(*BOTH, *pools, needy, hog).changes == ()


def test_a_job_that_may_not_be_moved_now_stays_where_it_is() -> None:
    pools = (ECONOMY, spot_pool(gone_minutes=None), steady_pool())
    still = job(24, hours_to_do=9, on="dear", disruption={"minRuntime": "3h"})
    still["status"]["startedTime"] = NOW.isoformat()
    assert plan(*BOTH, *pools, still).changes == ()


def test_a_gang_whose_spot_node_is_gone_waits_as_well() -> None:
    made = plan(STEADY_NODE, ECONOMY, spot_pool(), steady_pool(), job(24, on="cheap"))
    [change], [hold] = made.changes, made.holds
    assert isinstance(change, Preempt)
    assert change.reason == Reason.NODE_LEFT
    assert change.message == f"it must leave cheap (gone), and {hold.message}"
    assert hold.reason == Reason.WAITING_FOR_SPOT


def test_a_gang_whose_spot_node_is_gone_goes_on_off_spot_if_time_is_short() -> None:
    made = plan(STEADY_NODE, ECONOMY, spot_pool(), steady_pool(), job(5.3, on="cheap"))
    [change] = made.changes
    assert isinstance(change, Migrate)
    assert [name for each in change.assignments for name in each.nodes] == ["dear"]
