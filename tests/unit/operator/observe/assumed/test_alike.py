"""Jobs that state no rates learn from those that run the same program."""

from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll.acting.conditions.speeds import speeds_of
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.nodes.gpu_figures import REALISED
from plimsoll.planning.training.expected_end import work_rate
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.job_manifests import a_template, a_training_job, without_speeds

NODES = (fake_node("h100", H100), fake_node("a100", A100), fake_node("t4", T4))
PUBLISHED = (989 / 312 * 3350 / 2039) ** (0.5 * REALISED)
"""An H100 to an A100, by what is published of both: TFLOPS and GB/s."""
LABEL = "plimsoll.dev/program"


def a_job(
    name: str,
    rates: Mapping[str, float] | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    namespace: str = "",
    workers: int = 1,
    **facts: Any,  # noqa: ANN401
) -> Manifest:
    """A job that states no rates, and has measured these with its workers."""
    job = without_speeds(a_training_job(name, workers=(1, 8), **facts))
    job["metadata"] |= {"labels": dict(labels or {})}
    if namespace:
        job["metadata"]["namespace"] = namespace
    measured = [
        {"type": kind, "workers": workers, "rate": str(rate), "seconds": 600}
        for kind, rate in (rates or {}).items()
    ]
    return job | {"status": {"measured": measured}}


def planned(job: Manifest, *others: Manifest) -> TrainingJob:
    views = {each.resource.metadata.name: each for each in seen(*NODES, *others, job).jobs}
    found = views[job["metadata"]["name"]].training
    assert found is not None
    return found


def bases(job: TrainingJob) -> dict[str, str]:
    return {each.type: each.basis for each in speeds_of(job)}


def rate(job: TrainingJob, gpu_type: str) -> float:
    found = next(each for each in job.spec.accelerators if each.type == gpu_type)
    return next(float(point.rate) for point in found.throughput if point.workers == 1)


def test_what_another_run_has_measured_is_expected() -> None:
    job = planned(a_job("next"), a_job("last", {H100: 40, A100: 8}))
    assert bases(job) == {H100: "Learned", A100: "Learned", T4: "Assumed"}
    assert rate(job, H100) == pytest.approx(40, rel=0.04)
    assert rate(job, A100) == pytest.approx(8, rel=0.04)


def test_of_other_types_the_figures_are_taken_in_proportion() -> None:
    job = planned(a_job("next"), a_job("last", {A100: 8}))
    assert rate(job, H100) == pytest.approx(8 * PUBLISHED, rel=0.04)
    assert bases(job) == {H100: "Assumed", A100: "Learned", T4: "Assumed"}


def test_how_long_it_takes_is_known_before_it_has_run() -> None:
    work = {"amount": "4000", "unit": "steps"}
    last, job = a_job("last", {H100: 40}, work=work), a_job("next", work=work)
    assert work_rate(planned(job), H100, 1) is None
    assert work_rate(planned(job, last), H100, 1) == pytest.approx(40, rel=0.04)


def test_several_workers_count_as_what_one_would_do() -> None:
    job = planned(a_job("next"), a_job("last", {H100: 40 * 4**0.9}, workers=4))
    assert rate(job, H100) == pytest.approx(40, rel=0.04)


def test_a_single_wrong_report_says_little() -> None:
    others = [a_job(f"job-{n}", {H100: 40}) for n in range(4)]
    job = planned(a_job("next"), *others, a_job("wrong", {H100: 1e12}))
    assert rate(job, H100) == pytest.approx(40, rel=0.04)


OTHERS: dict[str, dict[str, Any]] = {
    "another image": {"template": a_template(containers=[{"name": "main", "image": "other:1"}])},
    "another unit": {"work": {"amount": "10", "unit": "tokens"}},
    "another namespace": {"namespace": "elsewhere"},
    "another label": {"labels": {LABEL: "other"}},
    "other GPUs": {"gpus": 2},
}


@pytest.mark.parametrize("facts", OTHERS.values(), ids=OTHERS)
def test_nothing_is_learned_from_what_runs_something_else(facts: dict[str, Any]) -> None:
    assert set(bases(planned(a_job("next"), a_job("last", {H100: 40}, **facts))).values()) == {
        "Assumed"
    }


def test_a_label_says_that_programs_are_the_same() -> None:
    labels = {LABEL: "resnet"}
    other = a_template(containers=[{"name": "main", "image": "main:1", "args": ["--lr=0.1"]}])
    job = planned(
        a_job("next", labels=labels), a_job("last", {H100: 40}, labels=labels, template=other)
    )
    assert bases(job)[H100] == "Learned"


def test_a_job_that_states_its_rates_keeps_them() -> None:
    stated = a_training_job("next", rates={H100: 3, A100: 1})
    job = planned(stated, a_job("last", {H100: 40}))
    assert rate(job, H100) == 3
    assert speeds_of(job) == ()


def test_where_many_have_run_the_youngest_are_learned_of() -> None:
    old = [a_job(f"old-{n}", {H100: 10}) for n in range(70)]
    young = [a_job(f"young-{n}", {H100: 40}) for n in range(40)]
    job = planned(a_job("next"), *old, *young)
    assert rate(job, H100) == pytest.approx(40, rel=0.04)
