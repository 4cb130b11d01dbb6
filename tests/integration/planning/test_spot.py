"""Spot on a real control plane: what is seen of it is kept, and deadlines keep jobs off it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.objects.job_manifests import a_policy, a_pool, a_training_job

SPOT, STEADY = {"terms": "spot"}, {"terms": "steady"}
NOTICE = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule", "value": "now"}
POOLS = (
    a_pool("spot", SPOT, capacityType="Spot", pricePerGPUHour=1, interruptionsPerHour="0.05"),
    a_pool("steady", STEADY, pricePerGPUHour=3),
)


def by(hours: float, name: str) -> Manifest:
    """A job of an hour on one GPU that may be on spot, with a deadline."""
    deadline = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    work = {"amount": 3600, "unit": "steps", "deadline": deadline}
    return a_training_job(name, work=work, spot={"allowed": True}, rates={H100: 1})


def conditions(status: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["type"]: each for each in status["conditions"]}


def test_a_job_whose_time_is_short_is_placed_off_spot_and_says_why(scene: Scene) -> None:
    scene.add_nodes(fake_node("cheap", H100, 4, labels=SPOT))
    scene.add_nodes(fake_node("dear", H100, 4, labels=STEADY))
    scene.apply(*POOLS)
    relaxed, hurried = by(48, "relaxed"), by(1.1, "hurried")
    scene.apply(relaxed, hurried)
    assert scene.running(relaxed).nodes == ["cheap"]
    found = scene.running(hurried)
    assert found.nodes == ["dear"]
    usable = conditions(found.status)["SpotUsable"]
    assert (usable["status"], usable["reason"]) == ("False", "DeadlineAtRisk")
    assert usable["message"].startswith("1:00 of work is left")
    assert "SpotUsable" not in conditions(scene.running(relaxed).status)


@pytest.mark.slow
def test_under_economy_a_job_with_time_waits_for_spot_and_starts_when_it_comes(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("dear", H100, 4, labels=STEADY))
    spot = a_pool("spot", SPOT, capacityType="Spot", pricePerGPUHour=1, gpuType=H100)
    scene.apply(spot, POOLS[1], a_policy(objective={"preset": "Economy"}))
    scene.until(spot, nodes=0)
    relaxed, hurried = by(48, "relaxed"), by(1.1, "hurried")
    scene.apply(relaxed, hurried)
    assert scene.running(hurried).nodes == ["dear"]
    waits = scene.until(relaxed, reason="WaitingForSpot")
    assert waits["message"].startswith("waits for spot capacity")
    assert "placement" not in waits
    [event] = scene.events(relaxed, "WaitingForSpot")
    assert event["type"] == "Normal"
    scene.add_nodes(fake_node("cheap", H100, 4, labels=SPOT))
    assert scene.running(relaxed).nodes == ["cheap"]
    status = scene.until(spot, nodesReady=1)
    assert status["spot"]["availability"]["available"] is True
    assert scene.running(hurried).nodes == ["dear"]


def test_an_interruption_is_counted_in_the_pools_status(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", H100, 4, labels=SPOT), fake_node("b", H100, 4, labels=SPOT))
    scene.apply(*POOLS)
    status = scene.until(POOLS[0], nodes=2)
    assert status["spot"]["interruptions"] == "0"
    assert status["spot"]["interruptionsPerHour"] == "0.05"
    scene.node("a", {"spec": {"taints": [NOTICE]}})
    status = scene.until(POOLS[0], nodesReady=1)
    assert (status["spot"]["interruptions"], status["spot"]["noticedNodes"]) == ("1", ["a"])
    assert float(status["spot"]["interruptionsPerHour"]) > 0.05
