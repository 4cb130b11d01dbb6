from typing import Any, cast

import pytest

from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import UnusableWorkload
from plimsoll.observe.adoption.stand_ins import is_stand_in, stand_in_name, stand_in_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.adopted_jobs import candidate, read_job
from support.objects.batch_jobs import a_batch_job


def standing(job: Manifest) -> TrainingJob:
    return stand_in_of(candidate(job)).job


def refused(job: Manifest) -> str:
    with pytest.raises(UnusableWorkload) as error:
        standing(job)
    return str(error.value)


def with_container(job: Manifest, **fields: Any) -> Manifest:  # noqa: ANN401 - a container's
    job["spec"]["template"]["spec"]["containers"][0] |= fields
    return job


def test_size_gpus_and_wishes_follow_from_the_job_and_what_it_runs_is_left_out() -> None:
    pod = {
        "nodeSelector": {"zone": "z"},
        "priorityClassName": "high",
        "terminationGracePeriodSeconds": 20,
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "key", "secret": {"secretName": "key"}},
        ],
    }
    job = with_container(
        a_batch_job(workers=4, queue="research", pod=pod),
        resources={"limits": {"nvidia.com/gpu": "8", "cpu": "4"}},
    )
    spec = standing(job).spec
    assert (spec.queue, spec.priority_class_name) == ("research", "high")
    assert (spec.workers.min, spec.workers.max, spec.workers.gpus_per_worker) == (4, 4, 8)
    template = cast("Manifest", spec.workers.template.wire())
    assert template["spec"]["nodeSelector"] == {"zone": "z"}
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    assert template["spec"]["volumes"] == [claim], "which bind its pods to nodes; and no others"
    (container,) = template["spec"]["containers"]
    assert container["resources"]["limits"] == {"cpu": "4"}
    assert container["image"] != "registry.example/train:1"
    assert "schedulingGates" not in template["spec"]
    assert spec.checkpoint.save_seconds == 20
    assert spec.workload_ref is not None
    assert (spec.workload_ref.uid, spec.workload_ref.gpu_resource) == (
        "uid-Job-train",
        "nvidia.com/gpu",
    )


def test_it_belongs_to_the_job_and_goes_with_it() -> None:
    manifest = stand_in_of(candidate(a_batch_job())).manifest
    (owner,) = manifest["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("Job", "uid-Job-train", True)


def test_annotations_say_the_rest() -> None:
    annotations = {
        "checkpoint.interval": "5m",
        "work": '{"amount": 1000}',
        "workers.min": "2",
        "workers.max": "16",
        "workers.allowed": "[2, 4, 8, 16]",
    }
    spec = standing(a_batch_job(annotations=annotations)).spec
    assert spec.checkpoint.interval.total_seconds() == 300
    assert (spec.workers.counts, spec.work is not None) == ((2, 4, 8, 16), True)


@pytest.mark.parametrize(
    ("annotations", "words"),
    [
        ({"checkpoint.interval": "soon"}, "annotation plimsoll.dev/checkpoint.interval: 'soon'"),
        ({"checkpoint.intervall": "5m"}, "is unknown: did you mean interval?"),
        ({"checkpoint": "5m"}, "annotation plimsoll.dev/checkpoint: should be a valid dictionary"),
        ({"workers": "8"}, "annotation plimsoll.dev/workers: must be an object"),
        ({"workers.max": "8"}, "annotation plimsoll.dev/workers.min: is required"),
        ({"workers.min": "1"}, "annotation plimsoll.dev/workers.max: is required"),
        ({"workers.min": "4", "workers.max": "2"}, "max must be at least min"),
        ({"workers.min": "0", "workers.max": "2"}, "annotation plimsoll.dev/workers.min"),
        ({"work.amount": "NaN"}, "annotation plimsoll.dev/work.amount: 'NaN' is not a quantity"),
        ({"accelerators": "H100"}, "annotation plimsoll.dev/accelerators"),
        ({"checkpoint.saveSeconds": "90"}, "terminationGracePeriodSeconds must be at least"),
    ],
)
def test_what_is_wrong_names_the_annotation_and_the_remedy(
    annotations: dict[str, str], words: str
) -> None:
    assert words in refused(a_batch_job(annotations=annotations))


def test_a_job_that_cannot_be_a_gang_is_refused_by_the_field_at_fault() -> None:
    assert "asks for no GPU" in refused(a_batch_job(gpus=0))
    assert "spec.parallelism of Job train: 0 pods at once" in refused(a_batch_job(workers=0))
    assert "have 1 to 4096" in refused(a_batch_job(workers=5000))
    assert "spec.template.spec.nodeName" in refused(a_batch_job(pod={"nodeName": "a"}))
    two = {"limits": {"nvidia.com/gpu": 1, "amd.com/gpu": 1}}
    assert "amd.com/gpu and nvidia.com/gpu: ask for GPUs of one kind" in refused(
        with_container(a_batch_job(), resources=two)
    )
    shared = {"limits": {"nvidia.com/gpu.shared": 1}}
    assert "a share of unknown size" in refused(with_container(a_batch_job(), resources=shared))
    size = {"workers.min": "1", "workers.max": "4"}
    fixed = a_batch_job(annotations=size, completionMode="NonIndexed")
    assert "cannot change its size: set completionMode to Indexed" in refused(fixed)


def test_names_too_long_or_unfit_for_pods_are_shortened_and_stay_apart() -> None:
    assert stand_in_name(read_job(a_batch_job("train"))) == "job-train"
    names = ["a" * 60, "a" * 61, "train.v1", "0" * 44, "1train"]
    found = [stand_in_name(read_job(a_batch_job(name))) for name in names]
    assert len(set(found)) == len(names)
    for name in names:
        standing(a_batch_job(name))


def test_a_training_job_stands_for_a_job_only_by_its_uid_and_under_its_name() -> None:
    job, stand_in = read_job(a_batch_job()), standing(a_batch_job())
    assert is_stand_in(stand_in, job)
    assert not is_stand_in(stand_in, read_job(a_batch_job("another")))
    renamed = stand_in.metadata.model_copy(update={"name": "mine"})
    assert not is_stand_in(stand_in.model_copy(update={"metadata": renamed}), job)
    moved = stand_in.metadata.model_copy(update={"namespace": "another"})
    assert not is_stand_in(stand_in.model_copy(update={"metadata": moved}), job)
