from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from plimsoll.acting.metrics.service_figures import ServiceFigures
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, NOW, a_demand, seen, serving
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
