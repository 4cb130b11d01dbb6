"""What Prometheus returned about a service, so that a test says only what matters."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.measured.sample import (
    Flaw,
    FlawedSample,
    NoResult,
    Outcome,
    QueryResult,
    Sample,
)
from plimsoll.signals.load.load_reading import LoadResults
from plimsoll.signals.load.queries import own_queries
from plimsoll.signals.load.role_pods import RolePods
from support.clusters.seen import NOW
from support.objects.job_manifests import an_inference_job

WINDOW = timedelta(minutes=2)
UNREACHED = NoResult(Outcome.UNAVAILABLE, "no answer within 10 s")


def a_service(
    *roles: str,
    name: str = "chat",
    uid: str = "u",
    least: int = 1,
    **spec: Any,  # noqa: ANN401 - fields of a spec
) -> InferenceJob:
    """A service of up to four replicas of each role, each of which carries ten."""
    manifest = an_inference_job(name, role={"replicas": {"min": least, "max": 4}}, **spec)
    [server] = manifest["spec"]["roles"]
    server["profiles"][0]["load"] = 10
    manifest["spec"]["roles"] = [{**server, "name": role} for role in roles or ("server",)]
    manifest["metadata"] |= {"uid": uid, "namespace": "team", "generation": 1}
    return InferenceJob.model_validate(manifest)


def a_measure(measure: str, value: float, pod: str = "", **labels: str) -> Sample:
    """One sample of the default query."""
    return Sample({"measure": measure, **({"pod": pod} if pod else {}), **labels}, value, NOW)


def a_flaw(flaw: Flaw, measure: str, pod: str) -> FlawedSample:
    """One sample of it that is no number."""
    return FlawedSample({"measure": measure, "pod": pod}, flaw, NOW)


def pods_of_role(job: InferenceJob, role: str, ready: int, *, waking: int = 0) -> RolePods:
    """So many ready replicas, and some that became so just now."""
    names = [f"{job.metadata.name}-{role}-{replica}" for replica in range(ready + waking)]
    settled = tuple(frozenset({name}) for name in names[:ready])
    return RolePods(frozenset(names), ready + waking, settled)


def load_results(
    job: InferenceJob,
    *defaults: Sample | FlawedSample | NoResult,
    ready: Mapping[str, RolePods] | int = 1,
    own: Mapping[str, Iterable[Sample] | QueryResult | NoResult] | None = None,
    now: datetime = NOW,
) -> LoadResults:
    """The answers of one look; `own` by what the query measures, the same for each role."""
    results: list[QueryResult | NoResult] = [
        each for each in defaults if isinstance(each, NoResult)
    ]
    samples = tuple(each for each in defaults if isinstance(each, Sample))
    flawed = tuple(each for each in defaults if isinstance(each, FlawedSample))
    given = own or {}
    pods = (
        {role.name: pods_of_role(job, role.name, ready) for role in job.spec.roles}
        if isinstance(ready, int)
        else ready
    )
    return LoadResults(
        job,
        [QueryResult(samples, flawed), *results],
        [(each, _result(given.get(each.measurement, ()))) for each in own_queries(job)],
        pods,
        WINDOW,
        60,
        now,
    )


def a_load(value: float, **labels: str) -> Sample:
    """One sample of a query of the user's."""
    return Sample(labels, value, NOW)


def _result(given: Iterable[Sample] | QueryResult | NoResult) -> QueryResult | NoResult:
    return given if isinstance(given, QueryResult | NoResult) else QueryResult(tuple(given))
