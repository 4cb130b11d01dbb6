"""A real Prometheus scrapes a real exporter, and the operator does what follows from it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import NODES, add_nodes, fake_node
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer, Scraped
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.objects.job_manifests import a_policy
from support.servers.gpu_exporter import GpuExporter, gpu_exporter

SECONDS = 60
TAINT = "plimsoll.dev/quarantine"
AGE = "plimsoll_prometheus_answer_age_seconds"
# For a Prometheus that wants the password "right", which is hashed here with bcrypt.
HASH = "$2b$04$Nst4wv.gBJm2eyOcQ6eWkOyIUIBoFGbnRTH..fIzjrFbudTBpC4Im"
USERS = {"basic_auth_users": {"plimsoll": HASH}}


@pytest.fixture
def exporter() -> Iterator[GpuExporter]:
    with gpu_exporter() as exporter:
        yield exporter


@pytest.fixture
def prometheus(prometheus_program: Path, exporter: GpuExporter) -> Iterator[PrometheusServer]:
    with PrometheusServer(prometheus_program, [exporter.scraped]) as server:
        yield server


def asking(url: str, **settings: str) -> dict[str, str]:
    """The environment of an operator that asks this Prometheus every second."""
    given = {"URL": url, "SECONDS": "1", "TIMEOUT_SECONDS": "5", **settings}
    return {f"PLIMSOLL_PROMETHEUS_{name}": value for name, value in given.items()}


def taints(api: ApiServer, node: str) -> list[str]:
    return [taint["key"] for taint in api.get(f"{NODES}/{node}")["spec"].get("taints", [])]


def until(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, timeout_seconds=SECONDS, what=what)


def messages(api: ApiServer, node: str) -> list[str]:
    events = api.items("/apis/events.k8s.io/v1/events?fieldSelector=reason=Quarantined")
    return [event["note"] for event in events if event["regarding"]["name"] == node]


def warnings(operator: OperatorProcess) -> list[dict[str, object]]:
    """What was logged of questions without an answer."""
    return [line for line in operator.log_lines() if "no answer" in str(line["event"])]


def test_a_node_is_left_when_its_gpu_breaks_and_stays_so_without_prometheus(
    control_plane: Cluster, api: ApiServer, exporter: GpuExporter, prometheus: PrometheusServer
) -> None:
    add_nodes(api, [fake_node(name, gpus=4) for name in ("breaks", "broken", "crashes")])
    all_may_go = a_policy(quarantine={"maxNodesPercent": 100})
    api.apply("/apis/plimsoll.dev/v1alpha1/placementpolicies/default", all_may_go)
    exporter.report("broken", 79)  # for weeks, as far as anybody knows
    exporter.report("breaks", 0)
    exporter.report("crashes", 0)
    with forked_operator(control_plane.kubeconfig, asking(prometheus.url)) as operator:
        until(lambda: operator.metric("plimsoll_watched_gpus") == 3, "all GPUs are watched")
        exporter.report("crashes", 31)
        exporter.report("breaks", 79)
        until(lambda: TAINT in taints(api, "breaks"), "the node is quarantined")
        said = "XID 79 of GPU 0 (GPU-breaks-0): it has fallen off the bus"
        until(lambda: said in messages(api, "breaks"), "the event says why")
        assert operator.metric("plimsoll_faulty_gpus") == 1

        earlier = len(warnings(operator))
        prometheus.stop()
        until(lambda: operator.metric(AGE, query="watched_gpus") > 3, "the answer grows old")
        logged = warnings(operator)[earlier:]
        assert {line["outcome"] for line in logged} == {"Unavailable"}
        assert len({line["query"] for line in logged}) == len(logged), "each query once"
        assert TAINT in taints(api, "breaks")

        prometheus.start()
        until(lambda: operator.metric(AGE, query="watched_gpus") < 3, "it is answered again")
        assert [TAINT in taints(api, name) for name in ("breaks", "broken", "crashes")] == [
            True,
            False,
            False,
        ]
        assert operator.stop() == 0


@pytest.mark.slow
def test_with_the_wrong_password_nothing_is_done_and_the_log_says_why(
    control_plane: Cluster,
    api: ApiServer,
    exporter: GpuExporter,
    prometheus_program: Path,
    tmp_path: Path,
) -> None:
    add_nodes(api, [fake_node("breaks", gpus=4)])
    exporter.report("breaks", 0)
    for name, content in (("user", "plimsoll"), ("password", "wrong")):
        (tmp_path / name).write_text(content)
    files = {"USERNAME_FILE": f"{tmp_path}/user", "PASSWORD_FILE": f"{tmp_path}/password"}
    with (
        PrometheusServer(prometheus_program, [exporter.scraped], web_config=USERS) as server,
        forked_operator(control_plane.kubeconfig, asking(server.url, **files)) as operator,
    ):
        refused = {"query": "watched_gpus", "outcome": "Refused"}
        queries = "plimsoll_prometheus_queries_total"
        until(lambda: operator.metric(queries, **refused) > 1, "it is refused")
        [line] = warnings(operator)
        assert line["error"] == "HTTP 401: the token or the password is not accepted"
        assert "wrong" not in operator.log.read_text()
        assert operator.metric(AGE, query="watched_gpus") == float("inf")
        assert operator.metric("plimsoll_watched_gpus") == 0

        (tmp_path / "password").write_text("right")
        until(lambda: operator.metric("plimsoll_watched_gpus") == 1, "it is let in")
        exporter.report("breaks", 48)
        until(lambda: TAINT in taints(api, "breaks"), "the node is quarantined")
        assert operator.stop() == 0


def test_what_a_tenants_pod_reports_of_gpus_counts_for_nothing(
    control_plane: Cluster, api: ApiServer, exporter: GpuExporter, prometheus_program: Path
) -> None:
    add_nodes(api, [fake_node(name, gpus=4) for name in ("victim", "breaks")])
    exporter.report("breaks", 0)
    with gpu_exporter() as forger:
        forger.report("victim", 0)
        tenant = Scraped(forger.address, {"namespace": "tenant", "pod": "forger"})
        with (
            PrometheusServer(prometheus_program, [exporter.scraped, tenant]) as server,
            forked_operator(control_plane.kubeconfig, asking(server.url)) as operator,
        ):
            until(lambda: operator.metric("plimsoll_watched_gpus") == 1, "one GPU is watched")
            until(lambda: has(server, forger.address), "the tenant's pod is scraped, too")
            forger.report("victim", 79)
            until(lambda: has(server, forger.address, value=79), "and what it says is known")
            exporter.report("breaks", 79)
            until(lambda: TAINT in taints(api, "breaks"), "the node is quarantined")
            assert TAINT not in taints(api, "victim")
            assert operator.stop() == 0


def has(server: PrometheusServer, instance: str, *, value: float = 0) -> bool:
    """Whether Prometheus knows this last XID of a GPU of that exporter."""
    query = f'DCGM_FI_DEV_XID_ERRORS{{instance="{instance}"}} == {value}'
    return bool(server.ask("query", query=query)["result"])
