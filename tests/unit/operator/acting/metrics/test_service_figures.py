from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from plimsoll.acting.metrics.service_figures import ServiceFigures
from plimsoll.observe.measured.demand import Unserved
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, NOW, a_demand, at, pods_of, seen, serving
from support.objects.job_manifests import an_inference_job


@pytest.fixture
def figures() -> Iterator[ServiceFigures]:
    figures = ServiceFigures()
    yield figures
    figures.forget()


def a_service(**spec: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A service of one to eight replicas, each of which carries one."""
    return an_inference_job("chat", role={"replicas": {"min": 1, "max": 8}}, **spec)


def published(figure: str, **labels: str) -> float | None:
    whose = {"namespace": NAMESPACE, "name": "chat", "role": "server", **labels}
    return REGISTRY.get_sample_value(f"plimsoll_service_{figure}", whose)


def test_what_the_status_wants_is_reported(figures: ServiceFigures) -> None:
    demand = a_demand("chat", load=2.5)
    figures.report(seen(serving(a_service(), server=4), demands=[demand]), advises=False)
    assert published("wanted_replicas") == 4
    assert published("wanted_load", bucket="any") == 4
    assert (
        published("observed_load", bucket="any") == published("foreseen_load", bucket="any") == 2.5
    )


def test_why_so_much_is_wanted_is_reported_while_it_is_known(figures: ServiceFigures) -> None:
    demand = a_demand("chat", load=2.5)
    figures.report(seen(a_service(), demands=[demand]), advises=False)
    names = ("forecast_quantile", "unserved_percent", "allowed_unserved_percent")
    assert [published(name, bucket="any") for name in names] == [None] * 3
    [role] = demand.roles
    unserved = Unserved(share=0.02, load=2, seconds=9000)
    [load] = (replace(each, quantile=0.97, share=0.005, unserved=unserved) for each in role.loads)
    priced = replace(demand, roles=(replace(role, loads=(load,)),))
    figures.report(seen(a_service(), demands=[priced]), advises=False)
    assert [published(name, bucket="any") for name in names] == [0.97, 2, 0.5]


def test_a_count_that_is_pinned_does_not_come_back_as_what_is_wanted(
    figures: ServiceFigures,
) -> None:
    figures.report(seen(serving(a_service(replicas=2), server=5)), advises=False)
    assert published("wanted_replicas") == 5


def test_advice_follows_the_load_though_no_status_is_written(figures: ServiceFigures) -> None:
    figures.report(seen(a_service(), demands=[a_demand("chat", load=2.9)]), advises=True)
    assert published("wanted_replicas") == 3
    figures.report(seen(a_service(), demands=[a_demand("chat", load=5.9)]), advises=True)
    assert published("wanted_replicas") == 6


def test_advice_keeps_to_the_windows_and_limits_of_scaling(figures: ServiceFigures) -> None:
    slowly = a_service(scaling={"up": {"maxPercent": 100, "period": "1m"}})
    figures.report(seen(slowly, demands=[a_demand("chat", load=2)]), advises=True)
    grown = [a_demand("chat", load=8)]
    figures.report(seen(slowly, demands=grown, now=NOW + timedelta(seconds=59)), advises=True)
    assert published("wanted_replicas") == 2
    figures.report(seen(slowly, demands=grown, now=NOW + timedelta(seconds=61)), advises=True)
    assert published("wanted_replicas") == 4


def test_advice_stays_while_the_load_is_unknown(figures: ServiceFigures) -> None:
    demand = a_demand("chat", load=2.9)
    figures.report(seen(a_service(), demands=[demand]), advises=True)
    unknown = replace(demand, roles=(), problem="gone")
    figures.report(seen(a_service(), demands=[unknown]), advises=True)
    assert published("wanted_replicas") == 3
    assert published("observed_load", bucket="any") is None


def test_of_services_that_are_gone_or_suspended_nothing_is_reported(
    figures: ServiceFigures,
) -> None:
    figures.report(seen(a_service(), demands=[a_demand("chat", load=2.9)]), advises=True)
    figures.report(seen(a_service(suspend=True)), advises=True)
    assert published("wanted_replicas") is None
    figures.report(seen(a_service()), advises=True)
    assert published("wanted_replicas") == 1
    figures.report(seen(), advises=True)
    assert published("wanted_replicas") is None


def test_who_does_not_lead_reports_nothing(figures: ServiceFigures) -> None:
    figures.report(seen(a_service()), advises=False)
    figures.forget()
    assert published("wanted_replicas") is None


def attainment(figure: str) -> float | None:
    labels = {"namespace": NAMESPACE, "name": "chat"}
    return REGISTRY.get_sample_value(f"plimsoll_service_slo_{figure}_percent", labels)


def test_the_attainment_of_the_service_level_is_reported_while_it_is_known(
    figures: ServiceFigures,
) -> None:
    service = a_service(slo={"latency": "1s", "attainmentPercent": "99.5"})
    figures.report(seen({**service, "status": {"sloAttainmentPercent": "97.25"}}), advises=False)
    assert (attainment("attainment"), attainment("objective")) == (97.25, 99.5)
    figures.report(seen(service), advises=False)
    assert (attainment("attainment"), attainment("objective")) == (None, 99.5)


def test_placed_and_ready_replicas_are_those_of_the_status(figures: ServiceFigures) -> None:
    roles = [{"name": "server", "ready": 1, "wanted": 2}]
    figures.report(seen(at(a_service(), "n-1", "n-2", roles=roles)), advises=False)
    assert (published("placed_replicas"), published("ready_replicas")) == (2, 1)
    figures.report(seen(a_service()), advises=False)
    assert (published("placed_replicas"), published("ready_replicas")) == (0, 0)


def a_pod(*, ready_after: int | None) -> list[Manifest]:
    """The service and its pod, created an hour ago, which is ready after so many seconds."""
    service = at(a_service(), "n-1")
    (pod,) = pods_of(service)
    created = NOW - timedelta(hours=1)
    pod["metadata"]["creationTimestamp"] = created.isoformat()
    condition = {"type": "Ready", "status": "False"}
    if ready_after is not None:
        since = created + timedelta(seconds=ready_after)
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": since.isoformat()}
    pod["status"]["conditions"] = [condition]
    return [service, pod]


def starts() -> tuple[float | None, float | None]:
    return published("start_seconds_count"), published("start_seconds_sum")


def test_a_start_of_a_pod_is_counted_once(figures: ServiceFigures) -> None:
    figures.report(seen(*a_pod(ready_after=None)), advises=False)
    assert starts() == (None, None)
    figures.report(seen(*a_pod(ready_after=45)), advises=False)
    figures.report(seen(*a_pod(ready_after=None)), advises=False)
    figures.report(seen(*a_pod(ready_after=3000)), advises=False)
    assert starts() == (1, 45)
    figures.report(seen(), advises=False)
    assert starts() == (None, None)


def test_what_started_before_this_replica_acted_is_not_counted(figures: ServiceFigures) -> None:
    figures.report(seen(*a_pod(ready_after=45)), advises=False)
    assert starts() == (None, None)
