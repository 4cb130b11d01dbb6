"""Whatever fails around the operator, a cluster comes to rest as users were promised.

`bench/faults.py` lives through many more such histories, and longer ones.
"""

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from plimsoll.kube.watching.following import WatchTerms
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.drawn import script
from plimsoll_devcluster.histories.neighbours import beside_hostile_tenants
from plimsoll_devcluster.histories.process import Mortal
from plimsoll_devcluster.histories.proxy import FaultyApi, faulty_api
from plimsoll_devcluster.histories.round import SETTLE_SECONDS, Stage, stage
from plimsoll_devcluster.histories.script import Blow, Lane, Script
from plimsoll_devcluster.histories.sight import Sight
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import ensure_namespace
from plimsoll_devcluster.proxies.fault_kinds import Armed, Fault
from plimsoll_devcluster.proxies.faulty_proxy import FaultyProxy
from plimsoll_devcluster.waiting import PATIENCE, wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import a_gpu_pod, a_training_job
from support.project.tiers import quick_first

SECONDS = 3.0
SEEDS = quick_first([11, 12])
RETRY_SECONDS = 3.0 * PATIENCE
ACTING_SECONDS = 10.0 * PATIENCE
"""What may pass from hearing of a job until its pods run, on a machine that has more to do."""


@pytest.fixture
def faulty(control_plane: Cluster, api: ApiServer, tmp_path: Path) -> Iterator[Stage]:
    bound = SETTLE_SECONDS * PATIENCE
    with stage(api, control_plane.kubeconfig, tmp_path, settle_seconds=bound) as found:
        yield found


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost_doubled_or_left_whatever_fails(faulty: Stage, seed: int) -> None:
    outcomes = faulty.play(beside_hostile_tenants(script(seed, 4, seconds=SECONDS)))
    assert faulty.tally.violations == []
    assert faulty.tally.failed_turns == 0
    assert len(outcomes) == 4
    assert faulty.tally.fired[Fault.KILLED] >= 1
    assert faulty.tally.fired.total() >= 8


@pytest.mark.slow
def test_a_token_that_is_refused_for_a_while_ends_nobody_and_costs_no_place(faulty: Stage) -> None:
    lanes: tuple[Lane, ...] = script(13, 2, seconds=SECONDS).lanes
    refused = tuple(Blow(at, Fault.TOKEN_EXPIRED, 20) for at in (0.5, 1.5, 2.5))
    faulty.play(Script(13, SECONDS, lanes, refused))
    assert faulty.tally.violations == []
    assert faulty.tally.fired[Fault.TOKEN_EXPIRED] >= 20
    assert faulty.tally.ended_by_itself == 0


