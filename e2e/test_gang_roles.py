"""A gang with a launcher without GPUs: all start or none, all give way, all go when it ends."""

from harness.gpu_nodes import Nodes
from harness.real_cluster import RealCluster
from harness.stand_ins import template
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, until_gone
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import a_priority_class, a_training_job

SHARDS = 20
LABEL = "plimsoll.dev/test-launchers"

# The first process of a container ends on SIGTERM only if it says so.
ENDS = """
import signal, sys
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
"""
LAUNCHER = f"""
import os
from xmlrpc.server import SimpleXMLRPCServer

left, done = list(range({SHARDS})), {{}}
waits = os.environ["PLIMSOLL_REVISION"] == "1"

def take():
    return left.pop() if left and not waits else -1

def give(shard, worker):
    done[shard] = worker
    return True

with SimpleXMLRPCServer(("", 8000), logRequests=False) as server:
    server.register_function(take)
    server.register_function(give)
    while len(done) < {SHARDS}:
        server.handle_request()
workers = os.environ["PLIMSOLL_COUNT_WORKER"]
print("all", len(done), "shards by", sorted(set(done.values())), "of", workers)
"""
"""Hands out shards once it has come back, and succeeds once all of them are done."""

WORKER = """
import os, time
from xmlrpc.client import ServerProxy

job, worker = os.environ["PLIMSOLL_JOB"], os.environ["PLIMSOLL_REPLICA"]
while True:
    try:
        launcher = ServerProxy(f"http://{job}-launcher-0.{job}:8000")
        while True:
            shard = launcher.take()
            time.sleep(0.2)
            if shard >= 0:
                launcher.give(shard, worker)
    except OSError:
        time.sleep(0.2)
"""
"""Works on shards for as long as it is let."""


def running(program: str, image: str, **pod: object) -> Manifest:
    """A template of one container that runs a program of Python."""
    found = template(image, **pod)
    (container,) = found["spec"]["containers"]
    del container["readinessProbe"]
    container["command"] = ["python3", "-u", "-c", ENDS + program]
    return found


def test_a_gang_with_a_launcher_starts_whole_gives_way_whole_and_ends_with_its_launcher(
    scene: Scene, cluster: RealCluster, gpu_nodes: Nodes, image: str
) -> None:
    gpu_nodes.offer(1, 1)
    launcher = running(LAUNCHER, image, nodeSelector={LABEL: "true"})
    job = a_training_job(
        "shards",
        workers=2,
        template=running(WORKER, image),
        roles=[{"name": "launcher", "template": launcher}],
        successPolicy={"role": "launcher"},
        faultTolerance={"backoff": {"initial": "1s", "max": "1s"}},
    )
    scene.apply(job)
    status = scene.until(job, reason="NoEligibleNode")
    assert status["message"].startswith("role launcher needs 1 pod"), status["message"]
    assert not scene.pods_of(job), "its workers do not hold GPUs meanwhile"

    admit_launchers(scene, gpu_nodes)
    first = scene.running(job)
    assert sorted(map(name_of, first.pods)) == [
        "shards-launcher-0",
        "shards-worker-0",
        "shards-worker-1",
    ]

    urgent = a_training_job(
        "urgent", workers=1, priorityClassName="urgent", template=template(image)
    )
    scene.apply(a_priority_class("urgent", 1000), urgent)
    scene.until(job, reason="LowerPriority")
    until_gone(scene, job)
    scene.running(urgent)
    scene.delete(urgent)
    again = scene.running(job)
    assert len(again.pods) == 3
    assert not again.uids & first.uids

    status = scene.until(job, reason="Completed")
    assert conditions(status)["Complete"] == "True"
    wait_until(
        lambda: [name_of(pod) for pod in scene.pods_of(job)] == ["shards-launcher-0"],
        timeout_seconds=scene.patience_seconds,
        what="the workers, which would go on for ever, are gone",
    )
    logs = cluster.kubectl("logs", "shards-launcher-0", f"--namespace={scene.namespace}")
    assert f"all {SHARDS} shards by ['0', '1'] of 2" in logs


def admit_launchers(scene: Scene, gpu_nodes: Nodes) -> None:
    scene.api.merge(f"{NODES}/{gpu_nodes.names[0]}", {"metadata": {"labels": {LABEL: "true"}}})
