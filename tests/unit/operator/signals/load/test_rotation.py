"""What one namespace's queries take, others do not wait for."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.measured.sample import NoResult, Outcome, Query, QueryResult, Sample
from plimsoll.signals.load.rotation import AT_ONCE, AT_ONCE_OF_ONE, LoadAsking
from plimsoll.signals.prometheus.connection import ConnectionTerms
from plimsoll.signals.prometheus.prometheus import Prometheus
from plimsoll.signals.prometheus.query_budget import Allowance, QueryBudget
from support.objects.load_results import a_service
from support.programs.asynchronous import asynchronous
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus

NOW = datetime.now(UTC)
ASKED = Query("own_load_queries", "x")


@pytest.fixture
def behaviour() -> Iterator[Behaviour]:
    with misbehaving_prometheus() as behaviour:
        yield behaviour


def of(namespace: str, name: str) -> InferenceJob:
    job = a_service(name=name, uid=f"{namespace}/{name}")
    meta = job.metadata.model_copy(update={"namespace": namespace})
    return job.model_copy(update={"metadata": meta})


def asking(behaviour: Behaviour, *, allowed: Allowance | None = None) -> LoadAsking:
    prometheus = Prometheus(ConnectionTerms(behaviour.url), threads=AT_ONCE)
    return LoadAsking(prometheus, allowed or Allowance(seconds=30))


def samples(count: int) -> QueryResult:
    return QueryResult(tuple(Sample({}, 1.0, NOW) for _ in range(count)))


@pytest.mark.parametrize(
    "spent",
    [(3.0, 1, 1), (0.1, 10, 1), (0.1, 1, 100)],
    ids=["time", "queries", "samples"],
)
def test_who_has_taken_all_waits_for_the_next_look_and_others_do_not(
    spent: tuple[float, int, int],
) -> None:
    budget = QueryBudget(Allowance(seconds=3, queries=10, samples=100))
    seconds, queries, found = spent
    for _ in range(queries):
        assert budget.excess("greedy") == ""
        budget.count("greedy")
        budget.spend("greedy", seconds, samples(found))
    assert budget.excess("greedy") == (
        "it waits, for the queries of namespace greedy have taken all that they may in one look:"
        " 3 s, 10 queries or 100 samples; have them ask for less"
    )
    assert budget.excess("modest") == ""
    budget.begin()
    assert budget.excess("greedy") == ""


@asynchronous
async def test_a_query_beyond_the_budget_is_not_asked(behaviour: Behaviour) -> None:
    asks = asking(behaviour, allowed=Allowance(seconds=30, queries=2))
    asks.begin()
    job = of("greedy", "one")
    results = [await asks.own(job, ASKED, NOW) for _ in range(4)]
    assert [isinstance(each, QueryResult) for each in results] == [True, True, False, False]
    assert isinstance(results[-1], NoResult)
    assert results[-1].outcome is Outcome.POSTPONED
    assert len(behaviour.paths) == 2
    assert isinstance(await asks.own(of("modest", "one"), ASKED, NOW), QueryResult)
    assert isinstance(await asks.default(job, ASKED, NOW), QueryResult), (
        "that is asked of everybody"
    )


@asynchronous
async def test_namespaces_take_turns(behaviour: Behaviour) -> None:
    jobs = [of("greedy", f"g-{n}") for n in range(50)] + [of("modest", "m")]
    asks, order = asking(behaviour), list[str]()

    async def ask(job: InferenceJob) -> None:
        order.append(job.metadata.namespace)
        await asyncio.sleep(0)

    await asks.of_all(jobs, ask)
    assert len(order) == 51
    assert "modest" in order[:AT_ONCE]


@asynchronous
async def test_a_namespace_that_hangs_has_a_part_of_what_is_asked_at_once(
    behaviour: Behaviour,
) -> None:
    jobs = [of("hangs", f"h-{n}") for n in range(8)] + [of("modest", f"m-{n}") for n in range(8)]
    asks, free, running = asking(behaviour), asyncio.Event(), list[str]()
    modest = asyncio.Event()

    async def ask(job: InferenceJob) -> None:
        running.append(job.metadata.namespace)
        if job.metadata.namespace == "hangs":
            await free.wait()
        elif running.count("modest") == 8:
            modest.set()

    asked = asyncio.create_task(asks.of_all(jobs, ask))
    async with asyncio.timeout(10):
        await modest.wait()
    assert running.count("hangs") == AT_ONCE_OF_ONE
    free.set()
    await asked


@asynchronous
async def test_failures_of_one_namespace_do_not_silence_the_others(behaviour: Behaviour) -> None:
    behaviour.hangs_up = True
    asks = asking(behaviour)
    asks.begin()
    bad, good = of("bad", "b"), of("good", "g")
    for _ in range(3):
        await asks.own(bad, ASKED, NOW)
    behaviour.hangs_up = False
    # Nobody was answered yet: Prometheus may be gone, and is not asked again in this look.
    assert isinstance(await asks.default(good, ASKED, NOW), NoResult)
    asks.begin()
    assert isinstance(await asks.default(good, ASKED, NOW), QueryResult)
    behaviour.hangs_up = True
    for _ in range(3):
        await asks.own(bad, ASKED, NOW)
    behaviour.hangs_up = False
    before = len(behaviour.paths)
    assert isinstance(await asks.own(bad, ASKED, NOW), NoResult)
    assert len(behaviour.paths) == before, "it is not asked for again in this look"
    assert isinstance(await asks.default(good, ASKED, NOW), QueryResult)


@asynchronous
async def test_who_had_to_wait_for_its_namespace_goes_first_in_the_next_look(
    behaviour: Behaviour,
) -> None:
    asks = asking(behaviour, allowed=Allowance(seconds=30, queries=2))
    jobs = [of("greedy", f"g-{n}") for n in range(6)]
    answered = list[str]()
    now = NOW

    async def ask(job: InferenceJob) -> None:
        if isinstance(await asks.own(job, ASKED, now), QueryResult):
            answered.append(job.metadata.name)

    for look in range(3):
        now = NOW + timedelta(seconds=look)
        asks.begin()
        await asks.of_all(jobs, ask)
    assert sorted(answered) == [job.metadata.name for job in jobs]


@asynchronous
async def test_histories_are_asked_for_of_whom_least_was_asked(behaviour: Behaviour) -> None:
    asks = asking(behaviour)
    asks.begin()
    greedy, modest = of("greedy", "g"), of("modest", "m")
    await asks.own(greedy, ASKED, NOW)
    assert asks.first_of_all([greedy, modest]) is modest
    assert asks.first_of_all([greedy]) is greedy
    assert asks.first_of_all([]) is None
