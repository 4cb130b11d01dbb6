"""Of several replicas of the operator only one acts, and another goes on where it ends."""

import os
import signal
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.proxy import faulty_api
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory, creations
from support.clusters.pod_lives import fail
from support.clusters.scene import Scene
from support.objects.job_manifests import a_gpu_pod, a_training_job

LEASE = "/apis/coordination.k8s.io/v1/namespaces/plimsoll-system/leases/plimsoll"


@pytest.fixture
def stand_in(control_plane: Cluster, operator: OperatorProcess) -> Iterator[OperatorProcess]:
    """A second replica, which knows the cluster and does not lead."""
    assert operator.is_running()
    with standing_by(control_plane.kubeconfig) as process:
        yield process


@contextmanager
def standing_by(
    kubeconfig: Path, environment: Mapping[str, str] | None = None
) -> Generator[OperatorProcess]:
    process = forked_operator(kubeconfig, environment)
    process.launch()
    wait_until(
        lambda: answers(process) and process.probe("/readyz")[0] == 200,
        timeout_seconds=60,
        what="the stand-in knows the cluster",
    )
    yield process
    process.stop()
    process.__exit__(None, None, None)


def answers(operator: OperatorProcess) -> bool:
    return any("port" in line for line in operator.log_lines())


def writes(operator: OperatorProcess) -> float:
    ours = ("pods", "services", "events", "trainingjobs/status", "inferencejobs/status")
    return sum(operator.metric("plimsoll_api_writes_total", resource=each) for each in ours)


def holder(api: ApiServer) -> str:
    return api.get(LEASE)["spec"].get("holderIdentity", "")


def test_only_the_leader_acts_and_hands_over_at_once_when_it_is_asked_to_end(
    scene: Scene, stand_in: OperatorProcess
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    first, second = a_training_job("first", workers=2), a_training_job("second", workers=2)
    leader = holder(scene.api)
    with PodHistory(scene) as history:
        scene.apply(first)
        scene.running(first)
        assert stand_in.metric("plimsoll_leader") == 0
        assert writes(stand_in) == 0
        assert scene.operator.stop() == 0
        assert holder(scene.api) != leader, "the lease is given back, not left to expire"
        wait_until(
            lambda: stand_in.metric("plimsoll_leader") == 1, timeout_seconds=30, what="it leads"
        )
        scene.apply(second)
        scene.running(second)
        pods = scene.running(first).pods
        fail(scene, pods[0])
        scene.until(first, restarts=1)
        names = [f"{job}-worker-{rank}" for job in ("first", "second") for rank in range(2)]
        assert creations(history) == {(name, "1"): 1 for name in names}


def written(operator: OperatorProcess) -> float:
    """What it has written of jobs and pods; events may come a little later."""
    ours = ("pods", "services", "trainingjobs/status")
    return sum(operator.metric("plimsoll_api_writes_total", resource=each) for each in ours)


@pytest.mark.slow
def test_a_leader_that_was_stopped_for_a_while_writes_nothing_any_more(
    scene: Scene, stand_in: OperatorProcess
) -> None:
    scene.add_nodes(fake_node("node", gpus=6))
    first, second, third = (a_training_job(name, workers=2) for name in ("a", "b", "c"))
    stale = scene.operator
    with PodHistory(scene) as history:
        scene.apply(first)
        scene.running(first)
        before = written(stale)
        os.kill(stale.pid, signal.SIGSTOP)
        try:
            scene.apply(second)
            scene.running(second)
        finally:
            os.kill(stale.pid, signal.SIGCONT)
        wait_until(
            lambda: stale.metric("plimsoll_leader") == 0, timeout_seconds=30, what="it knows"
        )
        scene.apply(third)
        scene.running(third)
        names = [f"{job}-worker-{rank}" for job in "abc" for rank in range(2)]
        assert creations(history) == {(name, "1"): 1 for name in names}
    assert written(stale) == before
    assert written(stand_in) > 0


def pods_known(operator: OperatorProcess) -> float:
    return operator.metric("plimsoll_watched_objects", resource="pods")


def all_know_the_same(scene: Scene, stand_in: OperatorProcess) -> bool:
    there = len(scene.api.items("/api/v1/pods"))
    return pods_known(scene.operator) == pods_known(stand_in) == there


@pytest.mark.slow
def test_one_that_was_deaf_while_it_stood_by_looks_at_everything_before_it_acts(
    scene: Scene, control_plane: Cluster, tmp_path: Path
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    with (
        faulty_api(control_plane.kubeconfig, tmp_path) as reached,
        standing_by(reached.kubeconfig, {"PLIMSOLL_WATCH_SECONDS": "300"}) as stand_in,
        PodHistory(scene) as history,
    ):
        wait_until(
            lambda: all_know_the_same(scene, stand_in),
            timeout_seconds=30,
            what="both know all pods",
        )
        before = pods_known(stand_in)
        reached.half_open("/api/v1/pods")
        scene.apply(a_gpu_pod("theirs", "node", gpus=2))
        wait_until(
            lambda: pods_known(scene.operator) == before + 1,
            timeout_seconds=30,
            what="the leader knows that the node is full",
        )
        job = a_training_job("job")
        scene.apply(job)
        scene.until(job, reason="CannotFit")
        assert pods_known(stand_in) == before, "it is deaf"
        assert scene.operator.stop() == 0
        other = a_training_job("other")
        scene.apply(other)
        scene.until(other, reason="CannotFit")
        assert stand_in.metric("plimsoll_leader") == 1
        assert pods_known(stand_in) == before + 1
        assert creations(history) == {}