def test_an_unreported_deletion_holds_no_capacity_for_long(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    scene, first, second = a_full_node(api, namespace)
    slow = {"PLIMSOLL_WATCH_SECONDS": "300"}
    with an_operator_behind(control_plane, tmp_path, slow) as faulty:
        scene.apply(first)
        scene.running(first)
        scene.apply(second)
        scene.until(second, reason="InsufficientGPUs")
        faulty.half_open("/trainingjobs")
        scene.delete(first)
        scene.running(second)


@pytest.mark.slow
def test_an_operator_of_which_every_connection_is_half_open_soon_hears_again(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    scene, first, second = a_full_node(api, namespace)
    terms = WatchTerms(watch_seconds=3)
    quick = {"PLIMSOLL_WATCH_SECONDS": str(terms.watch_seconds)}
    with an_operator_behind(control_plane, tmp_path, quick) as faulty:
        scene.apply(first)
        scene.running(first)
        faulty.half_open()
        begun = time.monotonic()
        scene.edit(first, {"suspend": True})
        scene.apply(second)
        scene.running(second)
        blind_seconds = time.monotonic() - begun
    assert blind_seconds < terms.longest_silence_seconds + ACTING_SECONDS
    assert max(faulty.proxy.deaf_seconds) < terms.longest_silence_seconds + RETRY_SECONDS


@pytest.mark.slow
def test_a_worker_whose_making_was_not_answered_is_not_mixed_with_later_ones(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    ensure_namespace(api)
    scene, gang = Scene(api, namespace), a_training_job("gang", workers=1)
    scene.add_nodes(fake_node("node", gpus=2))
    quick = {"PLIMSOLL_WATCH_SECONDS": "3"}
    with Sight(api) as sight, an_operator_behind(control_plane, tmp_path, quick) as faulty:
        sight.expect(Lane(namespace, most_pods={"gang": 2}))
        make_unheard(scene, gang, faulty, failures=2)
        scene.apply(a_training_job("gang", workers=2))
        scene.running(gang)
        assert sight.witness.violations[namespace] == []
    assert "created though the API server did not answer" in (tmp_path / "operator.log").read_text()


@pytest.mark.slow
def test_what_a_pod_holds_whose_making_was_not_answered_does_not_seem_free(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    scene, first, second = a_full_node(api, namespace)
    quick = {"PLIMSOLL_WATCH_SECONDS": "3"}
    with Sight(api) as sight, an_operator_behind(control_plane, tmp_path, quick) as faulty:
        sight.expect(Lane(namespace, nodes={"node": fake_node("node", gpus=1)}))
        make_unheard(scene, first, faulty)
        scene.edit(first, {"suspend": True})
        scene.apply(second)
        scene.running(second)
        assert sight.witness.violations[namespace] == []


@pytest.mark.slow
def test_pods_that_are_made_late_for_several_causes_are_not_taken_for_refused(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    scene, job, _ = a_full_node(api, namespace)
    with an_operator_behind(control_plane, tmp_path, {}) as faulty:
        pods = f"/namespaces/{namespace}/pods"
        for fault, requests in ((Fault.CONFLICT, 5), (Fault.FAILED, 1)):
            faulty.let(partial(FaultyProxy.arm, armed=Armed(fault, requests, pods)))
        scene.apply(job)
        scene.running(job)
        assert faulty.proxy.fired[Fault.CONFLICT] == 5
        assert faulty.proxy.fired[Fault.FAILED] == 1
    assert not [event for event in scene.all_events(job) if event["reason"] == "PodRefused"]


@pytest.mark.slow
def test_the_judge_misses_nothing_while_it_is_cut_off(
    control_plane: Cluster, api: ApiServer, namespace: str, tmp_path: Path
) -> None:
    scene = Scene(api, namespace)
    scene.add_nodes(fake_node("node", gpus=1))
    with (
        faulty_api(control_plane.kubeconfig, tmp_path) as faulty,
        Sight(ApiServer(faulty.kubeconfig)) as sight,
    ):
        sight.expect(Lane(namespace, nodes={"node": fake_node("node", gpus=1)}))
        scene.apply(a_gpu_pod("first", "node", gpus=1))
        wait_until(lambda: faulty.proxy.watches == 1, timeout_seconds=60, what="it watches")
        faulty.let(FaultyProxy.fall_silent)
        scene.api.delete(scene.path("Pod", "first") + "?gracePeriodSeconds=0")
        scene.apply(a_gpu_pod("second", "node", gpus=1))
        faulty.let(FaultyProxy.cut)
        faulty.let(FaultyProxy.speak)
        wait_until(lambda: faulty.proxy.watches == 1, timeout_seconds=60, what="it watches again")
        assert sight.witness.violations[namespace] == []
        scene.apply(a_gpu_pod("third", "node", gpus=1))
        wait_until(lambda: sight.witness.violations[namespace], timeout_seconds=60, what="it sees")
    assert sight.witness.violations[namespace] == ["node has 1 GPUs, and ['second', 'third'] on it"]


def a_full_node(api: ApiServer, namespace: str) -> tuple[Scene, Manifest, Manifest]:
    """A node, and two jobs of which only one at a time has room there."""
    ensure_namespace(api)
    scene = Scene(api, namespace)
    scene.add_nodes(fake_node("node", gpus=1))
    return scene, a_training_job("first"), a_training_job("second")


@contextmanager
def an_operator_behind(
    cluster: Cluster, folder: Path, environment: Mapping[str, str]
) -> Generator[FaultyApi]:
    """A proxy, behind which an operator lives."""
    with faulty_api(cluster.kubeconfig, folder) as faulty:
        operator = Mortal(faulty.kubeconfig, folder, environment)
        operator.attend()
        try:
            yield faulty
        finally:
            operator.kill(0)


def make_unheard(scene: Scene, job: Manifest, faulty: FaultyApi, *, failures: int = 0) -> None:
    """Have a job's first pod made unreported by any answer or watch; then some fail."""
    faulty.half_open("/api/v1/pods")
    pods = f"/namespaces/{scene.namespace}/pods"
    for fault, requests in ((Fault.ANSWER_LOST, 1), (Fault.FAILED, failures)):
        if requests:
            faulty.let(partial(FaultyProxy.arm, armed=Armed(fault, requests, pods)))
    scene.apply(job)
    wait_until(lambda: faulty.proxy.fired[Fault.ANSWER_LOST], timeout_seconds=60, what="it is made")
