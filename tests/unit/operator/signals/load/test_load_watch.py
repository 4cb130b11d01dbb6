import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from prometheus_client import REGISTRY

from plimsoll.api.inference_job import BucketLoad, InferenceJob, RoleStatus
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.measured.demand import JobDemand
from plimsoll.observe.snapshot import PodView
from plimsoll.observe.views.pods import pod_view
from plimsoll.planning.serving.replicas import is_measured
from plimsoll.signals.load import load_watch
from plimsoll.signals.load.load_watch import LoadTerms, LoadWatch
from plimsoll.signals.load.role_pods import asleep, drain_seconds
from plimsoll.signals.load.rotation import AT_ONCE, UNREACHABLE_AFTER
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from support.clusters.seen import objects_of
from support.objects.load_results import a_service
from support.programs.asynchronous import asynchronous, until
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus

NOW = datetime.now(UTC)
SECOND, WINDOW = timedelta(seconds=1), timedelta(seconds=60)


@pytest.fixture
def behaviour() -> Iterator[Behaviour]:
    with misbehaving_prometheus() as behaviour:
        yield behaviour


@dataclass
class Cluster:
    """Services, and pods of theirs that are ready since long ago."""

    jobs: Sequence[InferenceJob] = field(default_factory=tuple)
    node_start: timedelta = timedelta()
    awake: set[str] | None = None

    def services(self) -> Sequence[InferenceJob]:
        return self.jobs

    def pods_of_services(self) -> list[PodView]:
        awake = self.awake
        return [a_pod(job) for job in self.jobs if awake is None or job.metadata.uid in awake]

    def node_start_time(self) -> timedelta:
        return self.node_start


def a_pod(job: InferenceJob, *, start: timedelta = 90 * SECOND) -> PodView:
    name = f"{job.metadata.name}-server-0"
    labels = {
        "plimsoll.dev/role": "server",
        "plimsoll.dev/replica": "0",
        "plimsoll.dev/job-uid": job.metadata.uid,
    }
    since = NOW - timedelta(hours=1)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": (since + start).isoformat()}
    pod = {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": since.isoformat()},
        "status": {"conditions": [ready]},
    }
    return pod_view(next(iter(objects_of(pod).pods)), Requests())


def vector(*series: tuple[dict[str, str], float]) -> bytes:
    now = datetime.now(UTC).timestamp()
    result = [{"metric": labels, "value": [now, f"{value}"]} for labels, value in series]
    return json.dumps({"status": "success", "data": {"result": result}}).encode()


def query_in(path: str) -> str:
    return parse_qs(urlsplit(path).query)["query"][0]


def serving(load: float) -> bytes:
    """What a Prometheus says of one replica of the service `chat`."""
    return vector(({"measure": "Requests", "pod": "chat-server-0"}, load))


class Scene:
    """A watch whose Prometheus is the misbehaving one; `news` counts when it woke somebody."""

    def __init__(self, behaviour: Behaviour, *jobs: InferenceJob, seconds: int = 1) -> None:
        self.cluster = Cluster(jobs or (a_service(),))
        self.news = 0
        self.prometheus = Prometheus(ConnectionTerms(behaviour.url))
        terms = LoadTerms(seconds=seconds, window_seconds=60)
        self.watch = LoadWatch(self.prometheus, self.cluster, self._woken, terms=terms)

    def _woken(self) -> None:
        self.news += 1

    async def look(self, after: timedelta = timedelta()) -> JobDemand:
        """What is known of the first service then."""
        await self.watch.look(NOW + after)
        return self.watch.current()[0]


def observed(demand: JobDemand) -> dict[str, float]:
    role = demand.of("server")
    return {load.bucket: load.observed for load in role.loads} if role else {}


@asynchronous
async def test_who_turns_the_loop_is_woken_by_news_alone(behaviour: Behaviour) -> None:
    scene, behaviour.body = Scene(behaviour), serving(5)
    demand = await scene.look()
    assert (observed(demand), demand.problem) == ({"any": 5}, "")
    assert scene.news == 1
    await scene.look(SECOND)
    assert scene.news == 1
    behaviour.body = serving(6)
    await scene.look(2 * SECOND)
    assert scene.news == 2
    scene.prometheus.close()


@asynchronous
async def test_what_was_known_holds_for_as_long_as_a_look_reaches_back(
    behaviour: Behaviour,
) -> None:
    scene, behaviour.body = Scene(behaviour), serving(5)
    await scene.look()
    behaviour.status = 503
    held = await scene.look(WINDOW)
    assert (observed(held), held.problem) == ({"any": 5}, "")
    lost = await scene.look(WINDOW + SECOND)
    assert observed(lost) == {}
    assert "Prometheus gives no answer: HTTP 503" in lost.problem
    behaviour.status = 200
    back = await scene.look(WINDOW + 2 * SECOND)
    assert (observed(back), back.problem) == ({"any": 5}, "")
    scene.prometheus.close()


