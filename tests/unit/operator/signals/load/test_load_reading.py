import math
from datetime import timedelta

import pytest

from plimsoll.api.parts.roles import ANY_SIZE
from plimsoll.observe.measured.demand import TypeReading
from plimsoll.observe.measured.sample import Flaw, NoResult, Outcome, QueryResult
from plimsoll.signals.load.job_reading import JobReading, job_reading
from plimsoll.signals.load.load_reading import Gap
from plimsoll.signals.load.role_pods import RolePods
from support.clusters.seen import NOW
from support.objects.load_results import (
    UNREACHED,
    a_flaw,
    a_load,
    a_measure,
    a_service,
    load_results,
    pods_of_role,
)

POD = "chat-server-0"
SERVES_FIVE = (a_measure("Requests", 5, POD), a_measure("Running", 4, POD))
OWN_LOAD = {"queries": [{"name": "Load", "query": "x"}]}


def load(reading: JobReading, role: str = "server") -> float:
    return reading.loads[role][ANY_SIZE]


def gap(reading: JobReading, role: str = "server") -> Gap:
    assert role not in reading.loads
    return reading.unknown[role].gap


def test_the_replicas_of_a_role_are_added_up() -> None:
    others = (a_measure("Requests", 7, "chat-server-1"), a_measure("Requests", 9, "other-0"))
    assert load(job_reading(load_results(a_service(), *SERVES_FIVE, *others, ready=2))) == 12


def test_what_queues_up_is_offered_too() -> None:
    growth = (a_measure("RunningGrowth", 12, POD), a_measure("WaitingGrowth", 108, POD))
    queue = a_measure("Waiting", 120, POD)
    reading = job_reading(load_results(a_service(), *SERVES_FIVE, *growth, queue))
    assert load(reading) == 5 + (12 + 108) / 120 + 120 / 60
    assert reading.running_requests == {POD: 124}


def test_a_queue_of_a_pod_that_is_gone_waits_no_more() -> None:
    gone = a_measure("Waiting", 120, "chat-server-7")
    assert load(job_reading(load_results(a_service(), *SERVES_FIVE, gone))) == 5


def test_prefill_and_decode_are_measured_in_their_tokens() -> None:
    job = a_service("prefill", "decode")
    first, last = "chat-prefill-0", "chat-decode-0"
    samples = (
        a_measure("Requests", 2, first),
        a_measure("PromptTokens", 4000, first),
        a_measure("Requests", 2, last),
        a_measure("GenerationTokens", 600, last),
        a_measure("PromptTokens", 7, last),
        a_measure("Waiting", 6, last),
    )
    reading = job_reading(load_results(job, *samples))
    assert load(reading, "prefill") == 4000
    assert load(reading, "decode") == 600 + 300 * 6 / 60


def test_tokens_of_those_that_wait_are_unknown_while_none_is_answered() -> None:
    pod = "chat-decode-0"
    samples = (a_measure("Running", 1, pod), a_measure("Waiting", 6, pod))
    reading = job_reading(load_results(a_service("decode"), *samples))
    assert gap(reading, "decode") is Gap.NO_DATA
    assert "6 requests of role decode wait" in reading.unknown["decode"].message


@pytest.mark.parametrize("flaw", list(Flaw))
@pytest.mark.parametrize("measure", ["Requests", "Waiting", "RunningGrowth"])
def test_a_value_that_is_none_makes_the_load_unknown(flaw: Flaw, measure: str) -> None:
    reading = job_reading(load_results(a_service(), *SERVES_FIVE, a_flaw(flaw, measure, POD)))
    assert gap(reading) is Gap.FLAWED
    assert f"{measure} of {POD}" in reading.unknown["server"].message


def test_a_negative_rate_is_no_rate() -> None:
    reading = job_reading(load_results(a_service(), a_measure("Requests", -1, POD)))
    assert gap(reading) is Gap.FLAWED


def test_without_an_answer_nothing_is_known() -> None:
    reading = job_reading(load_results(a_service(), UNREACHED))
    assert gap(reading) is Gap.NO_ANSWER
    assert "Prometheus gives no answer: no answer within 10 s" in reading.unknown["server"].message


def test_ready_replicas_that_nothing_is_known_of_are_named() -> None:
    reading = job_reading(load_results(a_service(), ready=3))
    assert gap(reading) is Gap.NO_DATA
    assert "3 of the 3 ready replicas of role server" in reading.unknown["server"].message


