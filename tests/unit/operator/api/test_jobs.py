"""Jobs say what their readers need, and survive being written and read."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.parts.gang import counts_between
from plimsoll.api.training_job import TrainingJob
from plimsoll_devcluster.manifest import manifests_in
from support.objects.manifests import Manifest, edited, inference_job, training_job

EXAMPLES = sorted((Path(__file__).parents[4] / "examples").rglob("*.yaml"))


def workers(**fields: Any) -> Manifest:  # noqa: ANN401 - any JSON value
    return edited(training_job(), {f"spec.workers.{name}": value for name, value in fields.items()})


@pytest.mark.parametrize(
    ("fields", "counts"),
    [
        ({"min": 2, "max": 4}, (2, 3, 4)),
        ({"min": 3, "max": 3}, (3,)),
        ({"min": 1, "max": 8, "allowed": [8, 2, 4]}, (2, 4, 8)),
        ({"min": 3, "max": 8, "allowed": [2, 4, 8]}, (4, 8)),
    ],
)
def test_a_training_job_runs_with_its_allowed_counts(
    fields: dict[str, Any], counts: tuple[int, ...]
) -> None:
    assert TrainingJob.model_validate(workers(**fields)).spec.workers.counts == counts


def test_without_max_there_is_one_count() -> None:
    job = training_job()
    del job["spec"]["workers"]["max"]
    assert TrainingJob.model_validate(job).spec.workers.counts == (2,)


@pytest.mark.parametrize(
    ("gpus", "milli"), [(8, 8000), ("0.25", 250), ("500m", 500), ("1.0", 1000)]
)
def test_gpus_are_counted_in_thousandths(gpus: str | int, milli: int) -> None:
    job = TrainingJob.model_validate(workers(gpusPerWorker=gpus))
    assert job.spec.workers.milli_gpus_per_worker == milli


def test_the_gpus_of_a_replica_are_shared_out_to_its_pods() -> None:
    edits = {"spec.roles.0.gpusPerReplica": 16, "spec.roles.0.podsPerReplica": 2}
    job = InferenceJob.model_validate(edited(inference_job(), edits))
    assert job.spec.roles[0].milli_gpus_per_pod == 8000


def test_a_template_is_kept_as_it_was_written() -> None:
    template: Manifest = {
        "metadata": {"labels": {"team": "a"}},
        "spec": {
            "containers": [
                {
                    "name": "main",
                    "image": "main:1",
                    "env": [{"name": "A", "value": "1"}],
                    "resources": {"requests": {"cpu": "500m", "memory": "64Gi"}},
                }
            ],
            "dnsPolicy": "Default",
            "affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": []}},
        },
    }
    job = TrainingJob.model_validate(workers(template=template))
    assert job.spec.workers.template.wire() == template


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.name)
def test_every_example_is_read_and_survives_being_written(file: Path) -> None:
    for manifest in manifests_in(file.read_text()):
        if kind := KIND_BY_NAME.get(manifest["kind"]):
            job = kind.model_validate(manifest)
            assert kind.model_validate(job.wire()) == job


@pytest.mark.parametrize(("least", "most"), [(1, 1), (1, 128), (100, 227), (4000, 4096)])
def test_of_a_range_that_is_not_wide_every_count_is_considered(least: int, most: int) -> None:
    assert counts_between(least, most) == tuple(range(least, most + 1))


@pytest.mark.parametrize("least", [1, 3, 100])
def test_of_a_wide_range_round_counts_are_considered_and_both_ends(least: int) -> None:
    found = counts_between(least, 4095)
    assert (found[0], found[-1]) == (least, 4095)
    assert len(found) < 150
    assert all(2**power in found for power in range(7, 12))
    assert all(after <= before * 1.07 + 1 for before, after in pairwise(found))