@asynchronous
async def test_data_that_is_not_there_yet_is_awaited_and_a_failure_is_not(
    behaviour: Behaviour,
) -> None:
    scene, behaviour.body = Scene(behaviour), vector()
    assert (await scene.look()).awaits_metrics
    behaviour.status = 503
    assert not (await scene.look(SECOND)).awaits_metrics
    scene.prometheus.close()


@asynchronous
async def test_gaps_are_counted(behaviour: Behaviour) -> None:
    scene, behaviour.body = Scene(behaviour), vector()
    before = REGISTRY.get_sample_value("plimsoll_load_gaps_total", {"gap": "NoData"}) or 0
    await scene.look()
    scene.prometheus.close()
    assert REGISTRY.get_sample_value("plimsoll_load_gaps_total", {"gap": "NoData"}) == before + 1


@asynchronous
async def test_a_prometheus_that_is_silent_is_not_asked_for_all(behaviour: Behaviour) -> None:
    jobs = [a_service(name=f"s-{n}", uid=f"u-{n}") for n in range(20)]
    scene, behaviour.status = Scene(behaviour, *jobs), 503
    await scene.look()
    scene.prometheus.close()
    assert UNREACHABLE_AFTER <= len(behaviour.paths) <= UNREACHABLE_AFTER + AT_ONCE
    assert len(scene.watch.current()) == 20
    assert all("Prometheus gives no answer" in each.problem for each in scene.watch.current())


@asynchronous
async def test_a_service_that_is_never_answered_keeps_no_other_from_being_asked(
    behaviour: Behaviour,
) -> None:
    jobs = [a_service(name=f"s-{n}", uid=f"u-{n}") for n in range(9)]
    scene = Scene(behaviour, *jobs)
    bad = {f"s-{n}" for n in range(UNREACHABLE_AFTER)}

    def name_in(path: str) -> str:
        return query_in(path).partition('pod=~"')[2].partition("-server")[0]

    behaviour.status_of = lambda path: 503 if name_in(path) in bad else 200
    behaviour.body_of = lambda path: vector(
        ({"measure": "Requests", "pod": f"{name_in(path)}-server-0"}, 1.0)
    )
    for seconds in range(4):
        await scene.look(seconds * SECOND)
    scene.prometheus.close()
    known = [each.job_uid for each in scene.watch.current() if each.roles]
    assert len(known) == len(jobs) - len(bad)


@asynchronous
async def test_sizes_that_nothing_comes_in_any_more_fade_with_the_window(
    behaviour: Behaviour,
) -> None:
    wanted = BucketLoad.model_validate({"bucket": "long", "wanted": 3, "since": NOW})
    status = RoleStatus(name="server", loads=(wanted,))
    job = a_service(load={"queries": [{"name": "Load", "query": "x"}]})
    job = job.model_copy(update={"status": job.status.model_copy(update={"roles": (status,)})})
    scene = Scene(behaviour, job)
    behaviour.body = vector(({"bucket": "short"}, 2.0))
    assert observed(await scene.look()) == {"short": 2, "long": 0}
    behaviour.body = vector(({}, 2.0))
    assert observed(await scene.look(SECOND)) == {"any": 2}
    scene.prometheus.close()


@pytest.mark.slow
@asynchronous
async def test_the_past_is_asked_for_once_and_only_by_who_leads(behaviour: Behaviour) -> None:
    scene, behaviour.body = Scene(behaviour), serving(5)
    leads = [False]
    running = asyncio.create_task(scene.watch.run(lambda: leads[0]))
    await asyncio.sleep(0)
    assert behaviour.paths == []
    leads[0] = True
    await until(lambda: len(behaviour.paths) > 3)
    assert scene.watch.current()
    leads[0] = False
    await until(lambda: not scene.watch.current())
    running.cancel()
    scene.prometheus.close()
    assert sum("/query_range" in path for path in behaviour.paths) == 1


@pytest.mark.slow
@asynchronous
async def test_a_service_that_sleeps_is_looked_at_more_often_than_one_that_serves(
    behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load_watch, "ASLEEP_SECONDS", 0.05)
    own: Any = {"queries": [{"name": "Load", "query": "counted_in_front"}]}
    asleep = a_service(name="asleep", uid="a", least=0, load=own)
    scene = Scene(behaviour, a_service(), asleep, seconds=300)
    scene.cluster.awake = {"u"}
    behaviour.body_of = lambda path: (
        vector(({}, 0.0)) if "counted" in query_in(path) else serving(5)
    )
    leads = [True]
    running = asyncio.create_task(scene.watch.run(lambda: leads[0]))

    def looks(word: str) -> int:
        return sum(word in query_in(path) for path in behaviour.paths if "range" not in path)

    await until(lambda: looks("counted_in_front") > 3)
    woken = scene.news
    behaviour.body_of = lambda path: vector(({}, 4.0)) if "counted" in path else serving(5)
    await until(lambda: scene.news > woken)
    assert looks("chat-server") == 1
    assert {demand.job_uid for demand in scene.watch.current()} == {"u", "a"}
    leads[0] = False
    await until(lambda: not scene.watch.current())
    running.cancel()
    scene.prometheus.close()


