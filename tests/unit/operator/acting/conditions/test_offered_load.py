import math
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

from plimsoll.acting.conditions.offered_load import FIRST_METRICS, with_load
from plimsoll.acting.jobs.release import released
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Step, Turn
from plimsoll.api.inference_job import InferenceJobStatus
from plimsoll.api.parts.conditions import condition
from plimsoll.observe.measured.demand import JobDemand, RoleDemand
from plimsoll.observe.snapshot import JobView
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_demand, at, seen, serving
from support.objects.job_manifests import an_inference_job

LATER = NOW + timedelta(minutes=10)


def a_view(job: Manifest, *demands: JobDemand) -> tuple[JobView, Turn]:
    snapshot = seen(job, now=LATER, demands=demands)
    return snapshot.jobs[0], Turn(snapshot, Occupancy(snapshot))


def after(job: Manifest, *demands: JobDemand) -> tuple[InferenceJobStatus, Step]:
    view, turn = a_view(job, *demands)
    assert view.inference is not None
    step = with_load(Step(view, view.inference.status), turn)
    assert isinstance(step.status, InferenceJobStatus)
    assert is_reported(replace(view, resource=replaced(view, step.status)), turn)
    return step.status, step


def is_reported(view: JobView, turn: Turn) -> bool:
    status = view.resource.status
    return with_load(Step(view, status), turn).status == status


def replaced(view: JobView, status: InferenceJobStatus) -> Any:  # noqa: ANN401 - a job
    return view.resource.model_copy(update={"status": status})


def a_service(**status: Any) -> Manifest:  # noqa: ANN401 - fields of a status
    return at(an_inference_job("s", role={"replicas": {"min": 1, "max": 9}}), "n-0", **status)


def test_a_measured_load_is_wanted_and_reported() -> None:
    status, step = after(a_service(), a_demand("s", load=20, attainment_percent=98.76))
    [role] = status.roles
    assert (role.name, role.loads[0].observed, role.loads[0].wanted) == ("server", 20, 20)
    assert status.load is not None
    assert (status.load.observed, status.slo_attainment_percent) == (20, Decimal("98.8"))
    known = condition(status.conditions, "LoadKnown")
    assert known is not None
    assert (known.status, known.reason) == ("True", "LoadMeasured")
    assert step.events == ()


def test_what_is_known_already_is_not_written_again() -> None:
    known, _ = after(a_service(), a_demand("s", load=20))
    view, turn = a_view(a_service(), a_demand("s", load=20.001))
    assert is_reported(replace(view, resource=replaced(view, known)), turn)


def test_a_load_that_is_not_known_changes_nothing_and_is_reported_once() -> None:
    job = serving(a_service(), server=50)
    unknown = a_demand("s", roles=(), problem="no answer to the query Load: HTTP 503")
    status, step = after(job, unknown)
    assert [load.wanted for role in status.roles for load in role.loads] == [50]
    known = condition(status.conditions, "LoadKnown")
    assert known is not None
    assert (known.status, known.message) == ("False", unknown.problem)
    assert [(event.reason, event.warning) for event in step.events] == [("LoadUnknown", True)]


def a_new_service_without_metrics(**facts: Any) -> JobDemand:  # noqa: ANN401 - of a demand
    problem = "the load of role server: no replica is ready yet"
    return a_demand("s", roles=(), problem=problem, awaits_metrics=True, **facts)


def known_at(job: Manifest, demand: JobDemand, after: timedelta) -> tuple[str, str, Step]:
    """Status and reason of `LoadKnown` so long after the job was seen first, and the step."""
    first, _ = reported_at(job, demand, timedelta(0))
    status, step = reported_at({**job, "status": first.wire()}, demand, after)
    found = condition(status.conditions, "LoadKnown")
    assert found is not None
    return found.status, found.reason, step


def reported_at(
    job: Manifest, demand: JobDemand, after: timedelta
) -> tuple[InferenceJobStatus, Step]:
    snapshot = seen(job, now=LATER + after, demands=[demand])
    [view] = snapshot.jobs
    assert view.inference is not None
    turn = Turn(snapshot, Occupancy(snapshot))
    step = with_load(Step(view, view.inference.status), turn)
    assert isinstance(step.status, InferenceJobStatus)
    return step.status, step


def test_nobody_is_warned_while_the_first_metrics_of_a_service_are_awaited() -> None:
    job, demand = a_service(), a_new_service_without_metrics()
    status, reason, step = known_at(job, demand, FIRST_METRICS / 2)
    assert (status, reason, step.events) == ("Unknown", "MetricsAwaited", ())
    assert step.again_at == LATER + FIRST_METRICS


def test_whoever_waits_in_vain_for_the_first_metrics_is_warned() -> None:
    job, demand = a_service(), a_new_service_without_metrics()
    status, reason, step = known_at(job, demand, FIRST_METRICS)
    assert (status, reason) == ("False", "LoadUnknown")
    assert [(event.reason, event.warning) for event in step.events] == [("LoadUnknown", True)]


def test_a_load_that_was_known_before_is_missed_at_once() -> None:
    first, _ = after(a_service(), a_demand("s", load=20))
    job = {**a_service(), "status": first.wire()}
    _, step = reported_at(job, a_new_service_without_metrics(), timedelta(seconds=30))
    assert [(event.reason, event.warning) for event in step.events] == [("LoadUnknown", True)]


def test_without_a_prometheus_a_service_says_so_and_what_to_do() -> None:
    view, turn = a_view(a_service())
    assert view.inference is not None
    step = with_load(Step(view, view.inference.status), replace(turn, asks_for_loads=False))
    found = condition(step.status.conditions, "LoadKnown")
    assert found is not None
    assert (found.status, found.reason) == ("False", "PrometheusNotSet")
    assert "prometheus.url" in found.message
    assert step.events == ()


def test_without_a_prometheus_a_service_of_a_fixed_size_says_nothing() -> None:
    view, turn = a_view(at(an_inference_job("s"), "n-0"))
    assert view.inference is not None
    step = with_load(Step(view, view.inference.status), replace(turn, asks_for_loads=False))
    assert not step.has_writes


def test_nothing_is_said_where_nobody_looks_at_the_load() -> None:
    status, step = after(a_service())
    assert condition(status.conditions, "LoadKnown") is None
    assert not step.has_writes


def test_a_role_whose_load_is_not_known_keeps_what_it_has_beside_one_whose_is() -> None:
    job = serving(a_service(), server=50)
    one = job["spec"]["roles"][0]
    job["spec"]["roles"] = [one, {**one, "name": "other"}]
    known = a_demand("s", load=7).roles[0]
    status, _ = after(job, a_demand("s", roles=(RoleDemand("other", known.loads),)))
    assert [role.loads[0].wanted for role in status.roles] == [50, 7]


def test_a_lower_load_waits_for_its_window() -> None:
    job = serving(a_service(), server=50)
    still = a_demand("s", load=20).roles[0].loads[0]
    roles = (RoleDemand("server", (replace(still, most_of_late=math.inf),)),)
    status, _ = after(job, a_demand("s", roles=roles))
    assert (status.roles[0].loads[0].observed, status.roles[0].loads[0].wanted) == (20, 50)


def test_the_load_outlives_the_place() -> None:
    known, _ = after(a_service(), a_demand("s", load=20))
    assert [role.loads for role in released(known).roles] == [role.loads for role in known.roles]
