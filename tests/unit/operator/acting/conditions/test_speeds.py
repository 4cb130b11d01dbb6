"""A job's status says how fast it is taken to be where its spec does not."""

from typing import Any

from plimsoll.acting.conditions.speeds import speeds_of
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.job_manifests import a_training_job, without_speeds

NODES = (fake_node("h100", H100), fake_node("a100", A100))


def said(job: Manifest, *nodes: Manifest) -> dict[str, tuple[int, str]]:
    (view,) = seen(*(nodes or NODES), job).jobs
    assert view.training is not None
    return {each.type: (each.percent, each.basis) for each in speeds_of(view.training)}


def measured(**rates: str) -> dict[str, Any]:
    sizes = {"workers": 1, "seconds": 36_000}
    kinds = {"h100": H100, "a100": A100}
    return {"measured": [{**sizes, "type": kinds[kind], "rate": r} for kind, r in rates.items()]}


def test_of_a_job_that_states_nothing_all_is_assumed() -> None:
    found = said(without_speeds(a_training_job("job")))
    assert found == {H100: (100, "Assumed"), A100: (54, "Assumed")}


def test_what_was_measured_takes_its_place() -> None:
    job = without_speeds(a_training_job("job")) | {"status": measured(a100="10", h100="11")}
    found = said(job)
    assert found[H100] == (100, "Measured")
    assert found[A100][1] == "Measured"
    assert 85 <= found[A100][0] <= 97


def test_what_is_stated_of_other_types_is_told_apart() -> None:
    job = a_training_job("job", rates={A100: 10})
    job["spec"]["accelerators"].append({"type": H100})
    assert {kind: basis for kind, (_, basis) in said(job).items()} == {
        A100: "Stated",
        H100: "Assumed",
    }


def test_nothing_is_said_of_a_job_that_states_all() -> None:
    assert said(a_training_job("job", rates={A100: 10, H100: 20})) == {}


def test_nor_where_there_is_but_one_type() -> None:
    assert said(without_speeds(a_training_job("job")), NODES[0]) == {}