def test_a_few_silent_replicas_are_taken_to_have_as_much_as_the_others() -> None:
    samples = [a_measure("Requests", 6, f"chat-server-{replica}") for replica in range(3)]
    assert load(job_reading(load_results(a_service(), *samples, ready=4))) == 24


def test_many_silent_replicas_make_the_load_unknown() -> None:
    reading = job_reading(load_results(a_service(), *SERVES_FIVE, ready=2))
    assert gap(reading) is Gap.PART_OF_DATA


def test_a_replica_that_became_ready_just_now_need_not_report_yet() -> None:
    job = a_service()
    pods = {"server": pods_of_role(job, "server", 1, waking=3)}
    assert load(job_reading(load_results(job, *SERVES_FIVE, ready=pods))) == 5


def test_a_replica_reports_by_any_of_its_pods() -> None:
    pods = RolePods(frozenset({POD, "b"}), 1, (frozenset({POD, "b"}),))
    assert load(job_reading(load_results(a_service(), *SERVES_FIVE, ready={"server": pods}))) == 5


def test_a_role_that_starts_does_not_say_how_to_wake_it() -> None:
    reading = job_reading(load_results(a_service(), *SERVES_FIVE, ready=0))
    assert gap(reading) is Gap.NO_REPLICA
    assert reading.unknown["server"].message == (
        "role server has no ready replica that could be measured"
    )


def test_a_sleeping_role_says_what_would_wake_it() -> None:
    reading = job_reading(load_results(a_service(least=0), *SERVES_FIVE, ready=0))
    assert gap(reading) is Gap.NO_REPLICA
    assert "counts requests before they reach a replica" in reading.unknown["server"].message


def test_a_sleeping_role_wakes_by_the_queue_in_front_of_it() -> None:
    job = a_service("server", "decode", load={"server": "Gateway"})
    reading = job_reading(load_results(job, a_measure("FrontQueue", 30), ready=0))
    assert load(reading) == 0.5
    assert load(reading, "decode") > 0


def test_without_reporting_replicas_the_pool_reports_what_waits_at_them() -> None:
    job = a_service(load={"server": "Gateway"})
    samples = (a_measure("Requests", 5, POD), a_measure("PoolQueue", 60))
    assert load(job_reading(load_results(job, *samples))) == 6
    more = a_measure("Waiting", 120, POD)
    assert load(job_reading(load_results(job, *samples, more))) == 7


def test_an_idle_http_replica_is_known_by_its_scrapes() -> None:
    job = a_service(load={"server": "HTTP"})
    up = [a_measure("Scraped", 1, f"chat-server-{replica}") for replica in range(2)]
    assert load(job_reading(load_results(job, a_measure("Requests", 5, POD), *up, ready=2))) == 5
    assert gap(job_reading(load_results(job, *up, ready=2))) is Gap.NO_DATA


def test_a_query_of_the_users_stands_in_for_the_default() -> None:
    job = a_service(load=OWN_LOAD)
    reading = job_reading(
        load_results(job, UNREACHED, own={"Load": [a_load(3), a_load(4)]}, ready=0)
    )
    assert load(reading) == 7


def test_request_sizes_are_told_apart_by_the_label_bucket() -> None:
    samples = [a_load(3, bucket="short"), a_load(4, bucket="long"), a_load(1, bucket="long")]
    reading = job_reading(load_results(a_service(load=OWN_LOAD), own={"Load": samples}))
    assert reading.loads["server"] == {"short": 3, "long": 5}


@pytest.mark.parametrize(
    ("result", "kind", "words"),
    [
        (QueryResult(), Gap.NO_DATA, "the query for Load of role server finds nothing"),
        (NoResult(Outcome.REFUSED, "parse error"), Gap.REFUSED, "refuses it: parse error"),
        (QueryResult((), (a_flaw(Flaw.NAN, "", ""),)), Gap.FLAWED, "gives not a number"),
        (QueryResult(tuple(a_load(1, bucket=f"{n}") for n in range(65))), Gap.FLAWED, "65 buckets"),
    ],
)
def test_a_query_of_the_users_that_fails_is_named(
    result: QueryResult | NoResult, kind: Gap, words: str
) -> None:
    reading = job_reading(
        load_results(a_service(load=OWN_LOAD), *SERVES_FIVE, own={"Load": result})
    )
    assert gap(reading) is kind
    assert words in reading.unknown["server"].message


