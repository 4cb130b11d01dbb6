"""What made parts of the operator end, and the process with them, costs nobody anything."""

import asyncio
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from asynchronous import asynchronous
from gpu_exporter import gpu_exporter
from job_manifests import a_training_job
from plimsoll.kube.credentials import endpoint
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.faulty_proxy import FaultyProxy
from plimsoll_devcluster.operator_process import OperatorProcess
from plimsoll_devcluster.passing_on import kubeconfig_to
from plimsoll_devcluster.prometheus_program import find_prometheus
from plimsoll_devcluster.prometheus_server import PrometheusServer
from plimsoll_devcluster.waiting import PATIENCE, wait_until
from scene import Scene

SECONDS = 60
PLACED_WITHIN_SECONDS = 5 * PATIENCE
GROUP = "/apis/plimsoll.dev/v1alpha1"


def nested(depth: int) -> str:
    return '{"a":' * depth + '"bottom"' + "}" * depth


def a_deep_job(name: str, depth: int) -> bytes:
    """A job with a field of its template that nobody knows, nested so deep.

    It is suspended, for here it is about whether it is read; others plan such jobs.
    """
    job = a_training_job(name)
    job["spec"]["suspend"] = True
    job["spec"]["workers"]["template"]["spec"]["unknown"] = "NESTED"
    return json.dumps(job).replace('"NESTED"', nested(depth)).encode()


@contextmanager
def unharmed(operator: OperatorProcess) -> Generator[None]:
    """Fail where the process has ended, or where a part or a turn of it has failed."""
    pid = operator.pid
    yield
    assert operator.is_running()
    assert operator.pid == pid
    assert operator.metric("plimsoll_loop_errors_total") == 0
    assert operator.metric("plimsoll_part_restarts_total") == 0
    assert operator.probe("/readyz") == (200, "ok")


def placed_in_time(scene: Scene, name: str) -> None:
    """Make a job of another tenant's, and see that it gets its place in time."""
    job = a_training_job(name)
    begun = time.monotonic()
    scene.apply(job)
    wait_until(
        lambda: scene.status(job).get("placement"), timeout_seconds=SECONDS, what="it is placed"
    )
    assert time.monotonic() - begun < PLACED_WITHIN_SECONDS


@pytest.mark.parametrize("depth", [1000, 5000])
def test_a_job_nested_a_thousand_levels_harms_no_others(scene: Scene, depth: int) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    jobs = f"{GROUP}/namespaces/{scene.namespace}/trainingjobs"
    with unharmed(scene.operator):
        placed_in_time(scene, "before")
        scene.api.create_text(jobs, a_deep_job("deep", depth))
        placed_in_time(scene, "beside")
        scene.api.delete(f"{jobs}/deep")
        placed_in_time(scene, "after")


def test_an_operator_that_begins_beside_a_job_nested_a_thousand_levels_acts(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    jobs = f"{GROUP}/namespaces/{scene.namespace}/trainingjobs"
    scene.api.create_text(jobs, a_deep_job("deep", 1000))
    scene.operator.stop()
    scene.operator.start()
    with unharmed(scene.operator):
        placed_in_time(scene, "beside")
    scene.api.delete(f"{jobs}/deep")


@pytest.mark.parametrize("xid", ["7" * 5000, "٧٩", "²", "-79", "79.0", "NaN", ""])
def test_a_label_that_is_no_xid_harms_nobody(
    control_plane: Cluster, api: ApiServer, namespace: str, xid: str
) -> None:
    add_nodes(api, [fake_node("node", gpus=8)])
    with (
        gpu_exporter() as exporter,
        PrometheusServer(find_prometheus({}), [exporter.address]) as prometheus,
    ):
        exporter.tell_of_late("node", xid)
        asking = {"URL": prometheus.url, "SECONDS": "1", "TIMEOUT_SECONDS": "5"}
        environment = {f"PLIMSOLL_PROMETHEUS_{name}": value for name, value in asking.items()}
        with OperatorProcess(control_plane.kubeconfig, environment) as operator:
            wait_until(
                lambda: operator.metric("plimsoll_watched_gpus") == 1,
                timeout_seconds=SECONDS,
                what="the exporter is read",
            )
            with unharmed(operator):
                for _ in range(3):
                    answered = operator.metric(
                        "plimsoll_prometheus_queries_total", query="gpu_errors", outcome="Answered"
                    )
                    wait_until(
                        lambda before=answered: (
                            operator.metric(
                                "plimsoll_prometheus_queries_total",
                                query="gpu_errors",
                                outcome="Answered",
                            )
                            > before
                        ),
                        timeout_seconds=SECONDS,
                        what="it asks on",
                    )
                placed_in_time(Scene(api, namespace, operator), "beside")


JUNK = (b"", b"<html>log in</html>", b'{"items": 7}', b"\xff\xfe", b"null", b'"ok"', b"9" * 5000)


@asynchronous
async def test_answers_that_are_none_harm_nobody(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as reached:
        kubeconfig = kubeconfig_to(reached.server, control_plane.kubeconfig, tmp_path)
        operator = OperatorProcess(kubeconfig)
        scene = Scene(api, namespace, operator)
        await asyncio.to_thread(add_nodes, api, [fake_node("node", gpus=8)])
        try:
            await asyncio.to_thread(operator.start)
            proxy.answers += [web.Response(body=body) for body in JUNK * 8]
            proxy.cut()
            while proxy.answers:
                assert await asyncio.to_thread(operator.is_running)
                await asyncio.sleep(0.05)
            await asyncio.to_thread(operator.wait_ready)
            assert await asyncio.to_thread(operator.metric, "plimsoll_part_restarts_total") == 0
            await asyncio.to_thread(placed_in_time, scene, "after")
            assert await asyncio.to_thread(operator.metric, "plimsoll_loop_errors_total") == 0
            assert await asyncio.to_thread(operator.stop) == 0
        finally:
            await asyncio.to_thread(operator.kill)
