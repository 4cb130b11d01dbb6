from typing import Any

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.parts.roles import Role
from plimsoll.planning.serving.replicas import Service, services, wanted_replicas
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import serving
from support.objects.job_manifests import an_inference_job

BETWEEN_1_AND_9: Manifest = {"replicas": {"min": 1, "max": 9}}


def asked(role: Manifest = BETWEEN_1_AND_9, *, gpus: int = 1, **loads: Any) -> Service:  # noqa: ANN401
    job = parsed(an_inference_job("s", gpus=gpus, loads={H100: 4, A100: 1}, role=role), **loads)
    return service(job, job.spec.roles[0])


def service(job: InferenceJob, role: Role) -> Service:
    """Of a role whose requests go anywhere."""
    (only,) = services(job, role).values()
    return only


def parsed(manifest: Manifest, **loads: Any) -> InferenceJob:  # noqa: ANN401
    manifest["metadata"] |= {"uid": "u", "namespace": "team"}
    return InferenceJob.model_validate(serving(manifest, **loads) if loads else manifest)


def replicas_of(found: Service, kind: str) -> int:
    """How many replicas of one type carry what is wanted."""
    return -(-found.wanted_load // found.yields[kind])


def test_without_a_known_load_the_fewest_replicas_are_wanted_of_whatever_type() -> None:
    assert asked() == Service({H100: 1000, A100: 1000}, 1000, 1)


@pytest.mark.parametrize(
    ("load", "of_h100", "of_a100"), [(8, 2, 8), (8.1, 3, 9), (1, 1, 1), (0.1, 1, 1), (4, 1, 4)]
)
def test_as_many_replicas_of_one_type_are_wanted_as_carry_the_load(
    load: float, of_h100: int, of_a100: int
) -> None:
    found = asked(server=load)
    assert (replicas_of(found, H100), replicas_of(found, A100)) == (of_h100, of_a100)


def test_what_a_load_is_worth_are_the_gpus_that_it_takes() -> None:
    assert asked(gpus=2, server=8.1).wanted_milli == pytest.approx(3 * 2000, rel=0.01)


def test_few_strong_replicas_do_not_stand_in_for_the_fewest_allowed() -> None:
    found = asked({"replicas": {"min": 3, "max": 9}}, server=5)
    assert (replicas_of(found, H100), replicas_of(found, A100), found.fewest) == (2, 5, 3)
    idle = asked({"replicas": {"min": 3, "max": 9}}, server=1)
    assert (replicas_of(idle, H100), replicas_of(idle, A100), idle.fewest) == (3, 3, 0)


@pytest.mark.parametrize(("h100", "a100", "wanted"), [(2, 1, 3), (1, 1, 3), (0, 4, 5), (2, 0, 3)])
def test_a_mix_of_the_fewest_allowed_that_carries_the_load_is_enough(
    h100: int, a100: int, wanted: int
) -> None:
    loads = {H100: 4, A100: 1}
    role: Manifest = {"replicas": {"min": 3, "max": 9}}
    job = parsed(an_inference_job("s", loads=loads, role=role), server=5)
    places = [_place(number, kind) for number, kind in enumerate((H100,) * h100 + (A100,) * a100)]
    assert wanted_replicas(job, job.spec.roles[0], places) == wanted


def test_no_more_replicas_are_wanted_than_are_allowed() -> None:
    assert asked({"replicas": {"min": 1, "max": 4}}, server=100).most == 4


def test_nothing_is_wanted_where_no_load_is_and_none_need_be() -> None:
    sleepy: Manifest = {"replicas": {"min": 0, "max": 4}}
    assert asked(sleepy, server=0) == Service({H100: 1000, A100: 1000}, 0, 0)
    assert asked(sleepy, server=0.01).most == 1


def test_a_pinned_count_goes_before_the_load() -> None:
    manifest = an_inference_job("s", role=BETWEEN_1_AND_9)
    manifest["spec"]["replicas"] = 5
    job = parsed(manifest, server=1)
    assert service(job, job.spec.roles[0]) == Service({H100: 1000}, 5000, 5)


def test_what_was_measured_goes_before_what_was_stated() -> None:
    manifest = serving(an_inference_job("s", loads={H100: 4}, role=BETWEEN_1_AND_9), server=8)
    measured = {"type": H100, "bucket": "any", "load": 2, "seconds": 600}
    manifest["status"]["roles"][0]["measured"] = [measured]
    job = parsed(manifest)
    assert replicas_of(service(job, job.spec.roles[0]), H100) == 4


def test_a_type_of_which_nothing_is_known_carries_nothing_beside_one_that_is_known() -> None:
    profiles = [{"type": H100, "load": 4}, {"type": A100}]
    role = {**BETWEEN_1_AND_9, "profiles": profiles}
    assert set(asked(role, server=8).yields) == {H100}


def test_sizes_of_requests_share_a_replicas_time() -> None:
    profiles = [
        {"type": H100, "bucket": "short", "load": 10},
        {"type": H100, "bucket": "long", "load": 1},
    ]
    manifest = an_inference_job("s", role={**BETWEEN_1_AND_9, "profiles": profiles})
    manifest = serving(manifest, server=5)
    [short] = manifest["status"]["roles"][0]["loads"]
    loads = [{**short, "bucket": "short"}, {**short, "bucket": "long", "wanted": "2"}]
    manifest["status"]["roles"][0]["loads"] = loads
    job = parsed(manifest)
    assert replicas_of(service(job, job.spec.roles[0]), H100) == 3


@pytest.mark.parametrize(
    ("placed", "wanted"),
    [((), 2), ((H100,), 2), ((H100, H100), 2), ((A100,), 3), ((A100,) * 8, 8)],
)
def test_what_is_placed_counts_towards_what_is_wanted(placed: tuple[str, ...], wanted: int) -> None:
    manifest = an_inference_job("s", loads={H100: 4, A100: 1}, role=BETWEEN_1_AND_9)
    job = parsed(manifest, server=8)
    places = [_place(number, kind) for number, kind in enumerate(placed)]
    assert wanted_replicas(job, job.spec.roles[0], places) == wanted


def _place(number: int, kind: str) -> Assignment:
    return Assignment(
        role="server", replica=number, nodes=("n",), pool="", accelerator_type=kind, revision=1
    )


@pytest.mark.parametrize("load", ["1e15", "1e18"])
@pytest.mark.parametrize("carried", ["1e-300", "1e-9", 4])
def test_what_no_replicas_allowed_could_carry_is_no_more_than_ten_times_these(
    load: str, carried: str | int
) -> None:
    manifest = an_inference_job("s", loads={H100: carried, A100: 1}, role=BETWEEN_1_AND_9)
    job = parsed(manifest, server=load)
    found = service(job, job.spec.roles[0])
    assert found.most == 9
    assert 9000 < found.wanted_milli <= 90_000
    assert wanted_replicas(job, job.spec.roles[0], ()) == 9


def test_types_keep_their_ratio_however_large_the_load() -> None:
    found = asked(server=10**12)
    assert found.yields[H100] == 4 * found.yields[A100]
