from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.parts.load import ServiceLevel
from plimsoll.observe.measured.demand import BucketDemand, JobDemand, RoleDemand, TypeReading
from plimsoll.signals.load.capacity_book import CapacityBook, latency_share, lateness_of
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_placement.estimate.serving.margin import Lateness
from support.clusters.seen import NOW, a_demand
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


def a_look(load: float, seconds_to_first_token: float, *, late: float | None = None) -> JobDemand:
    """`late`: the share of requests that surely were, if a histogram tells."""
    shares = {} if late is None else {"TimeToFirstToken": late}
    latencies = {"TimeToFirstToken": seconds_to_first_token}
    return a_demand("s", load=load, latencies=latencies, late=shares)


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


BURSTS = (a_look(16, 0.5, late=0.0), a_look(16, 0.9, late=0.1))


def test_bursts_that_break_the_promise_are_provided_for_though_most_looks_keep_it() -> None:
    calm = [replace(look, late={}) for look in BURSTS]
    now_each = 8
    assert learned(a_service(h100=2), *calm)[H100] > now_each
    assert learned(a_service(h100=2), *BURSTS)[H100] < now_each


@pytest.mark.slow
def test_a_promise_that_no_replicas_can_keep_costs_no_more_than_four_times_as_many() -> None:
    assert learned(a_service(h100=2), a_look(4, 9.0, late=1.0), times=600) == {H100: 2.5}


def test_who_promises_everything_may_still_come_back_from_a_bad_minute() -> None:
    everything = ServiceLevel(attainment_percent=Decimal(100))
    lateness = lateness_of(everything, "server", {})
    assert lateness is None, "nothing is promised of times"
    everything = everything.model_copy(update={"time_to_first_token": timedelta(seconds=1)})
    lateness = lateness_of(everything, "server", {"TimeToFirstToken": 0.0})
    assert lateness == Lateness(0.0, 0.0005)


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


PROMISED = ServiceLevel(
    time_to_first_token=timedelta(seconds=1), time_per_output_token=timedelta(seconds=0.05)
)


def exact(**seconds: float) -> dict[str, tuple[float, float]]:
    return {name: (time, time) for name, time in seconds.items()}


def test_the_worst_of_several_promises_counts() -> None:
    latencies = exact(TimeToFirstToken=0.5, TimePerOutputToken=0.1, Latency=9.0)
    assert latency_share(PROMISED, "server", latencies) == (2.0, 2.0)
    assert latency_share(PROMISED, "server", exact(Latency=9.0)) is None


@pytest.mark.parametrize(("role", "share"), [("prefill", 0.5), ("decode", 2.0)])
def test_each_phase_is_told_by_its_own_objective(role: str, share: float) -> None:
    latencies = exact(TimeToFirstToken=0.5, TimePerOutputToken=0.1, Latency=9.0)
    assert latency_share(PROMISED, role, latencies) == (share, share)
    whole = PROMISED.model_copy(update={"latency": timedelta(seconds=3)})
    assert latency_share(whole, role, latencies) == (share, share)


def test_a_phase_without_an_objective_is_told_by_whole_requests_alone() -> None:
    only_first = ServiceLevel(time_to_first_token=timedelta(seconds=1))
    assert latency_share(only_first, "decode", exact(TimeToFirstToken=9.0)) is None
    whole = only_first.model_copy(update={"latency": timedelta(seconds=3)})
    assert latency_share(whole, "decode", exact(TimeToFirstToken=9.0, Latency=6.0)) == (2.0, 2.0)


def in_phases() -> InferenceJob:
    """Two replicas of each phase, each of which carries a hundred tokens a second."""
    profiles = [{"type": H100, "load": 100}]
    slo = {"timeToFirstToken": "1s", "timePerOutputToken": "50ms"}
    manifest = an_inference_job("s", role={"profiles": profiles}, slo=slo)
    [server] = manifest["spec"]["roles"]
    manifest["spec"]["roles"] = [{**server, "name": name} for name in ("prefill", "decode")]
    pools = [{"pool": "p", "acceleratorType": H100, "ready": 2}]
    roles = [{"name": name, "pools": pools} for name in ("prefill", "decode")]
    manifest["metadata"] |= {"uid": "u", "namespace": "team", "generation": 1}
    return InferenceJob.model_validate({**manifest, "status": {"roles": roles}})


@pytest.mark.parametrize(
    ("first_token", "output_token", "slow"), [(4.0, 0.049, "prefill"), (0.99, 0.2, "decode")]
)
def test_a_slow_phase_leaves_the_other_alone(
    first_token: float, output_token: float, slow: str
) -> None:
    job, book = in_phases(), CapacityBook()
    steady = BucketDemand(180, 180, 180, 180, 180)
    roles = tuple(RoleDemand(role.name, (steady,)) for role in job.spec.roles)
    latencies = {"TimeToFirstToken": first_token, "TimePerOutputToken": output_token}
    for _ in range(30):
        book.look(job, JobDemand("u", NOW, roles, latencies=latencies), MINUTE)
    found = {role.name: [each.load for each in book.learned(job, role)] for role in job.spec.roles}
    [believed] = found.pop(slow)
    [other] = found.values()
    assert believed < 90
    assert all(85 < load < 100 * 1.05 for load in other)


def test_types_that_serve_at_once_are_learned_each_from_its_own_replicas() -> None:
    job, book = a_service(h100=2, a100=2), CapacityBook()
    h100 = TypeReading(H100, 2, 18, {"TimeToFirstToken": (0.4, 0.4)})
    a100 = TypeReading(A100, 2, 12, {"TimeToFirstToken": (4.0, 4.0)})
    demand = BucketDemand(30, 30, 30, 30, 30)
    roles = (RoleDemand("server", (demand,), types=(h100, a100)),)
    for _ in range(30):
        book.look(job, JobDemand("u", NOW, roles, latencies={"TimeToFirstToken": 4.0}), MINUTE)
    found = {each.gpu_type: each.load for each in book.learned(job, job.spec.roles[0])}
    assert found[H100] > 10
    assert found[A100] < 5.5


def test_several_sizes_are_corrected_alike() -> None:
    job = a_service(h100=2)
    [role] = job.spec.roles
    sizes = [
        {"type": H100, "bucket": "short", "load": 10},
        {"type": H100, "bucket": "long", "load": 2},
    ]
    role = type(role).model_validate({**role.model_dump(by_alias=True), "profiles": sizes})
    job = job.model_copy(update={"spec": job.spec.model_copy(update={"roles": (role,)})})
    loads = tuple(
        BucketDemand(load, load, load, load, load, bucket)
        for bucket, load in (("short", 9), ("long", 2))
    )
    book, demand = CapacityBook(), JobDemand("u", NOW, (RoleDemand("server", loads),))
    slow = replace(demand, latencies={"TimeToFirstToken": 4.0})
    for _ in range(30):
        book.look(job, slow, MINUTE)
    found = {each.bucket: each.load for each in book.learned(job, role)}
    assert found["short"] == pytest.approx(5 * found["long"])
    assert found["short"] < 8.5


def test_a_size_of_which_nothing_is_known_is_no_evidence() -> None:
    job, book = a_service(a100=2), CapacityBook()
    loads = (BucketDemand(9, 9, 9, 9, 9, "short"), BucketDemand(2, 2, 2, 2, 2, "long"))
    demand = JobDemand(
        "u", NOW, (RoleDemand("server", loads),), latencies={"TimeToFirstToken": 4.0}
    )
    book.look(job, demand, MINUTE)
    assert book.learned(job, job.spec.roles[0]) == ()