def test_a_backlog_is_done_by_its_deadline() -> None:
    until = NOW + timedelta(hours=2)
    job = a_service(load={"queries": BACKLOG, "deadline": until.isoformat()})
    assert load(job_reading(load_results(job, own={"Backlog": [a_load(72_000)]}))) == 10
    assert load(job_reading(load_results(job, own={"Backlog": [a_load(0)]}))) == 0
    inadmissible = job_reading(load_results(job, own={"Backlog": [a_load(1e9)]}))
    assert load(inadmissible) == 4 * 10


def test_past_the_deadline_all_that_is_allowed_is_wanted() -> None:
    job = a_service(load={"queries": BACKLOG, "deadline": NOW.isoformat()})
    late = job_reading(load_results(job, own={"Backlog": [a_load(1)]}))
    assert load(late) == 4 * 10
    assert (late.remark, late.backlog) == ("", {"server": {"any": 1}})
    done = job_reading(load_results(job, own={"Backlog": [a_load(0)]}))
    assert (load(done), done.remark) == (0, "")


def test_a_backlog_is_reported_only_where_it_has_a_deadline() -> None:
    job = a_service(load={"queries": BACKLOG})
    assert (
        job_reading(load_results(job, *SERVES_FIVE, own={"Backlog": [a_load(120)]})).backlog == {}
    )


def test_a_backlog_without_a_deadline_is_load_beside_what_comes() -> None:
    job = a_service(load={"queries": BACKLOG})
    assert load(job_reading(load_results(job, *SERVES_FIVE, own={"Backlog": [a_load(120)]}))) == 7


BACKLOG = [{"name": "Backlog", "query": "x"}]
SLO = {"timeToFirstToken": "500ms", "latency": "10s", "attainmentPercent": 90}


def test_the_promise_that_is_kept_least_counts() -> None:
    buckets = (
        a_measure("TimeToFirstToken/0", 9, le="0.5"),
        a_measure("TimeToFirstToken/0", 10, le="+Inf"),
        a_measure("Latency/0", 9.5, le="10"),
        a_measure("Latency/0", 10, le="+Inf"),
    )
    reading = job_reading(load_results(a_service(slo=SLO), *SERVES_FIVE, *buckets))
    assert reading.attainment_percent == 90
    assert reading.latencies == {"TimeToFirstToken": 0.5, "Latency": pytest.approx(10 * 9 / 9.5)}
    assert reading.late == pytest.approx({"TimeToFirstToken": 0.1, "Latency": 0.05})


def test_a_query_for_a_latency_tells_nothing_of_who_was_late() -> None:
    job = a_service(slo=SLO, load={"queries": [{"name": "TimeToFirstToken", "query": "x"}]})
    buckets = (
        a_measure("TimeToFirstToken/0", 9, le="0.5"),
        a_measure("TimeToFirstToken/0", 10, le="+Inf"),
    )
    own = {"TimeToFirstToken": [a_load(0.7)]}
    reading = job_reading(load_results(job, *SERVES_FIVE, *buckets, own=own))
    assert reading.late == {}
    assert reading.latency_ranges == {"TimeToFirstToken": (0.7, 0.7)}


@pytest.mark.parametrize(
    ("mean", "expected"), [(None, (0.5, 1.0)), (0.6, (0.6, 0.75)), (0.1, (0.5, 1.0))]
)
def test_a_latency_lies_in_its_bucket_and_near_the_mean_if_that_does(
    mean: float | None, expected: tuple[float, float]
) -> None:
    buckets = [
        a_measure("TimeToFirstToken/0", value, le=le)
        for le, value in (("0.5", 5), ("1", 10), ("+Inf", 10))
    ]
    means = [a_measure("TimeToFirstToken/0", mean, le="mean")] if mean is not None else []
    reading = job_reading(load_results(a_service(slo=SLO), *SERVES_FIVE, *buckets, *means))
    assert reading.latency_ranges["TimeToFirstToken"] == pytest.approx(expected)
    assert expected[0] <= reading.latencies["TimeToFirstToken"] <= expected[1]


def test_a_latency_beyond_all_buckets_has_no_bound() -> None:
    buckets = (
        a_measure("TimeToFirstToken/0", 1, le="0.5"),
        a_measure("TimeToFirstToken/0", 10, le="+Inf"),
    )
    reading = job_reading(load_results(a_service(slo=SLO), *SERVES_FIVE, *buckets))
    assert reading.latency_ranges["TimeToFirstToken"] == (0.5, math.inf)