@pytest.mark.parametrize(
    ("least", "pods", "spec"),
    [
        (0, 1, {"load": {"queries": [{"name": "Load", "query": "x"}]}}),
        (1, 0, {"load": {"queries": [{"name": "Load", "query": "x"}]}}),
        (0, 0, {}),
        (0, 0, {"load": {"queries": [{"name": "Load", "query": "x"}]}, "suspend": True}),
    ],
    ids=["it has pods", "it waits for room", "only replicas are measured", "it is suspended"],
)
def test_what_has_no_replica_sleeps_only_if_a_request_can_wake_it(
    least: int, pods: int, spec: dict[str, Any]
) -> None:
    job = a_service(least=least, **spec)
    assert not list(asleep([job], [a_pod(job)] * pods))


def test_only_services_whose_load_matters_are_asked_for() -> None:
    service = a_service()
    [role] = service.spec.roles
    fixed = role.model_copy(update={"replicas": role.replicas.model_copy(update={"min": 4})})

    def with_spec(**fields: object) -> InferenceJob:
        return service.model_copy(update={"spec": service.spec.model_copy(update=fields)})

    assert is_measured(service)
    assert is_measured(with_spec(replicas=2))
    assert not is_measured(with_spec(suspend=True))
    assert not is_measured(with_spec(roles=(fixed,)))
    promised = a_service(slo={"latency": "1s"}).spec.slo
    assert is_measured(with_spec(roles=(fixed,), slo=promised))


@pytest.mark.parametrize(("node_start", "foreseen"), [(0, 2), (10, 8)])
@asynchronous
async def test_what_is_expected_reaches_as_far_as_a_new_node_takes(
    behaviour: Behaviour, node_start: int, foreseen: float
) -> None:
    # Without a history, that is the most of as long before, up to three minutes.
    scene = Scene(behaviour, a_service(load={"forecast": {"horizon": "1m"}}))
    scene.cluster.node_start = timedelta(minutes=node_start)
    behaviour.body = serving(8)
    await scene.look()
    behaviour.body = serving(2)
    role = (await scene.look(timedelta(minutes=2))).of("server")
    assert role is not None
    assert [load.foreseen for load in role.loads] == [foreseen]
    scene.prometheus.close()


def test_those_that_wait_are_to_be_served_while_a_replica_starts() -> None:
    job = a_service(load={"forecast": {"horizon": "10m"}})
    assert drain_seconds(job, 90 * SECOND) == 90
    assert drain_seconds(job, SECOND) == 30
    assert drain_seconds(job, None) == 600


ODD: dict[str, tuple[dict[str, object], object]] = {
    "no labels": ({}, "1"),
    "a measure that nobody knows": ({"measure": "x" * 5000, "pod": "chat-server-0"}, "1"),
    "a pod that nobody knows": ({"measure": "Requests", "pod": "x" * 5000}, "1e15"),
    "more than there can be": ({"measure": "Requests", "pod": "other"}, "1e308"),
    "less than nothing": ({"measure": "Requests", "pod": "other"}, "-1"),
    "no number": ({"measure": "Running", "pod": "other"}, "NaN"),
    "a value of 5,000 digits": ({"measure": "Running", "pod": "other"}, "9" * 5000),
    "labels that are no texts": ({"measure": 7, "pod": ["chat-server-0"]}, "1"),
    "a bound that is no number": ({"measure": "Latency/a", "le": "x" * 5000}, "1"),
    "a bound of 5,000 digits": ({"measure": "Latency/a", "le": "9" * 5000}, "1"),
    "a bound below nothing": ({"measure": "Latency/a", "le": "-1"}, "1e15"),
    "a bound that is NaN": ({"measure": "Latency/a", "le": "NaN"}, "1"),
}


@pytest.mark.parametrize(("labels", "value"), ODD.values(), ids=ODD.keys())
@asynchronous
async def test_an_odd_series_costs_no_other(
    behaviour: Behaviour, labels: object, value: object
) -> None:
    def with_odd(_path: str) -> bytes:
        whole = json.loads(serving(3))
        odd = {"metric": labels, "value": [datetime.now(UTC).timestamp(), value]}
        whole["data"]["result"] += [odd, odd]
        return json.dumps(whole).encode()

    behaviour.body_of = with_odd
    scene = Scene(behaviour)
    assert observed(await scene.look()) == {"any": 3}
    scene.prometheus.close()
