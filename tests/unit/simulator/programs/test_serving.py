"""Services on the twin: the operator's own measuring, forecasting and scaling answer requests."""

import asyncio
from typing import Any

import pytest

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_simulator.cluster.api_server import Key
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.programs.request_rate import in_steps
from plimsoll_simulator.programs.serving import Service, TrueService
from plimsoll_simulator.twin import Twin, lived
from support.clusters.twin_jobs import HOUR, NAMESPACE, begin
from support.objects.job_manifests import an_inference_job

MINUTE = 60.0
LOAD = {"name": "Load", "query": 'sum(rate(requests{service="$job"}[2m]))'}


def serve(
    twin: Twin,
    name: str,
    truth: TrueService,
    *,
    most: int = 8,
    **spec: Any,  # noqa: ANN401 - fields of a job's spec
) -> Service:
    """A service whose replicas are said to answer what they truly do."""
    loads = {kind: f"{load:g}" for kind, load in truth.answers.items()}
    fields: dict[str, Any] = {"queue": "default", "load": {"queries": [LOAD]}, **spec}
    role = {"replicas": {"min": 1, "max": most}, **fields.pop("role", {})}
    job = an_inference_job(name, loads=loads, role=role, **fields)
    job["metadata"]["namespace"] = NAMESPACE
    twin.serve(job, truth)
    return twin.serving.services()[-1]


def test_replicas_follow_the_requests() -> None:
    rates = [1.0] * 60 + [5.0] * 60 + [1.0] * 60
    truth = TrueService(in_steps(rates), {H100: 1.0}, start_seconds=60)
    counts: list[int] = []

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        service = serve(twin, "chat", truth)
        for _ in range(3):
            await asyncio.sleep(HOUR - MINUTE)
            counts.append(len(service.replicas))
            await asyncio.sleep(MINUTE)

    [service] = lived(story).serving.services()
    assert counts[0] in (1, 2)
    assert counts[1] >= 5
    assert counts[2] in (1, 2)
    assert service.came == pytest.approx(sum(rates) * MINUTE)
    # At first nothing serves, and for some minutes after the load has risen too little does.
    missed = service.came - service.answered
    assert 60 * 1.0 <= missed <= 5 * MINUTE * 5.0


@pytest.mark.slow
def test_what_comes_beyond_all_replicas_is_missed() -> None:
    truth = TrueService(in_steps([10.0] * 120), {H100: 1.0}, start_seconds=30)

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        serve(twin, "chat", truth, most=4)
        await asyncio.sleep(2 * HOUR)

    [service] = lived(story).serving.services()
    assert service.came == pytest.approx(10 * 2 * HOUR)
    assert service.answered == pytest.approx(4 * 2 * HOUR, rel=0.05)
    assert service.answered < 4 * 2 * HOUR


def test_a_replica_answers_as_much_as_its_gpu_type_does() -> None:
    truth = TrueService(in_steps([10.0] * 60), {A100: 2.0, H100: 5.0})

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", A100, 1), gpu_node("b", H100, 1))
        serve(twin, "chat", truth)
        await asyncio.sleep(HOUR)

    [service] = lived(story).serving.services()
    assert sorted(service.replicas.values()) == [2.0, 5.0]


@pytest.mark.slow
def test_a_replica_that_drains_answers_nothing_more() -> None:
    rates = [2.0] * 30 + [0.5] * 60
    truth = TrueService(in_steps(rates), {H100: 1.0}, start_seconds=5)
    counts: list[tuple[int, int]] = []

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 8))
        role = {"drain": "10m"}
        service = serve(twin, "chat", truth, role=role)
        for _ in range(90):
            await asyncio.sleep(MINUTE)
            counts.append((len([*twin.api.all("pods")]), len(service.replicas)))

    lived(story)
    assert max(ready for _, ready in counts) >= 2
    # They are still there, and end later.
    assert any(there > ready == 1 for there, ready in counts[30:])
    assert counts[-1] == (1, 1)


@pytest.mark.slow
def test_with_its_node_a_replica_stops_answering_and_another_takes_its_place() -> None:
    truth = TrueService(in_steps([1.0] * 180), {H100: 1.0}, start_seconds=60)
    seen: list[float] = []

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("a", H100, 1))
        service = serve(twin, "chat", truth, most=1)
        await asyncio.sleep(HOUR)
        [replica] = service.replicas
        twin.apply(gpu_node("b", H100, 1))
        twin.api.remove(Key("nodes", "", "a"))
        seen.append(len(service.replicas))
        await asyncio.sleep(HOUR)
        seen.append(len(service.replicas))
        assert replica not in service.replicas

    [service] = lived(story).serving.services()
    assert seen == [0, 1]
    assert service.came - service.answered <= 2 * (60 + 60)


@pytest.mark.slow
def test_what_is_known_from_before_is_forecast() -> None:
    """Load rises each day at the same hour: on the eighth day less is missed then."""

    def missed(past_days: int) -> float:
        rise = [1.0 + 5.0 * minute / 60 for minute in range(60)]
        day = [1.0] * 720 + rise + [6.0] * 660
        begins = -past_days * 24 * HOUR
        rate = in_steps(day * (past_days + 1), begins=begins)
        truth = TrueService(rate, {H100: 1.0}, start_seconds=120)

        async def story(twin: Twin) -> None:
            begin(twin, gpu_node("a", H100, 8))
            await asyncio.sleep(11 * HOUR)
            service = serve(twin, "chat", truth, slo={"attainmentPercent": "99.95"})
            await asyncio.sleep(HOUR - 10 * MINUTE)
            twin.serving.services()
            service.came = service.answered = 0.0
            await asyncio.sleep(80 * MINUTE)

        [service] = lived(story).serving.services()
        return service.came - service.answered

    assert missed(past_days=7) < 0.5 * missed(past_days=0)


def test_who_asks_the_same_as_another_is_refused() -> None:
    async def story(twin: Twin) -> None:
        begin(twin)
        truth = TrueService(in_steps([1.0]), {H100: 1.0})
        query = {"name": "Load", "query": "load"}
        serve(twin, "chat", truth, load={"queries": [query]})
        with pytest.raises(ValueError, match="code: another service asks the same"):
            serve(twin, "code", truth, load={"queries": [query]})

    lived(story)


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ({"load": {}}, "chat: give it a query for Load"),
        ({"role": {"podsPerReplica": 2, "gpusPerReplica": 2}}, "chat: give it one role of one pod"),
    ],
)
def test_what_the_twin_cannot_serve_is_refused(spec: dict[str, Any], why: str) -> None:
    fields: dict[str, Any] = {"load": {"queries": [LOAD]}, **spec}
    job = an_inference_job("chat", **fields)

    async def story(twin: Twin) -> None:
        with pytest.raises(ValueError, match=why):
            twin.serve(job, TrueService(in_steps([1.0]), {H100: 1.0}))

    lived(story)