def test_what_piles_up_before_prefill_is_a_load_of_decode_to_come() -> None:
    job = a_service("prefill", "decode")
    first, last = "chat-prefill-0", "chat-decode-0"
    samples = (
        a_measure("Requests", 2, first),
        a_measure("PromptTokens", 4000, first),
        a_measure("WaitingGrowth", 120, first),
        a_measure("Requests", 2, last),
        a_measure("GenerationTokens", 600, last),
    )
    reading = job_reading(load_results(job, *samples))
    assert load(reading, "decode") == 600 + 300 * 120 / 120
    assert load(reading, "prefill") == 4000 + 2000 * 120 / 120
    growth = a_measure("WaitingGrowth", 120, last)
    reading = job_reading(load_results(job, *samples[:2], *samples[3:], growth))
    assert load(reading, "prefill") == 4000


def test_what_each_of_several_types_did_is_told_apart() -> None:
    job = a_service("decode", slo={"timePerOutputToken": "50ms", "timeToFirstToken": "1s"})
    names = [frozenset({f"chat-decode-{number}"}) for number in range(3)]
    types = {"NVIDIA-L4": tuple(names[:2]), "NVIDIA-A100": (names[2],)}
    pods = RolePods(frozenset[str]().union(*names), 3, tuple(names), types)
    samples = [a_measure("GenerationTokens", 100 + n, f"chat-decode-{n}") for n in range(3)]
    buckets = [
        a_measure(f"TimePerOutputToken@decode@{kind}/0", 1, le=le)
        for kind, bounds in (("NVIDIA-L4", ("0.1", "+Inf")), ("NVIDIA-A100", ("0.05", "+Inf")))
        for le in bounds
    ]
    done = a_measure("Requests", 1, "chat-decode-0")
    reading = job_reading(load_results(job, *samples, *buckets, done, ready={"decode": pods}))
    assert reading.types["decode"] == (
        TypeReading(
            "NVIDIA-A100", 1, 102, {"TimePerOutputToken": (0.0, 0.05)}, {"TimePerOutputToken": 0}
        ),
        TypeReading(
            "NVIDIA-L4", 2, 201, {"TimePerOutputToken": (0.0, 0.1)}, {"TimePerOutputToken": 0}
        ),
    )


def test_of_two_metrics_for_one_thing_the_better_counts() -> None:
    buckets = (
        a_measure("TimePerOutputToken/1", 1, le="0.1"),
        a_measure("TimePerOutputToken/1", 1, le="+Inf"),
        a_measure("TimePerOutputToken/0", 0, le="0.1"),
        a_measure("TimePerOutputToken/0", 4, le="+Inf"),
    )
    job = a_service(slo={"timePerOutputToken": "100ms"})
    assert job_reading(load_results(job, *SERVES_FIVE, *buckets)).attainment_percent == 0


def test_promises_of_which_nothing_is_measured_are_unknown() -> None:
    reading = job_reading(load_results(a_service(slo=SLO), *SERVES_FIVE))
    assert (reading.attainment_percent, reading.latencies) == (None, {})


def test_the_user_may_say_what_is_attained_and_how_long_it_takes() -> None:
    names = ("Attainment", "Latency", "Running")
    job = a_service(load={"queries": [{"name": name, "query": "x"} for name in names]}, slo=SLO)
    own = {"Attainment": [a_load(0.97)], "Latency": [a_load(3)], "Running": [a_load(8, pod=POD)]}
    reading = job_reading(load_results(job, *SERVES_FIVE, own=own))
    assert reading.attainment_percent == 97
    assert reading.latencies == {"Latency": 3}
    assert reading.running_requests == {POD: 8}


@pytest.mark.parametrize(
    ("result", "remark"),
    [
        (NoResult(Outcome.REFUSED, "no"), "the query for Attainment of role server"),
        (UNREACHED, ""),
        (QueryResult((), (a_flaw(Flaw.NAN, "", ""),)), ""),
        (QueryResult(), ""),
    ],
)
def test_a_wrong_query_beside_the_load_is_reported_and_the_load_still_counts(
    result: QueryResult | NoResult, remark: str
) -> None:
    job = a_service(load={"queries": [{"name": "Attainment", "query": "x"}]})
    reading = job_reading(load_results(job, *SERVES_FIVE, own={"Attainment": result}))
    assert load(reading) == 5
    assert reading.attainment_percent is None
    assert reading.remark.startswith(remark)
    assert bool(reading.remark) == bool(remark)


