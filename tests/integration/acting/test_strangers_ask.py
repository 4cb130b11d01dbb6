"""Whoever reaches the workers' endpoint keeps neither Lease nor plan nor workers waiting."""

import asyncio
import secrets
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import urllib3

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.neighbours import placed_meanwhile, unharmed
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_training_job
from support.programs.trainers import pod_token
from support.servers.worker_endpoint import a_token

OPERATOR_ENVIRONMENT = {"PLIMSOLL_WORKER_URL": "http://nowhere:8081"}
HTTP = urllib3.PoolManager(retries=False, timeout=20)
LEASE = "/apis/coordination.k8s.io/v1/namespaces/plimsoll-system/leases/plimsoll"
A_SECOND = 200
"""Somewhat more than ten thousand a minute."""
MOST_AT_ONCE = 1_000
"""Fewer than are cut off for others: on a busy machine that would leave none to be answered."""
FLOOD_SECONDS = 12
"""Longer than a Lease lasts that is not renewed."""


class Flood:
    """Junk tokens, so many a second, from a few addresses; `answers` counts those it was given."""

    def __init__(self, port: int, a_second: int) -> None:
        self._port, self._a_second = port, a_second
        self.sent = self.answers = 0
        self._over = threading.Event()

    @contextmanager
    def running(self) -> Generator["Flood"]:
        thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        thread.start()
        try:
            yield self
        finally:
            self._over.set()
            thread.join()

    async def _run(self) -> None:
        begun, asking = time.monotonic(), set[asyncio.Task[None]]()
        while not self._over.is_set():
            asking = {task for task in asking if not task.done()}
            due = int((time.monotonic() - begun) * self._a_second)
            upto = min(due, self.sent + MOST_AT_ONCE - len(asking))
            for number in range(self.sent, upto):
                asking.add(asyncio.create_task(self._ask(number)))
            self.sent = max(self.sent, upto)
            await asyncio.sleep(0.02)
        for task in asking:
            task.cancel()

    async def _ask(self, number: int) -> None:
        token = a_token(f"nobody-{secrets.token_hex(4)}", sign="x" * 342)
        head = f"GET /v1/notice HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        source = f"127.0.0.{2 + number % 20}"
        try:
            reader, writer = await asyncio.open_connection(
                "127.0.0.1", self._port, local_addr=(source, 0)
            )
            writer.write(head.encode())
            heard = bool(await reader.read(12))
            self.answers += heard
            writer.close()
        except OSError:
            return


def reported(scene: Scene, token: str) -> int:
    answer = HTTP.request(
        "POST",
        f"{scene.operator.worker_url}/v1/report",
        json={"job": "train", "done": 1},
        headers={"Authorization": f"Bearer {token}"},
    )
    return answer.status


@pytest.mark.slow
def test_ten_thousand_junk_tokens_a_minute_cost_nobody_anything(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8), fake_node("other", gpus=8))
    job = a_training_job("train")
    scene.apply(job)
    [pod] = scene.running(job).pods
    token = pod_token(scene, pod)
    assert reported(scene, token) == 200
    before = scene.api.get(LEASE)["spec"]
    reviews = scene.operator.metric("plimsoll_token_reviews_total")
    port = int(scene.operator.worker_url.rpartition(":")[2])
    with unharmed(scene.operator), Flood(port, A_SECOND).running() as flood:
        for second in range(1, FLOOD_SECONDS + 1):
            wait_until(
                lambda due=second * A_SECOND: flood.sent >= due,
                timeout_seconds=SECONDS,
                what="so much has come",
            )
            placed_meanwhile(scene, f"beside-{second}")
            assert reported(scene, token) == 200
            assert scene.operator.metric("plimsoll_leader") == 1
        wait_until(
            lambda: flood.answers > FLOOD_SECONDS * A_SECOND / 2,
            timeout_seconds=SECONDS,
            what="it was a flood",
        )
    assert scene.operator.metric("plimsoll_token_reviews_total") == reviews
    after = scene.api.get(LEASE)["spec"]
    for held in ("holderIdentity", "acquireTime", "leaseTransitions"):
        assert after[held] == before[held]
    assert after["renewTime"] > before["renewTime"]


def test_forged_tokens_of_a_worker_are_asked_about_a_few_times_only(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    job = a_training_job("train")
    scene.apply(job)
    [pod] = scene.running(job).pods
    meta = pod["metadata"]
    bound = {"name": meta["name"], "uid": meta["uid"]}
    claims = {
        "sub": f"system:serviceaccount:{scene.namespace}:default",
        "kubernetes.io": {"namespace": scene.namespace, "pod": bound},
    }
    reviews = scene.operator.metric("plimsoll_token_reviews_total", result="Refused")
    forged = [a_token("", sign=f"forged-{number}", **claims) for number in range(60)]
    statuses = [reported(scene, token) for token in forged]
    assert set(statuses) == {401, 429}
    asked = scene.operator.metric("plimsoll_token_reviews_total", result="Refused") - reviews
    assert asked == statuses.count(401) < 30
