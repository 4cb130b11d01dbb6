from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.api.parts.gang import Accelerator
from plimsoll.api.parts.progress import MeasuredRate
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.nodes.gpu_figures import REALISED
from plimsoll.observe.observer import Observer
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4, T4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, objects_of, seen
from support.objects.bought_nodes import a_growing_pool
from support.objects.job_manifests import a_pool, a_template, a_training_job, without_speeds

NODES = (fake_node("h100", H100), fake_node("a100", A100), fake_node("t4", T4))
RATIO = (989 / 312 * 3350 / 2039) ** (0.5 * REALISED)
"""Of an H100 to an A100, by what is published of both: TFLOPS and GB/s."""


def unknown(workers: int | tuple[int, int] = 1, **facts: Any) -> Manifest:  # noqa: ANN401
    """A job that states no type and no rate; `gang` are more fields of its workers."""
    gang, status = facts.pop("gang", {}), facts.pop("status", {})
    job = without_speeds(a_training_job("job", workers=workers, **facts))
    job["spec"]["workers"] |= gang
    return job | {"status": status} if status else job


def filled(job: Manifest, *others: Manifest) -> TrainingJob:
    (view,) = seen(*others, job).jobs
    assert view.training is not None
    return view.training


def types_of(job: Manifest, *others: Manifest) -> list[str]:
    return [each.type for each in filled(job, *others).spec.accelerators]


def rate(job: TrainingJob, gpu_type: str, workers: int = 1) -> float:
    found = next(each for each in job.spec.accelerators if each.type == gpu_type)
    return next(float(p.rate) for p in found.throughput if p.workers == workers)


def test_it_may_use_what_could_be_ordered_too() -> None:
    assert types_of(unknown(), *NODES[1:], a_growing_pool(gpu_type=H100)) == [A100, H100, T4]
    assert types_of(unknown(), *NODES[1:], a_growing_pool(gpu_type=H100, sells=False)) == [
        *(A100, H100, T4)
    ], "somebody else may order them"
    never = a_growing_pool(gpu_type=H100, most=0)
    assert types_of(unknown(), *NODES[1:], never) == [A100, T4]
    large = unknown(gang={"minMemoryPerGPU": "60Gi"})
    assert types_of(large, *NODES[1:], a_growing_pool(gpu_type=L4)) == [A100]


def test_a_job_that_names_no_type_may_use_all_that_there_are() -> None:
    assert types_of(unknown(), *NODES) == [A100, H100, T4]


def test_a_job_that_states_its_rates_is_left_as_it_is() -> None:
    job = filled(a_training_job("job", rates={H100: 3}), *NODES)
    assert [type(each) for each in job.spec.accelerators] == [Accelerator]


def test_its_template_chooses_among_them() -> None:
    template = a_template(nodeSelector={"nvidia.com/gpu.product": A100})
    assert types_of(unknown(template=template), *NODES) == [A100]


def test_a_taint_that_it_does_not_tolerate_excludes_a_type() -> None:
    taint = {"key": "team", "value": "others", "effect": "NoSchedule"}
    tainted = fake_node("h100", H100, taints=[taint])
    assert types_of(unknown(), tainted, *NODES[1:]) == [A100, T4]


def test_a_cordon_passes_so_it_excludes_none() -> None:
    cordoned = fake_node("h100", H100)
    cordoned["spec"]["unschedulable"] = True
    assert types_of(unknown(), cordoned, *NODES[1:]) == [A100, H100, T4]


@pytest.mark.parametrize(
    ("least", "types"), [("80Gi", [A100, H100]), ("16Gi", [A100, H100, T4]), ("1Gi", None)]
)
def test_so_does_the_memory_that_it_needs_as_gpus_are_sold(
    least: str, types: list[str] | None
) -> None:
    found = types_of(unknown(gang={"minMemoryPerGPU": least}), *NODES)
    assert found == (types or [A100, H100, T4])


def test_partitions_are_for_those_who_name_them() -> None:
    sliced = fake_node("sliced", A100, 0, resources={"nvidia.com/mig-1g.10gb": "7"})
    assert types_of(unknown(), sliced, NODES[2]) == [T4]


def test_gpus_of_two_vendors_are_not_for_one_image() -> None:
    amd = fake_node(
        "amd",
        gpus=0,
        labels={"amd.com/gpu.product-name": "AMD-Instinct-MI300X"},
        resources={"amd.com/gpu": "8"},
    )
    assert types_of(unknown(), amd, NODES[2]) == [T4]
    only = a_template(nodeSelector={"amd.com/gpu.product-name": "AMD-Instinct-MI300X"})
    assert types_of(unknown(template=only), amd, NODES[2]) == ["AMD-Instinct-MI300X"]