def test_requests_that_found_no_replica_are_load_of_one_that_sleeps() -> None:
    job = a_service(least=0, load={"gateway": {"type": "Istio"}})
    reading = job_reading(load_results(job, a_measure("Unserved", 3), ready=0))
    assert load(reading) == 3


def test_a_request_that_found_no_replica_wakes_prefill_and_decode() -> None:
    job = a_service("prefill", "decode", least=0, load={"gateway": {"type": "Istio"}})
    reading = job_reading(load_results(job, a_measure("Unserved", 0.5), ready=0))
    assert all(0 < load(reading, role) < 10 for role in ("prefill", "decode"))


def test_a_gateway_that_turned_nobody_away_lets_a_role_sleep() -> None:
    job = a_service(least=0, load={"gateway": {"type": "NGINX"}})
    assert load(job_reading(load_results(job, a_measure("Unserved", 0), ready=0))) == 0


def test_a_gateway_that_says_nothing_is_named() -> None:
    job = a_service(least=0, load={"gateway": {"type": "Envoy", "name": "front"}})
    reading = job_reading(load_results(job, ready=0))
    assert gap(reading) is Gap.NO_REPLICA
    assert "Envoy reports no requests for front" in reading.unknown["server"].message


@pytest.mark.parametrize("flaw", ["NaN", "Infinite", "Absurd"])
def test_a_gateways_value_that_is_none_makes_the_load_unknown(flaw: Flaw) -> None:
    job = a_service(least=0, load={"gateway": {"type": "Istio"}})
    results = load_results(job, a_measure("FrontQueue", 1), a_flaw(flaw, "Unserved", ""), ready=0)
    assert gap(job_reading(results)) is Gap.FLAWED


def test_replicas_with_several_queues_have_the_requests_of_all() -> None:
    waits = a_measure("Waiting", 60, POD)
    also = a_measure("Waiting", 30, POD, queue="2")
    assert load(job_reading(load_results(a_service(), *SERVES_FIVE, waits, also))) == 5 + 1.5


def test_what_waits_at_a_server_that_counts_no_requests_wants_what_the_others_get() -> None:
    job = a_service(load={"server": "LlamaCpp"})
    flows = (a_measure("GenerationTokens", 100, POD), a_measure("Running", 2, POD))
    assert load(job_reading(load_results(job, *flows, a_measure("Waiting", 3, POD)))) == 250
    stuck = (a_measure("GenerationTokens", 0, POD), a_measure("Waiting", 3, POD))
    assert gap(job_reading(load_results(job, *stuck))) is Gap.NO_DATA


def test_the_kv_cache_is_used_as_much_as_on_average_over_the_pods() -> None:
    used = (a_measure("KVCache", 0.4, POD), a_measure("KVCache", 0.8, "chat-server-1"))
    reading = job_reading(load_results(a_service(), *SERVES_FIVE, *used, ready=2))
    assert reading.kv_cache_used == {"server": pytest.approx(0.6)}
    assert job_reading(load_results(a_service(), *SERVES_FIVE)).kv_cache_used == {}


def test_a_server_of_another_kind_is_named_only_if_it_is_known() -> None:
    seen = a_measure("Server", 1, server="tgi_queue_size")
    said = job_reading(load_results(a_service(), seen)).unknown["server"].message
    assert said.endswith("it has Text Generation Inference's: set spec.load.server: TGI")
    strange = a_measure("Server", 1, server="up")
    said = job_reading(load_results(a_service(), strange)).unknown["server"].message
    assert "set spec" not in said


def test_an_idle_replica_of_a_server_that_only_counts_is_known_by_its_scrapes() -> None:
    job = a_service(load={"server": "TensorRTLLM"})
    served = a_measure("Requests", 6, POD)
    scraped = [a_measure("Scraped", 1, f"chat-server-{each}") for each in range(3)]
    assert load(job_reading(load_results(job, served, *scraped, ready=3))) == 6
    running = a_measure("Running", 1, POD)
    assert (
        gap(job_reading(load_results(job, served, running, *scraped, ready=3))) is Gap.PART_OF_DATA
    )
