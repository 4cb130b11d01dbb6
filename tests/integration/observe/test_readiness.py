"""An operator that does not know the cluster, or no longer, says so and touches nothing."""

import asyncio
import secrets
from functools import partial
from http import HTTPStatus
from pathlib import Path

import urllib3

from plimsoll.kube.http.credentials import endpoint
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import add_nodes, fake_node
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.proxies.passing_on import kubeconfig_to
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_priority_class, a_template, a_training_job
from support.programs.asynchronous import asynchronous

# Of our own kinds nothing is new here, so only watches that begin anew prove them current.
PATIENCE = {"PLIMSOLL_STALE_SECONDS": "8", "PLIMSOLL_WATCH_SECONDS": "3"}


class Watched:
    """The operator's probes, while the cluster is never quiet."""

    def __init__(self, scene: Scene, operator: OperatorProcess) -> None:
        self._scene = scene
        self._operator = operator

    def _stir(self) -> None:
        """Change one object of each kind that is watched, so that the watches have news."""
        note = {"metadata": {"annotations": {"stirred": secrets.token_hex(4)}}}
        for kind, name in (("Pod", "still"), ("PodDisruptionBudget", "still")):
            self._scene.api.merge(self._scene.path(kind, name), note)
        self._scene.api.merge(self._scene.path("PriorityClass", "still"), note)
        self._scene.node("node", note)

    def until_ready(self, status: HTTPStatus, text: str) -> None:
        """Wait until it answers so, while news never ends."""

        def answers() -> bool:
            self._stir()
            try:
                found, said = self._operator.probe("/readyz")
            except (urllib3.exceptions.HTTPError, LookupError):
                return False
            return found == status and text in said

        wait_until(answers, timeout_seconds=SECONDS, what=f"/readyz answers {status}: {text}")


STILL = [
    a_priority_class("still", 1),
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "still"},
        "spec": a_template(schedulerName="nobody")["spec"],
    },
    {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "still"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"no": "such"}}},
    },
]


@asynchronous
async def test_an_operator_without_a_view_is_not_ready_and_does_nothing(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    proxy = FaultyProxy(endpoint(control_plane.kubeconfig))
    async with proxy.running() as reached:
        kubeconfig = kubeconfig_to(reached.server, control_plane.kubeconfig, tmp_path)
        operator = forked_operator(kubeconfig, PATIENCE)
        scene = Scene(api, namespace, operator)
        watched = Watched(scene, operator)
        await asyncio.to_thread(add_nodes, api, [fake_node("node")])
        await asyncio.to_thread(scene.apply, *STILL)
        try:
            await asyncio.to_thread(operator.launch)
            proxy.fall_silent()
            await asyncio.to_thread(
                watched.until_ready, HTTPStatus.SERVICE_UNAVAILABLE, "nodes: not listed yet"
            )
            assert await asyncio.to_thread(operator.probe, "/healthz") == (200, "ok")
            proxy.speak()
            await asyncio.to_thread(watched.until_ready, HTTPStatus.OK, "ok")
            first, second = a_training_job("first"), a_training_job("second")
            await asyncio.to_thread(scene.apply, first)
            before = await asyncio.to_thread(scene.running, first)
            proxy.fall_silent()
            await asyncio.to_thread(scene.apply, second)
            await asyncio.to_thread(
                watched.until_ready,
                HTTPStatus.SERVICE_UNAVAILABLE,
                "nodes: last known to be current",
            )
            no_longer_leads = partial(operator.metric, "plimsoll_leader")
            await asyncio.to_thread(
                wait_until,
                lambda: no_longer_leads() == 0,
                timeout_seconds=SECONDS,
                what="it leads no more",
            )
            assert await asyncio.to_thread(scene.pods_of, second) == []
            proxy.speak()
            await asyncio.to_thread(watched.until_ready, HTTPStatus.OK, "ok")
            await asyncio.to_thread(scene.running, second)
            assert (await asyncio.to_thread(scene.running, first)).uids == before.uids
            assert await asyncio.to_thread(operator.stop) == 0
        finally:
            await asyncio.to_thread(operator.kill)
