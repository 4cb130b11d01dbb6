from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.signals.load.capacity_book import CapacityBook, latency_share
from plimsoll_devcluster.gpu_models import A100, H100
from support.clusters.seen import a_demand
from support.objects.job_manifests import an_inference_job

MINUTE = 60.0


def a_service(*, measured: float | None = None, generation: int = 1, **ready: int) -> InferenceJob:
    """A service whose replicas carry 10 on an H100 by its profile; of an A100 nothing is stated."""
    kinds = {"h100": H100, "a100": A100}
    profiles = [{"type": H100, "load": 10}, {"type": A100}]
    manifest = an_inference_job("s", role={"profiles": profiles}, slo={"timeToFirstToken": "1s"})
    pools = [{"pool": "p", "acceleratorType": kinds[k], "ready": n} for k, n in ready.items()]
    role: dict[str, Any] = {"name": "server", "pools": pools}
    if measured is not None:
        role["measured"] = [{"type": H100, "bucket": "any", "load": str(measured), "seconds": 7200}]
    manifest["metadata"] |= {"uid": "u", "namespace": "team", "generation": generation}
    return InferenceJob.model_validate({**manifest, "status": {"roles": [role]}})


def a_look(load: float, seconds_to_first_token: float) -> JobDemand:
    return a_demand("s", load=load, latencies={"TimeToFirstToken": seconds_to_first_token})


def learned(job: InferenceJob, *looks: JobDemand, times: int = 30) -> dict[str, float]:
    book = CapacityBook()
    for look in looks * times:
        book.look(job, look, MINUTE)
    return {each.gpu_type: each.load for each in book.learned(job, job.spec.roles[0])}


def test_slow_replicas_are_believed_to_carry_less_than_stated() -> None:
    found = learned(a_service(h100=2), a_look(18, 4.0), a_look(10, 1.2))
    assert set(found) == {H100}
    assert found[H100] < 7


def test_that_a_profile_is_right_is_no_news() -> None:
    assert learned(a_service(h100=2), a_look(20, 1.0), times=3) == {}


def test_quick_ones_are_believed_to_carry_more() -> None:
    found = learned(a_service(h100=2), a_look(18, 0.5), a_look(10, 0.3))
    assert 10 < found[H100] < 9 * 1.35


def test_of_a_type_without_a_profile_the_first_load_is_believed_to_be_right() -> None:
    found = learned(a_service(a100=4), a_look(40, 1.0), times=1)
    assert found == {A100: pytest.approx(10)}


def test_what_was_measured_before_a_restart_is_believed_first() -> None:
    found = learned(a_service(h100=1, measured=5), a_look(5, 1.0), times=3)
    assert found == {H100: pytest.approx(5)}


def test_a_mix_of_types_says_nothing_of_any() -> None:
    assert learned(a_service(h100=2, a100=2), a_look(18, 4.0)) == {}


def test_without_an_objective_or_a_load_nothing_is_learned() -> None:
    look = a_look(18, 4.0)
    assert learned(a_service(h100=2), replace(look, latencies={})) == {}
    assert learned(a_service(h100=2), a_look(0, 0.1)) == {}
    assert learned(a_service(), look) == {}


def test_a_changed_spec_begins_anew() -> None:
    book, job = CapacityBook(), a_service(h100=2)
    book.look(job, a_look(18, 4.0), MINUTE)
    changed = a_service(h100=2, generation=2)
    book.look(changed, a_look(0, 0.1), MINUTE)
    assert book.learned(changed, changed.spec.roles[0]) == ()
    book.look(changed, a_look(18, 4.0), MINUTE)
    book.forget_others([])
    assert book.learned(changed, changed.spec.roles[0]) == ()


def test_the_worst_of_several_promises_counts() -> None:
    promised = ServiceLevel(
        time_to_first_token=timedelta(seconds=1), time_per_output_token=timedelta(seconds=0.05)
    )
    latencies = {"TimeToFirstToken": 0.5, "TimePerOutputToken": 0.1, "Latency": 9.0}
    assert latency_share(promised, latencies) == 2.0
    assert latency_share(promised, {"Latency": 9.0}) is None
