"""All GPUs are reported, each in one state."""

from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY

from plimsoll.acting.metrics.fleet_figures import FleetFigures
from plimsoll.acting.metrics.labels import NO_POOL
from plimsoll.planning.cluster.holdings import holdings
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_gpu_pod, a_pool, a_training_job

STATES = ("Used", "Idle", "Unusable", "Draining", "Unmanaged")
QUARANTINE = {"key": "plimsoll.dev/quarantine", "effect": "NoExecute"}
INTERRUPTED = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}


@pytest.fixture
def figures() -> Iterator[FleetFigures]:
    figures = FleetFigures()
    yield figures
    figures.forget()


def report(figures: FleetFigures, *manifests: Manifest) -> None:
    snapshot = seen(*manifests)
    runs = plan_input_of(snapshot, ProblemBuilder()).as_it_runs
    figures.report(snapshot, holdings(runs))


def gpus(pool: str = NO_POOL, gpu_type: str = H100) -> dict[str, float | None]:
    labels = {"gpu_type": gpu_type, "pool": pool}
    name = "plimsoll_gpus"
    return {s: REGISTRY.get_sample_value(name, {**labels, "state": s}) for s in STATES}


def test_each_gpu_is_in_one_state(figures: FleetFigures) -> None:
    report(
        figures,
        fake_node("busy"),
        fake_node("broken", taints=[QUARANTINE]),
        fake_node("leaving", taints=[INTERRUPTED]),
        at(a_training_job("job", gpus=4), "busy"),
        at(a_training_job("stays", gpus=3), "broken"),
        a_gpu_pod("theirs", "busy", gpus=2),
    )
    expected = {"Used": 7, "Idle": 2, "Unusable": 5, "Draining": 8, "Unmanaged": 2}
    assert gpus() == expected
    assert sum(expected.values()) == 24


def test_types_and_pools_are_apart_and_prices_are_the_pools(figures: FleetFigures) -> None:
    spot = a_pool("spot", {"pool": "spot"}, capacityType="Spot", pricePerGPUHour="1.5")
    report(figures, spot, fake_node("n-1", labels={"pool": "spot"}), fake_node("n-2", gpus=4))
    assert gpus("spot")["Idle"] == 8
    assert gpus()["Idle"] == 4
    price = REGISTRY.get_sample_value("plimsoll_gpu_dollars_per_hour", {"pool": "spot"})
    assert price == 1.5


def test_shares_of_a_gpu_count_as_shares(figures: FleetFigures) -> None:
    job = at(a_training_job("job", gpus="0.25"), "shared")
    report(figures, fake_node("shared", gpus=2, replicas=4), job)
    assert gpus() == {"Used": 0.25, "Idle": 1.75, "Unusable": 0, "Draining": 0, "Unmanaged": 0}


def test_a_gpu_that_vanished_under_its_job_makes_no_negative_number(figures: FleetFigures) -> None:
    report(figures, fake_node("n-1", gpus=4), at(a_training_job("job", gpus=8), "n-1"))
    assert gpus() == {"Used": 8, "Idle": 0, "Unusable": 0, "Draining": 0, "Unmanaged": 0}


def test_what_is_gone_is_not_reported(figures: FleetFigures) -> None:
    report(figures, fake_node("n-1"))
    report(figures)
    assert set(gpus().values()) == {None}
    report(figures, fake_node("n-1"))
    figures.forget()
    assert set(gpus().values()) == {None}
