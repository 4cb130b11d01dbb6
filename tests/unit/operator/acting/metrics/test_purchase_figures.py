"""What is bought is reported as metrics while this replica acts, and no longer."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from prometheus_client import REGISTRY

from plimsoll.acting.metrics.purchase_figures import PurchaseFigures
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, seen
from support.objects.bought_nodes import a_claim, a_growing_pool, a_node_of
from support.objects.job_manifests import a_policy, a_training_job


@pytest.fixture
def figures() -> Iterator[PurchaseFigures]:
    figures = PurchaseFigures()
    yield figures
    figures.forget()


def report(figures: PurchaseFigures, *manifests: Manifest, now: datetime = NOW) -> Snapshot:
    """Report what there is."""
    snapshot, shortages = seen(*manifests, now=now), Shortages()
    statuses = {
        pool.metadata.name: status
        for pool in snapshot.pools
        if (status := shortages.status(pool, snapshot)) is not None
    }
    figures.report(snapshot, statuses)
    return snapshot


def published(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(f"plimsoll_{name}", labels)


def a_bought_node(number: int) -> list[Manifest]:
    name = f"n-{number}"
    claim = a_claim(f"spot-{number}", pool="spot", node=name, arrived=True)
    return [claim, a_node_of("spot", name)]


POOL = a_growing_pool("spot", price="2", capacityType="Spot")


def test_nodes_and_what_they_cost_are_reported_by_pool(figures: PurchaseFigures) -> None:
    policy = a_policy(purchasing={"mostPerHour": "40"})
    report(figures, POOL, policy, *a_bought_node(1), a_claim("spot-2", pool="spot"))
    assert published("nodes_bought", pool="spot", state="Arrived") == 1
    assert published("nodes_bought", pool="spot", state="Coming") == 1
    assert published("bought_dollars_per_hour", pool="spot", capacity_type="Spot") == 32
    assert published("purchase_budget_dollars_per_hour") == 40
    report(figures, POOL)
    assert published("nodes_bought", pool="spot", state="Arrived") is None
    assert published("bought_dollars_per_hour", pool="spot", capacity_type="Spot") == 0
    assert published("purchase_budget_dollars_per_hour") == math.inf


def test_the_time_of_nodes_without_a_job_is_counted(figures: PurchaseFigures) -> None:
    job = at(a_training_job("job", gpus=8), "n-1")
    nodes = [*a_bought_node(1), *a_bought_node(2), a_claim("spot-3", pool="spot")]

    def idle_seconds() -> float:
        return published("idle_node_seconds_total", pool="spot") or 0.0

    report(figures, POOL, *nodes, job)
    before = idle_seconds()
    report(figures, POOL, *nodes, job, now=NOW + timedelta(seconds=30))
    assert idle_seconds() == before + 30
    report(figures, POOL, *nodes, now=NOW + timedelta(seconds=40))
    assert idle_seconds() == before + 50
    figures.forget()
    report(figures, POOL, *nodes, now=NOW + timedelta(hours=1))
    assert idle_seconds() == before + 50


def test_what_was_reported_is_gone_once_another_replica_acts(figures: PurchaseFigures) -> None:
    report(figures, POOL, *a_bought_node(1))
    figures.forget()
    assert published("node_failures", pool="spot") is None
    assert published("bought_dollars_per_hour", pool="spot", capacity_type="Spot") is None
    assert published("purchase_budget_dollars_per_hour") == 0
