"""From no replica to many and back no request is lost; how long the first one waits.

What was measured goes to standard error, and to `from-zero.json` in the folder of the evidence.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.gpu_nodes import Nodes, borrowed
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.release import Release
from harness.scenes import open_scene
from harness.stand_ins import template
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import condition, name_of
from support.clusters.scene import Scene
from support.objects.job_manifests import an_inference_job
from traffic.gateway import requests_come, requests_held
from traffic.prometheus_pod import run_prometheus
from traffic.users import BACKEND, Users

A_REPLICA_CARRIES = 10
FEW, MANY = 4, 25
GOING = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}


@pytest.fixture(scope="module")
def gpu_nodes(cluster: RealCluster, nodes: tuple[str, str]) -> Iterator[Nodes]:
    """As for other tests, but for all of this module's."""
    with borrowed(cluster.api, nodes) as found:
        yield found


@pytest.fixture(scope="module")
def shared(cluster: RealCluster) -> Path:
    """The folder of this machine that the nodes see."""
    if cluster.shared is None:
        pytest.skip("PLIMSOLL_SHARED_FOLDER names no folder that the given cluster's nodes see")
    return cluster.shared


@pytest.fixture(scope="module")
def scene(gpu_nodes: Nodes, release: Release, image: str, shared: Path) -> Iterator[Scene]:
    """A namespace with a Prometheus, which the operator queries meanwhile."""
    with open_scene(gpu_nodes.api) as found:
        url = run_prometheus(found.api, found.namespace, image=image, shared=shared)
        looks = {"prometheus.loadSeconds": "5", "prometheus.loadWindowSeconds": "10"}
        release.install({"prometheus.url": url, **looks})
        try:
            yield found
        finally:
            release.install()


def a_service(image: str) -> Manifest:
    """One that sleeps without load, and is woken by what its gateway counts."""
    role = {"replicas": {"min": 0, "max": 3}, "drain": "7s"}
    job = an_inference_job("serve", role=role, loads={"NVIDIA-H100-80GB-HBM3": A_REPLICA_CARRIES})
    job["spec"]["roles"][0]["template"] = template(image)
    came, held = requests_come("6s"), requests_held(BACKEND)
    job["spec"]["load"] = {
        "queries": [{"name": "Load", "query": came}, {"name": "Backlog", "query": held}],
        "forecast": {"horizon": "10s"},
    }
    job["spec"]["scaling"] = {"down": {"stabilizationWindow": "5s"}}
    return job


def started(scene: Scene, job: Manifest) -> tuple[float, float]:
    """Wait for the first replica: when its pod was there, and when its container was ready."""
    seen = 0.0
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        pods = scene.pods_of(job)
        seen = seen or (time.monotonic() if pods else 0.0)
        if any(condition(pod["status"], "ContainersReady").get("status") == "True" for pod in pods):
            return seen, time.monotonic()
        time.sleep(0.05)
    raise TimeoutError("no replica starts")


def until_serving(scene: Scene, job: Manifest, count: int, *, away_from: str = "") -> list[str]:
    """Wait until so many replicas serve, none of them on a node; the nodes."""

    def serving() -> list[str]:
        pods = scene.pods_of(job)
        ready = [p for p in pods if condition(p["status"], "Ready").get("status") == "True"]
        nodes = [pod["spec"]["nodeName"] for pod in ready]
        return nodes if len(nodes) == len(pods) == count and away_from not in nodes else []

    what = f"{count} replicas serve"
    return wait_until(serving, timeout_seconds=PATIENCE_SECONDS, what=what)


@pytest.mark.usefixtures("operator")
def test_no_request_is_lost_from_zero_through_a_leap_and_a_move_to_zero(
    scene: Scene, gpu_nodes: Nodes, image: str, shared: Path, evidence: Path
) -> None:
    gpu_nodes.offer(3, 3)
    job = a_service(image)
    scene.apply(job)
    selector = {"plimsoll.dev/job-name": name_of(job), "plimsoll.dev/role": "server"}
    users = Users(scene, selector, image=image, shared=shared)
    scene.until(job, reason="ScaledToZero")
    begun = time.monotonic()
    users.send_at(FEW)
    made, ready = started(scene, job)
    first = users.until_answered(1).parts[-1]["first_answer_seconds"]
    users.send_at(MANY)
    leaves, *_ = until_serving(scene, job, 3)
    leapt = time.monotonic()
    scene.node(leaves, {"spec": {"taints": [GOING]}})
    until_serving(scene, job, 3, away_from=leaves)
    users.until_answered(MANY)
    users.send_at(0)
    scene.until(job, reason="ScaledToZero")
    wait_until(
        lambda: not scene.pods_of(job), timeout_seconds=PATIENCE_SECONDS, what="no pod is left"
    )
    said = users.until_done()
    figures = {
        "first_answer_seconds": round(first, 2),
        "pod_made_seconds": round(made - begun, 2),
        "container_start_seconds": round(ready - made, 2),
        "leap_seconds": round(leapt - ready, 2),
        **{name: said.total(name) for name in ("sent", "answered", "failed")},
        "parts": said.parts,
    }
    (evidence / "from-zero.json").write_text(json.dumps(figures, indent=1))
    sys.stderr.write(f"\nfrom zero: {json.dumps(figures)}\n")
    assert said.total("sent") == said.total("answered"), said.reasons
    assert scene.events(job, "Draining")