def test_whose_gpus_those_of_nodes_to_come_are_follows_from_their_name() -> None:
    amd = a_growing_pool("mi300x", gpu_type="AMD_Instinct_MI300X_OAM")
    assert types_of(unknown(), amd, NODES[2]) == [T4]
    assert types_of(unknown(), amd) == ["AMD_Instinct_MI300X_OAM"]


@pytest.mark.parametrize(
    ("job", "lacking"),
    [
        (unknown(gang={"minMemoryPerGPU": "400Gi"}), "GPU of at least 400 GiB"),
        (unknown(template=a_template(nodeSelector={"a": "b"})), "GPU on a node that its template"),
    ],
)
def test_what_no_type_offers_is_named(job: Manifest, lacking: str) -> None:
    (only,) = types_of(job, *NODES)
    assert only.startswith(lacking)


def test_speeds_are_in_proportion_to_published_figures() -> None:
    job = filled(unknown(), *NODES)
    assert rate(job, H100) / rate(job, A100) == pytest.approx(RATIO, rel=1e-4)


def test_a_pools_own_name_for_its_gpus_does_not_hide_what_they_are() -> None:
    pool = a_pool("fast", {"nvidia.com/gpu.product": H100}, gpuType="fast")
    job = filled(unknown(), pool, *NODES)
    assert rate(job, "fast") / rate(job, A100) == pytest.approx(RATIO, rel=1e-4)


def test_a_type_of_which_nothing_is_published_is_taken_to_be_usual() -> None:
    new = fake_node("new", L4)
    new["metadata"]["labels"]["nvidia.com/gpu.product"] = "ACME-9000"
    job = filled(unknown(), new, fake_node("l4", L4))
    assert rate(job, "ACME-9000") == rate(job, L4)


def test_each_doubling_of_workers_brings_less() -> None:
    job = filled(unknown((1, 8)), *NODES)
    one, two, four, eight = (rate(job, H100, n) for n in (1, 2, 4, 8))
    assert one < two < four < eight < 2 * four < 4 * two < 8 * one


def test_the_unit_follows_from_what_is_stated_of_another_type() -> None:
    job = a_training_job("job", rates={A100: 10})
    job["spec"]["accelerators"].append({"type": H100})
    assert rate(filled(job, *NODES), H100) == pytest.approx(10 * RATIO, rel=1e-4)


def test_otherwise_from_what_was_measured() -> None:
    measured = [{"type": A100, "workers": 1, "rate": "10", "seconds": 600}]
    job = filled(unknown(status={"measured": measured}), *NODES)
    assert rate(job, A100) == pytest.approx(10)
    assert rate(job, H100) == pytest.approx(10 * RATIO, rel=1e-4)


def test_a_type_where_it_has_run_stays_while_its_nodes_are_gone() -> None:
    measured = [{"type": H100, "workers": 1, "rate": "10", "seconds": 600}]
    assert types_of(unknown(status={"measured": measured}), *NODES[1:]) == [A100, H100, T4]


def test_a_job_is_the_same_object_while_nothing_changes() -> None:
    observer, objects = Observer(), objects_of(*NODES, unknown())
    before = observer.snapshot(objects, NOW).jobs
    assert observer.snapshot(objects, NOW + timedelta(minutes=1)).jobs is before


def test_a_new_type_is_seen_at_once() -> None:
    observer, job = Observer(), unknown()
    observer.snapshot(objects_of(*NODES, job), NOW)
    (view,) = observer.snapshot(objects_of(*NODES, fake_node("l4", L4), job), NOW).jobs
    assert view.training is not None
    assert L4 in {each.type for each in view.training.spec.accelerators}


@pytest.mark.parametrize("senseless", ["1e-330", "1e18", "0.000000001"])
def test_a_rate_that_makes_no_sense_costs_nothing(senseless: str) -> None:
    job = a_training_job("job", workers=(1, 4096), rates={A100: senseless})
    job["spec"]["accelerators"].append({"type": H100})
    assert rate(filled(job, *NODES), H100) > 0


def test_a_job_of_which_only_the_status_changes_keeps_its_filled_in_spec() -> None:
    observer, cluster = Observer(), objects_of(unknown(), *NODES)
    (job,) = (each for each in cluster.resources if isinstance(each, TrainingJob))

    def planned(**status: object) -> TrainingJob:
        now = job.model_copy(update={"status": job.status.model_copy(update=status)})
        (view,) = observer.snapshot(replace(cluster, resources=[now]), NOW).jobs
        assert view.training is not None
        assert view.training.status == now.status
        return view.training

    first = planned()
    assert planned(message="waits").spec is first.spec
    learned = MeasuredRate(type=T4, workers=1, rate=Decimal(700), seconds=600)
    assert rate(planned(measured=(learned,)), T4) == 700
    assert planned().spec == first.spec
