"""No request is lost when replicas go: they are out of their Service before they end."""

import json
from collections.abc import Generator
from contextlib import contextmanager

from harness.gpu_nodes import Nodes
from harness.real_cluster import PATIENCE_SECONDS
from harness.stand_ins import SMALL, template
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, scale
from support.clusters.scene import Scene
from support.objects.job_manifests import an_inference_job

SERVED = "served"
REQUESTS_AFTERWARDS = 50

# Asks a Service over and over, each time by a new connection, and says how it went. What fails
# before the first answer does not count: the Service may not be known yet.
CLIENT = """
import json, sys, time, urllib.request
ok, failed = 0, []
while True:
    try:
        with urllib.request.urlopen("http://served:8000/wait/0.3", timeout=10) as answer:
            ok += answer.status == 200
    except OSError as error:
        failed += [str(error)] if ok else []
    print(json.dumps({"ok": ok, "failed": failed[:5]}), flush=True)
    time.sleep(0.02)
"""


def a_service_of(job: Manifest) -> Manifest:
    """A Kubernetes Service in front of a job's pods, whatever their readiness."""
    selector = {"plimsoll.dev/job-name": name_of(job), "plimsoll.dev/role": "server"}
    return {"metadata": {"name": SERVED}, "spec": {"selector": selector, "ports": [{"port": 8000}]}}


def a_client(name: str, image: str) -> Manifest:
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", CLIENT],
        "resources": {"requests": SMALL},
    }
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    return {"metadata": {"name": name}, "spec": spec}


class Clients:
    """Pods that ask all the time."""

    def __init__(self, scene: Scene, names: list[str]) -> None:
        self._scene = scene
        self._names = names

    def answered(self) -> int:
        """How many requests were answered so far."""
        return sum(int(said["ok"]) for said in self._said())

    def failures(self) -> list[str]:
        """What requests failed of."""
        return [error for said in self._said() for error in said["failed"]]

    def go_on(self) -> None:
        """Wait until many more are answered."""
        enough = self.answered() + REQUESTS_AFTERWARDS
        wait_until(
            lambda: self.answered() >= enough,
            timeout_seconds=PATIENCE_SECONDS,
            what="requests are answered",
        )

    def _said(self) -> list[Manifest]:
        lines = [self._last_line(name) for name in self._names]
        return [json.loads(line) for line in lines if line]

    def _last_line(self, name: str) -> str:
        log = self._scene.api.text(f"{self._scene.path('Pod', name)}/log?tailLines=1")
        return log.strip()


@contextmanager
def asking(scene: Scene, image: str, count: int) -> Generator[Clients]:
    """Let pods ask until the block is left."""
    names = [f"asks-{number}" for number in range(count)]
    for name in names:
        scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", a_client(name, image))
    wait_until(
        lambda: all(
            scene.api.get(scene.path("Pod", name))["status"]["phase"] == "Running" for name in names
        ),
        timeout_seconds=PATIENCE_SECONDS,
        what="the clients run",
    )
    try:
        yield Clients(scene, names)
    finally:
        for name in names:
            scene.api.delete(scene.path("Pod", name))


def test_no_request_fails_while_a_service_shrinks_under_load(
    scene: Scene, gpu_nodes: Nodes, image: str
) -> None:
    gpu_nodes.offer(2, 2)
    role = {"replicas": {"min": 1, "max": 3}, "drain": "10s"}
    job = an_inference_job("serve", role=role, template=template(image))
    job["spec"]["replicas"] = 3
    scene.apply(job)
    assert len(scene.running(job).pods) == 3
    scene.api.create(f"/api/v1/namespaces/{scene.namespace}/services", a_service_of(job))
    with asking(scene, image, 3) as clients:
        clients.go_on()
        scale(scene, job, 1)
        wait_until(
            lambda: len(scene.pods_of(job)) == 1,
            timeout_seconds=PATIENCE_SECONDS,
            what="one replica is left",
        )
        clients.go_on()
        assert not clients.failures()
    assert scene.events(job, "Draining")
