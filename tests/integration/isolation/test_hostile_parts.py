"""What made parts of the operator end, and the process with them, costs nobody anything."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.processes.prometheus_server import PrometheusServer
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.programs.prometheus_program import find_prometheus
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.proxies.passing_on import kubeconfig_to
from plimsoll_devcluster.waiting import wait_until
from support.clusters.neighbours import placed_meanwhile, unharmed
from support.clusters.scene import SECONDS, Scene
from support.programs.asynchronous import asynchronous
from support.servers.gpu_exporter import gpu_exporter

NO_XIDS = ("7" * 5000, "٧٩", "²", "-79", "79.0", "NaN", "")


@pytest.mark.slow
def test_labels_that_are_no_xids_harm_nobody(
    control_plane: Cluster, api: ApiServer, namespace: str
) -> None:
    add_nodes(api, [fake_node("node", gpus=8)])
    with (
        gpu_exporter() as exporter,
        PrometheusServer(find_prometheus({}), [exporter.scraped]) as prometheus,
    ):
        for xid in NO_XIDS:
            exporter.report_recent("node", xid)
        asking = {"URL": prometheus.url, "SECONDS": "1", "TIMEOUT_SECONDS": "5"}
        environment = {f"PLIMSOLL_PROMETHEUS_{name}": value for name, value in asking.items()}
        with forked_operator(control_plane.kubeconfig, environment) as operator:

            def answers() -> float:
                name = "plimsoll_prometheus_queries_total"
                return operator.metric(name, query="gpu_errors", outcome="Answered")

            wait_until(
                lambda: operator.metric("plimsoll_watched_gpus") == 1,
                timeout_seconds=SECONDS,
                what="the exporter is read",
            )
            with unharmed(operator):
                before = answers()
                wait_until(
                    lambda: answers() > before + 3, timeout_seconds=SECONDS, what="it asks on"
                )
                placed_meanwhile(Scene(api, namespace, operator), "beside")
            assert operator.stop() == 0


JUNK = (b"", b"<html>log in</html>", b'{"items": 7}', b"\xff\xfe", b"null", b'"ok"', b"9" * 5000)


@asynchronous
async def test_answers_that_are_none_harm_nobody(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as reached:
        kubeconfig = kubeconfig_to(reached.server, control_plane.kubeconfig, tmp_path)
        operator = forked_operator(kubeconfig)
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
            await asyncio.to_thread(placed_meanwhile, scene, "after")
            assert await asyncio.to_thread(operator.metric, "plimsoll_loop_errors_total") == 0
            assert await asyncio.to_thread(operator.stop) == 0
        finally:
            await asyncio.to_thread(operator.kill)
