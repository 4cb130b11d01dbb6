from dataclasses import replace

import pytest

from plimsoll_devcluster.histories.drawn import script
from plimsoll_devcluster.histories.hostile_objects import hostile_objects
from plimsoll_devcluster.histories.neighbours import beside_hostile_tenants
from plimsoll_devcluster.histories.script import LANE, Call

SCRIPTS = [beside_hostile_tenants(script(seed, 40)) for seed in range(1, 6)]
BESIDE = [lane.neighbour for each in SCRIPTS for lane in each.lanes if lane.neighbour]
OWN_NODE_FREE = "in-anothers-queue"


def test_a_history_is_the_same_with_a_hostile_tenant_beside_it() -> None:
    alone = script(1, 8)
    lanes = tuple(replace(lane, neighbour=None) for lane in beside_hostile_tenants(alone).lanes)
    assert replace(alone, lanes=lanes) == alone


def test_a_hostile_tenant_stays_in_its_namespace() -> None:
    assert len(BESIDE) == 200
    for lane in BESIDE:
        assert lane.namespace.endswith("-x")
        assert all(f"/namespaces/{lane.namespace}/" in call.path for call in lane.calls)


def test_all_that_is_hostile_comes_in_some_history() -> None:
    come = {call.what.removesuffix(" comes") for lane in BESIDE for call in lane.calls}
    assert hostile_objects("h1-0-x").keys() <= come


@pytest.mark.parametrize("name", sorted(hostile_objects("own-x").keys() - {OWN_NODE_FREE}))
def test_what_may_run_runs_on_the_tenants_own_node(name: str) -> None:
    spec = hostile_objects("own-x")[name]["spec"]
    for each in (spec.get("workers"), *spec.get("roles", ())):
        if each is not None:
            assert each["template"]["spec"]["nodeSelector"] == {LANE: "own-x"}


@pytest.mark.slow
def test_only_what_is_odd_may_be_refused() -> None:
    def is_odd(call: Call) -> bool:
        return call.method != "POST" or call.body["metadata"]["name"] in hostile_objects("x-x")

    calls = [call for lane in BESIDE for call in lane.calls]
    assert [call.may_be_refused for call in calls] == [is_odd(call) for call in calls]
