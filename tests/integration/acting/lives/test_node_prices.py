"""A change of the price catalogue moves what is bought next."""

import tempfile
from pathlib import Path

import pytest

from plimsoll_devcluster.karpenter.instance_types import EIGHT_H100
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS
from plimsoll_devcluster.waiting import wait_until
from support.clusters.bought_nodes import a_pool_of
from support.clusters.node_claims import NodeClaims
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_policy, a_training_job

PRICES = Path(tempfile.mkdtemp()) / "prices.yaml"
OPERATOR_ENVIRONMENT = {"PLIMSOLL_BUYS_NODES": "true", "PLIMSOLL_PRICES_FILE": str(PRICES)}
# It serves the kind. It comes first, so that what it has made goes last: while there are pools and
# jobs, nodes would be ordered again.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("karpenter")]


def write_price(dollars: str) -> None:
    """Have a node cost so much an hour, replacing the file as the kubelet does."""
    entry = f"{{instanceType: {EIGHT_H100.name}, pricePerNodeHour: {dollars}}}"
    part = PRICES.with_suffix(".part")
    part.write_text(f"prices: [{entry}]\n")
    part.replace(PRICES)


def test_a_price_that_falls_lets_the_budget_suffice(scene: Scene) -> None:
    NodeClaims(scene.api, scene.namespace).set_boot_time(0)
    job, pool = a_training_job("job", gpus=8), a_pool_of("h100", price="0")
    scene.apply(a_policy(purchasing={"mostPerHour": "60"}), pool, job)
    write_price('"100"')
    wait_until(
        lambda: (
            "for 100.00 an hour: purchasing.mostPerHour" in scene.status(job).get("message", "")
        ),
        timeout_seconds=SECONDS,
        what="it says what a node costs by the catalogue",
    )
    write_price("nonsense")
    wait_until(
        lambda: scene.operator.metric("plimsoll_unread_objects", resource="prices") == 1,
        timeout_seconds=SECONDS,
        what="the catalogue is found to be unreadable",
    )
    assert not scene.api.items(NODE_CLAIMS)
    assert scene.status(pool)["provisioning"]["pricePerGPUHour"] == "12.5"
    write_price('"55.04"')
    scene.running(job)
    wait_until(
        lambda: scene.status(pool)["provisioning"]["pricePerGPUHour"] == "6.88",
        timeout_seconds=SECONDS,
        what="the pool says what it costs now",
    )
