"""A tenant whose own queries never end keeps neither power nor another tenant's load waiting."""

import json
import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.leftovers import remove_namespace
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import a_pool, a_power_domain, an_inference_job
from support.servers.misbehaving_prometheus import Behaviour, misbehaving_prometheus

pytestmark = pytest.mark.slow

TIMEOUT_SECONDS = 2
LOAD_SECONDS = 2
ROW = {"row": "a"}
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 600}
MEASURES = ("Load", "Backlog", "Waiting", "Running", "Attainment", "Latency")


def query_in(path: str) -> str:
    return parse_qs(urlsplit(path).query)["query"][0]


class SlowForOne:
    """A Prometheus that never answers queries for `hangs`, and knows the load and the draw."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        self.hung = self.asked_for_power = 0
        self.end = threading.Event()
        behaviour.body_of = self.body

    def body(self, path: str) -> bytes:
        query = query_in(path)
        if "hangs" in query:
            self.hung += 1
            self.end.wait(30)
        if "DCGM_FI_DEV_POWER_USAGE" in query:
            self.asked_for_power += 1
        value = [time.time(), "25" if query.startswith("vector") else "1"]
        sample: dict[str, Any] = {"metric": {}, "value": value}
        result = [sample] if query.startswith("vector") else []
        return json.dumps({"status": "success", "data": {"result": result}}).encode()


@pytest.fixture(scope="module")
def slow() -> Iterator[SlowForOne]:
    with misbehaving_prometheus() as behaviour:
        slow = SlowForOne(behaviour)
        yield slow
        slow.end.set()


@pytest.fixture(scope="module")
def operator(control_plane: Cluster, slow: SlowForOne) -> Iterator[OperatorProcess]:
    settings = {
        "PLIMSOLL_PROMETHEUS_URL": slow.behaviour.url,
        "PLIMSOLL_PROMETHEUS_TIMEOUT_SECONDS": str(TIMEOUT_SECONDS),
        "PLIMSOLL_LOAD_SECONDS": str(LOAD_SECONDS),
        "PLIMSOLL_POWER_SECONDS": "1",
    }
    with forked_operator(control_plane.kubeconfig, settings) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def hostile(scene: Scene) -> Iterator[Scene]:
    """Another tenant's namespace of the same cluster."""
    name = f"hostile-{secrets.token_hex(4)}"
    scene.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    yield Scene(scene.api, name, scene.operator)
    remove_namespace(scene.api, name)


def a_service(name: str, query: str, *, roles: int = 1) -> Manifest:
    """A service of which every role asks all that can be asked for."""
    job = an_inference_job(name, loads={"NVIDIA-H100-80GB-HBM3": 10})
    (role,) = job["spec"]["roles"]
    role["replicas"] = {"min": 0, "max": 4}
    job["spec"]["roles"] = [{**role, "name": f"r{number}"} for number in range(roles)]
    measures = MEASURES if roles > 1 else ("Load",)
    job["spec"]["load"] = {"queries": [{"name": name, "query": query} for name in measures]}
    job["spec"]["scaling"] = {"down": {"stabilizationWindow": "1s"}}
    return job


def test_queries_that_never_end_cost_their_own_namespace_alone(
    scene: Scene, hostile: Scene, slow: SlowForOne
) -> None:
    scene.add_nodes(fake_node("node", gpus=8, labels=ROW))
    domain = a_power_domain("row-a", ROW, budget_watts=10_000)
    scene.apply(a_pool("p", ROW, power=POWER), domain)
    bad = [a_service(f"bad-{n}", f"hangs == {n}", roles=8) for n in range(16)]
    hostile.apply(*bad)
    wait_until(lambda: slow.hung > 4, timeout_seconds=60, what="queries hang")
    modest = a_service("modest", "vector(25)")
    scene.apply(modest)
    wait_until(
        lambda: scene.status(modest).get("roles", [{}])[0].get("wanted") == 3,
        timeout_seconds=30,
        what="the load of another tenant's service is read",
    )
    before, hung = slow.asked_for_power, slow.hung
    started = time.monotonic()
    wait_until(lambda: slow.hung > hung + 4, timeout_seconds=60, what="more queries hang")
    looks = slow.asked_for_power - before
    assert looks >= (time.monotonic() - started) / 4, "power is asked for each second"
    waiting = wait_until(
        lambda: [
            message
            for job in bad
            for each in hostile.status(job).get("conditions", ())
            if each["type"] == "LoadKnown" and "all that they may" in (message := each["message"])
        ],
        timeout_seconds=60,
        what="who asked for too much is refused",
    )
    assert f"the queries of namespace {hostile.namespace} have taken all" in waiting[0]
    assert "LoadKnown" in conditions(scene.status(modest))
    assert conditions(scene.status(modest))["LoadKnown"] == "True"
    assert scene.operator.metric("plimsoll_loop_errors_total") == 0
