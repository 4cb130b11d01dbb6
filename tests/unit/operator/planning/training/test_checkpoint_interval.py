import math
from decimal import Decimal

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.checkpoint_interval import save_interval_seconds
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, objects_of
from support.objects.job_manifests import a_training_job

HOURLY = {"wild": Decimal(2), "calm": Decimal(0)}


def asked(*nodes: str, pool: str = "wild", **checkpoint: int | str) -> float:
    """What is asked of a job on these nodes of a pool; a save takes 30 s if not told otherwise."""
    manifest: Manifest = a_training_job(
        "job", workers=max(len(nodes), 1), checkpoint={"interval": "1h", **checkpoint}
    )
    if nodes:
        manifest = at(manifest, *nodes)
        for place in manifest["status"]["placement"]["assignments"]:
            place["pool"] = pool
    [job] = objects_of(manifest).resources
    assert isinstance(job, TrainingJob)
    return save_interval_seconds(job, HOURLY)


def test_a_gang_is_as_often_interrupted_as_its_nodes_together() -> None:
    assert asked("a") == pytest.approx(math.sqrt(2 * 30 * 1800))
    assert asked("a", "b") == pytest.approx(math.sqrt(2 * 30 * 900))
    assert asked("a", "a") == asked("a")


def test_where_nothing_is_interrupted_the_job_saves_as_it_says() -> None:
    assert asked("a", pool="calm") == asked("a", pool="unknown") == asked() == 3600


def test_no_job_is_asked_to_save_less_often_than_it_says_itself() -> None:
    assert asked("a", interval="2m") == 120


def test_saving_leaves_time_to_work() -> None:
    assert asked("a", saveSeconds=600) >= 4 * 600
    assert asked(*(f"n-{n}" for n in range(200)), saveSeconds=1) == 60
