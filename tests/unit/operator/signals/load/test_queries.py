import re
from typing import Any

import pytest

from plimsoll.acting.pods.manifest import pod_name
from plimsoll.api.inference_job import InferenceJob, InferenceJobSpec
from plimsoll.signals.load.queries import (
    LONGEST,
    default_queries,
    own_queries,
    past_query,
    pods_pattern,
)
from plimsoll.signals.load.servers.known import METRICS
from plimsoll.signals.load.servers.terms import Scope
from support.objects.load_results import a_service

SCOPE = Scope(120, 'cluster="a"')
EVERY_OBJECTIVE = {"timeToFirstToken": "1s", "timePerOutputToken": "50ms", "latency": "10s"}


def asked(job: InferenceJob) -> str:
    return " ".join(query.promql for query in default_queries(job, SCOPE))


@pytest.mark.parametrize("pods", [1, 4])
def test_the_pattern_matches_the_pods_of_a_role_and_no_others(pods: int) -> None:
    job = a_service("server", "server-b")
    [first, other] = (role.model_copy(update={"pods_per_replica": pods}) for role in job.spec.roles)
    spec = job.spec.model_copy(update={"roles": (first, other)})
    job = job.model_copy(update={"spec": spec})
    matches = re.compile(pods_pattern(job, first)).fullmatch
    assert all(matches(pod_name(job, "server", n, n % pods)) for n in range(12))
    assert not matches(pod_name(job, "server-b", 0, 0))
    assert not matches("chat-2-server-0")


def test_the_pattern_of_a_target_matches_its_pods_and_not_those_of_its_namesakes() -> None:
    target = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "llama",
        "replicas": {"min": 1, "max": 4},
        "profiles": [{"type": "NVIDIA-L4", "load": 1}],
    }
    job = a_service()
    targeted = InferenceJobSpec.model_validate({"targetRef": target})
    spec = job.spec.model_copy(update={"target_ref": targeted.target_ref})
    job = job.model_copy(update={"spec": spec})
    matches = re.compile(pods_pattern(job, job.spec.roles[0])).fullmatch
    assert all(map(matches, ["llama-6d4cf56db6-x2x9z", "llama-0", "llama-3-1", "llama-x2x9z"]))
    assert not any(map(matches, ["llama-v2-6d4cf56db6-x2x9z", "llama-db-0", "llama"]))


def test_one_query_asks_for_all_that_a_service_is_measured_by() -> None:
    job = a_service("prefill", "decode", slo=EVERY_OBJECTIVE)
    [query] = default_queries(a_service(), SCOPE)
    assert len(default_queries(job, SCOPE)) == 3
    assert all(len(each.promql) < LONGEST for each in default_queries(job, SCOPE))
    # One more is instant: which other server's metrics there are.
    assert query.promql.count('namespace="team"') == query.promql.count("[120s]") + 1
    assert query.promql.count('cluster="a"') == query.promql.count("[120s]") + 1


def test_only_what_is_promised_is_asked_for() -> None:
    assert "_bucket" not in asked(a_service())
    assert "time_to_first_token_seconds_bucket" in asked(a_service(slo={"timeToFirstToken": "1s"}))


def test_tokens_are_asked_for_where_roles_are_measured_in_them() -> None:
    assert "tokens_total" not in asked(a_service())
    assert "prompt_tokens_total" in asked(a_service("prefill"))
    assert "generation_tokens_total" in asked(a_service("decode"))


def test_probes_are_no_load_of_a_plain_server() -> None:
    job = a_service("prefill", load={"server": "HTTP"})
    assert 'path!~"/?(metrics|health' in asked(job)
    assert "tokens" not in asked(job)


def test_the_queue_of_the_pool_is_asked_for_by_its_name() -> None:
    assert 'inference_pool="chat"' in asked(a_service(load={"server": "Gateway"}))
    named = a_service(load={"server": "Gateway", "inferencePool": "llama.v3"})
    assert 'inference_pool="llama.v3"' in asked(named)


def queries(*given: dict[str, Any]) -> list[tuple[str, str, str]]:
    job = a_service("prefill", "decode", load={"queries": list(given)})
    return [(each.measurement, each.role, each.query.promql) for each in own_queries(job)]


def test_a_query_for_each_role_is_asked_for_each() -> None:
    assert queries({"name": "Load", "query": 'x{a="$namespace/$job/$role"}'}) == [
        ("Load", "prefill", 'x{a="team/chat/prefill"}'),
        ("Load", "decode", 'x{a="team/chat/decode"}'),
    ]


def test_a_query_for_one_role_goes_before_one_for_each() -> None:
    found = queries(
        {"name": "Load", "query": "each"}, {"name": "Load", "role": "decode", "query": "own"}
    )
    assert found == [("Load", "prefill", "each"), ("Load", "decode", "own")]


def test_the_past_is_asked_for_as_the_present_is() -> None:
    own = a_service(load={"queries": [{"name": "Load", "query": "x"}]})
    assert past_query(own, own.spec.roles[0], SCOPE).promql == "x"
    job = a_service("decode")
    default = past_query(job, job.spec.roles[0], SCOPE).promql
    assert default.startswith("sum(")
    assert "generation_tokens_total" in default


@pytest.mark.parametrize("server", METRICS)
def test_each_query_about_a_server_is_short_enough_if_its_metrics_have_few_names(
    server: str,
) -> None:
    job = a_service("prefill", "decode", load={"server": server}, slo=EVERY_OBJECTIVE)
    queries = default_queries(job, SCOPE)
    if server != "HTTP":  # a term of eight names cannot be split
        assert all(len(each.promql) < LONGEST for each in queries)
    assert len(queries) <= 5


def test_only_the_named_model_counts_where_a_pod_serves_several() -> None:
    model = 'Qwen/Qwen3-8B"} or vector(9) #'
    queried = asked(a_service(load={"server": "Triton", "model": model}))
    assert 'model="Qwen\\x2fQwen3-8B\\x22' in queried
    assert "vector(9)" not in queried
    assert "model=" not in asked(a_service(load={"server": "Triton"}))
    assert "Qwen" not in asked(a_service(load={"server": "TGI", "model": model}))


def test_a_server_that_counts_no_requests_is_measured_in_tokens() -> None:
    queried = asked(a_service(load={"server": "LlamaCpp"}))
    assert "tokens_predicted_total" in queried
    assert '"Requests"' not in queried


def test_queues_of_phases_are_asked_for_where_there_are_phases() -> None:
    assert "bootstrap_queue" not in asked(a_service(load={"server": "SGLang"}))
    assert "bootstrap_queue" in asked(a_service("prefill", "decode", load={"server": "SGLang"}))


@pytest.mark.parametrize("gateway", ["InferencePool", "Envoy", "Istio", "NGINX"])
def test_a_gateway_is_asked_about_the_job_unless_another_name_is_given(gateway: str) -> None:
    load = {"server": "SGLang", "gateway": {"type": gateway}}
    named = {"server": "SGLang", "gateway": {"type": gateway, "name": "edge.v3"}}
    own, other = asked(a_service(load=load)), asked(a_service(load=named))
    assert "edge" not in own
    assert ("edge.v3" in other) or ("edge[.]v3" in other)


def test_the_times_of_a_phase_are_those_of_its_own_pods_first() -> None:
    text = asked(a_service("prefill", "decode", slo={"timeToFirstToken": "1s"}))
    histograms = [part for part in text.split("label_replace(") if "first_token" in part]
    assert "chat-prefill-" in histograms[0]
    assert "chat-decode-" not in histograms[0]
    assert "chat-decode-" in histograms[-1]


def test_types_are_told_apart_by_the_objective_of_their_role() -> None:
    job = a_service("prefill", "decode", slo=EVERY_OBJECTIVE)
    types = {"decode": {"NVIDIA-L4": ["chat-decode-0"], "NVIDIA-A100": ["chat-decode-1"]}}
    text = " ".join(query.promql for query in default_queries(job, SCOPE, types))
    assert '"TimePerOutputToken@decode@NVIDIA-L4/0"' in text
    assert "@prefill@" not in text
    assert "TimeToFirstToken@" not in text
    assert 'pod=~"chat-decode-1"' in text


def test_types_of_too_many_pods_are_not_told_apart() -> None:
    job = a_service("decode", slo=EVERY_OBJECTIVE)
    types = {"decode": {"NVIDIA-L4": [f"chat-decode-{n}" for n in range(1000)]}}
    assert default_queries(job, SCOPE, types) == default_queries(job, SCOPE)
