"""The operator is killed after its every write and started again: nothing is doubled or lost."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.karpenter.process import NODE_CLAIMS, Karpenter
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess, ensure_namespace
from plimsoll_devcluster.processes.short_lives import operator_life
from plimsoll_devcluster.waiting import wait_until
from support.clusters.bought_nodes import a_pool_of
from support.clusters.cluster_autoscaler import REQUESTS, cluster_autoscaler
from support.clusters.node_claims import NodeClaims
from support.clusters.pod_history import PodHistory, creations, most_gpus
from support.clusters.pod_lives import label, name_of, scale, wish
from support.clusters.scene import Scene
from support.clusters.target_lives import a_targeting_job, a_workload, make, pods_of_workload
from support.clusters.workload_lives import (
    create_workload,
    patch_workload,
    stand_in_of,
    stand_in_path,
    suspension,
    workload_pods,
)
from support.objects.batch_jobs import QUEUE, a_batch_job
from support.objects.bought_nodes import an_autoscaled_pool
from support.objects.job_manifests import (
    a_priority_class,
    a_template,
    a_training_job,
    an_inference_job,
)
from support.objects.pod_groups import a_grouped_pod, a_pod_group, gated
from support.objects.workloads import (
    a_jobset,
    a_pytorch_job,
    a_ray_cluster,
    a_ray_job,
    a_train_job,
    an_app_wrapper,
    asking,
    suspended,
)
from support.servers.write_gate import Spoil, WriteGate, write_gate

LONG = 60.0
MOST_CRASHES = 60
# One name, so that each life leads at once, and a lease that is its alone: the last one stays held.
IDENTITY = {
    "PLIMSOLL_IDENTITY": "mortal",
    "PLIMSOLL_LEASE_NAME": "mortal",
    "PLIMSOLL_ADOPTS_JOBS": "true",
    "PLIMSOLL_BUYS_NODES": "true",
    "PLIMSOLL_REQUESTS_NODES": "true",
}


@dataclass(frozen=True, slots=True)
class Mortal:
    """An operator behind a gate, which dies when it has used up its writes."""

    gate: WriteGate
    kubeconfig: Path
    folder: Path

    def life(self, number: int) -> AbstractContextManager[int]:
        """One life of it."""
        environment = {"KUBECONFIG": str(self.kubeconfig), "PLIMSOLL_PORT": "0", **IDENTITY}
        return operator_life(environment, self.folder / f"life-{number}.log")

    def die_after_every_write(self, so: Callable[[], bool]) -> int:
        """Let it live and die until something is so; how often it died of a write too many."""
        for crashes in itertools.count():
            assert crashes < MOST_CRASHES, self.gate.written
            self.gate.allow(1)
            with self.life(crashes):
                wait_until(
                    lambda: self.gate.is_spent or so(), timeout_seconds=LONG, what="a life is over"
                )
            if so():
                return crashes
        raise AssertionError


@pytest.fixture
def mortal(control_plane: Cluster, tmp_path: Path) -> Iterator[Mortal]:
    ensure_namespace(control_plane.api)
    with write_gate(control_plane.kubeconfig, tmp_path) as (gate, kubeconfig):
        yield Mortal(gate, kubeconfig, tmp_path)


@pytest.fixture
def scene(mortal: Mortal, api: ApiServer, namespace: str) -> Iterator[Scene]:
    """A namespace for which nobody acts yet."""
    operator = OperatorProcess(mortal.kubeconfig, IDENTITY)
    yield Scene(api, namespace, operator)
    operator.__exit__(None, None, None)


def runs(scene: Scene, job: Manifest) -> bool:
    status, pods = scene.status(job), scene.pods_of(job)
    placed = sorted(
        status.get("placement", {}).get("assignments", []),
        key=lambda place: (place["role"], int(place["replica"])),
    )
    bound = [pod["spec"].get("nodeName") for pod in pods]
    wanted = [node for place in placed for node in place["nodes"]]
    return status.get("reason") == "Running" and bound == wanted


def waits(scene: Scene, job: Manifest, reason: str) -> bool:
    return scene.status(job).get("reason") == reason and not scene.pods_of(job)


@pytest.mark.slow
def test_whatever_the_last_write_was_the_next_life_goes_on_from_there(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    gang, service = a_training_job("gang", workers=2), an_inference_job("serve")
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    with PodHistory(scene) as history:
        scene.apply(gang, service)
        begun = mortal.die_after_every_write(lambda: runs(scene, gang) and runs(scene, service))
        scene.apply(a_priority_class("urgent", 1000), urgent)
        ended = mortal.die_after_every_write(
            lambda: runs(scene, urgent) and waits(scene, gang, "LowerPriority")
        )
        assert begun >= 7, "status, Service, two pods; status, pod; and that both run"
        assert ended >= 8, "status, two deletions; status, Service, two pods; it runs"
        assert runs(scene, service)
        assert_nothing_is_left_to_do(scene, mortal)
        together = [
            {label(pod, "job-name") for pod in moment.values()} for moment in history.moments()
        ]
    pods = [f"{job}-worker-{rank}" for job in ("gang", "urgent") for rank in range(2)]
    assert creations(history) == {(name, "1"): 1 for name in [*pods, "serve-server-0"]}
    assert most_gpus(history) == {"node": 3}
    assert not [jobs for jobs in together if {"gang", "urgent"} <= jobs]
    services = scene.api.items(f"/api/v1/namespaces/{scene.namespace}/services")
    assert {name_of(each) for each in services} == {"gang", "urgent"}


@pytest.mark.slow
def test_whatever_the_last_write_was_a_job_of_one_pod_starts_once_and_yields(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    job = a_training_job("alone")
    urgent = a_training_job("urgent", priorityClassName="urgent")
    with PodHistory(scene) as history:
        scene.apply(job)
        begun = mortal.die_after_every_write(lambda: runs(scene, job))
        scene.apply(a_priority_class("urgent", 1000), urgent)
        ended = mortal.die_after_every_write(
            lambda: runs(scene, urgent) and waits(scene, job, "LowerPriority")
        )
        assert_nothing_is_left_to_do(scene, mortal)
    assert begun >= 1, "its pod, which tells its place; that it runs"
    assert ended >= 4, "status, deletion; status, pod; it runs"
    assert creations(history) == {(f"{name}-worker-0", "1"): 1 for name in ("alone", "urgent")}
    assert most_gpus(history) == {"node": 1}


@pytest.mark.slow
def test_whatever_the_last_write_was_a_gang_of_several_roles_starts_yields_and_ends_whole(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=2), fake_node("plain", gpus=0, cpu="2"))
    launcher = {"name": "launcher", "template": a_template({"cpu": "2"})}
    policy = {"role": "launcher"}
    gang = a_training_job("gang", workers=2, roles=[launcher], successPolicy=policy)
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    with PodHistory(scene) as history:
        scene.apply(gang)
        begun = mortal.die_after_every_write(lambda: runs(scene, gang))
        scene.apply(a_priority_class("urgent", 1000), urgent)
        ended = mortal.die_after_every_write(
            lambda: runs(scene, urgent) and waits(scene, gang, "LowerPriority")
        )
        scene.delete(urgent)
        again = mortal.die_after_every_write(lambda: runs(scene, gang))
        wish(scene, scene.pods_of(gang)[0], run_seconds="0")
        over = mortal.die_after_every_write(lambda: is_over(scene, gang))
        assert_nothing_is_left_to_do(scene, mortal)
    assert begun >= 5, "status, Service, three pods; that it runs"
    assert ended >= 8, "status, three deletions; status, Service, two pods; it runs"
    assert again >= 4, "status, three pods; that it runs"
    assert over >= 2, "that it is complete; two deletions"
    gang_pods = ("gang-launcher-0", "gang-worker-0", "gang-worker-1")
    made = [(name, revision) for name in gang_pods for revision in ("1", "2")]
    made += [(f"urgent-worker-{rank}", "1") for rank in range(2)]
    assert creations(history) == dict.fromkeys(made, 1)
    assert most_gpus(history)["node"] == 2


@pytest.mark.slow
def test_whatever_the_last_write_was_a_target_gets_its_count_and_its_places(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    target = a_workload(replicas=1, gated=True)
    make(scene, target)
    job = a_targeting_job(target=target, replicas=3)
    with PodHistory(scene) as history:
        scene.apply(job)
        grown = mortal.die_after_every_write(lambda: serves(scene, job, target, 3))
        scale(scene, job, 1)
        shrunk = mortal.die_after_every_write(lambda: serves(scene, job, target, 1))
        made = [name_of(pod) for pod in history.created()]
    assert grown >= 5, "status, count, three pods"
    assert shrunk >= 3, "status, two pods marked, count"
    assert len(made) == 3, "nobody was made twice"


@pytest.mark.slow
@pytest.mark.usefixtures("all_controllers")
@pytest.mark.parametrize(
    "made",
    [
        # Nothing holds its pods yet: that is the first thing to be written.
        pytest.param(partial(a_batch_job, queue=None, held=False), id="Job"),
        pytest.param(a_jobset, id="JobSet"),
        pytest.param(a_train_job, id="TrainJob"),
        pytest.param(partial(a_pytorch_job, workers=1), id="PyTorchJob"),
        pytest.param(a_ray_cluster, id="RayCluster"),
        pytest.param(a_ray_job, id="RayJob"),
        pytest.param(an_app_wrapper, id="AppWrapper"),
    ],
)
def test_whatever_the_last_write_was_a_workload_of_any_kind_starts_yields_and_comes_back(
    scene: Scene, mortal: Mortal, made: Callable[[], Manifest]
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    workload = made()
    workload["metadata"]["labels"] = {QUEUE: "default"}
    workload["spec"] |= suspension(workload, suspended=True)
    urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
    with PodHistory(scene) as history:
        create_workload(scene, workload)
        begun = mortal.die_after_every_write(lambda: is_adopted_and_runs(scene, workload))
        scene.apply(a_priority_class("urgent", 1000), urgent)
        ended = mortal.die_after_every_write(
            lambda: runs(scene, urgent) and not workload_pods(scene, workload)
        )
        scene.delete(urgent)
        again = mortal.die_after_every_write(lambda: is_adopted_and_runs(scene, workload))
        assert_nothing_is_left_to_do(scene, mortal)
    assert begun >= 6, "gates; stand-in; status; resumed; two pods; that it runs"
    assert ended >= 6, "status; suspended; status, Service, two pods"
    assert again >= 4, "status; resumed; two pods; that it runs"
    assert most_gpus(history)["node"] == 2
    made_pods = [pod for pod in history.created() if name_of(pod).startswith("train-")]
    assert len([pod for pod in made_pods if asks_for_gpus(pod)]) == 4, "twice two"


@pytest.mark.slow
@pytest.mark.usefixtures("all_controllers")
def test_whatever_the_last_write_was_a_ray_cluster_grows_and_shrinks_while_it_runs(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    sizes = {"workers.min": "1", "workers.max": "4"}
    workload = suspended(asking(a_ray_cluster(workers=2), sizes))
    with PodHistory(scene) as history:
        create_workload(scene, workload)
        mortal.die_after_every_write(lambda: is_adopted_and_runs(scene, workload))
        scene.add_nodes(fake_node("more", gpus=2))
        grown = mortal.die_after_every_write(lambda: has_workers(scene, workload, 4))
        urgent = a_training_job("urgent", workers=2, priorityClassName="urgent")
        scene.apply(a_priority_class("urgent", 1000), urgent)
        shrunk = mortal.die_after_every_write(
            lambda: runs(scene, urgent) and has_workers(scene, workload, 2)
        )
        assert_nothing_is_left_to_do(scene, mortal)
    assert grown >= 4, "status; size; two pods; that they run"
    assert shrunk >= 5, "status; size; status, Service, two pods"
    most = most_gpus(history)
    assert (most["node"], most["more"]) == (2, 2)
    made = [pod for pod in history.created() if name_of(pod).startswith("train-")]
    assert len(made) == 5, "its head, and each of four workers once"


def has_workers(scene: Scene, workload: Manifest, size: int) -> bool:
    """Whether it runs with so many, and no other pod of it is left but its head."""
    stand_in = stand_in_of(workload)
    there = len(workload_pods(scene, workload)) == size + 1
    return there and runs(scene, stand_in) and len(scene.pods_of(stand_in)) == size


@pytest.mark.slow
def test_whatever_the_last_write_was_plain_pods_start_and_are_let_go(
    scene: Scene, mortal: Mortal
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    group, waiting = a_pod_group(), a_pod_group("waiting")
    with PodHistory(scene) as history:
        for each in (group, waiting):
            create_workload(scene, each)
            for number in range(2):
                pod = gated(a_grouped_pod(number, name_of(each)))
                scene.api.create(f"/api/v1/namespaces/{scene.namespace}/pods", pod)
        begun = mortal.die_after_every_write(
            lambda: is_adopted_and_runs(scene, group) and waits_as_adopted(scene, waiting)
        )
        patch_workload(scene, waiting, {"metadata": {"labels": {QUEUE: None}}})
        let_go = mortal.die_after_every_write(lambda: has_no_gates(scene, waiting))
        mortal.gate.allow(1000)
        with mortal.life(0):  # what is deleted is read by a patch that changes nothing
            wait_until(
                lambda: not scene.api.exists(stand_in_path(scene, waiting)),
                timeout_seconds=LONG,
                what="nothing stands for it",
            )
        assert_nothing_is_left_to_do(scene, mortal)
    assert begun >= 6, "two stand-ins; status, two pods, that it runs; status of the other"
    assert let_go >= 1, "two pods"
    assert most_gpus(history)["node"] == 2


def waits_as_adopted(scene: Scene, group: Manifest) -> bool:
    found = stand_in_of(group)
    there = scene.api.exists(stand_in_path(scene, group))
    return there and waits(scene, found, "InsufficientGPUs")


def has_no_gates(scene: Scene, group: Manifest) -> bool:
    pods = [scene.api.get(scene.path("Pod", f"{name_of(group)}-{number}")) for number in range(2)]
    return not any("schedulingGates" in pod["spec"] for pod in pods)


@pytest.mark.slow
def test_whatever_the_last_write_was_a_gang_gets_each_of_its_nodes_once(
    karpenter: Karpenter, scene: Scene, mortal: Mortal
) -> None:
    del karpenter
    NodeClaims(scene.api, scene.namespace).set_boot_time(0)
    since = scene.api.get(NODE_CLAIMS)["metadata"]["resourceVersion"]
    gang = a_training_job("gang", workers=3, gpus=8)
    scene.apply(a_pool_of("h100", idleTime="1s"), gang)
    begun = mortal.die_after_every_write(lambda: runs(scene, gang))
    ordered = [each["metadata"]["name"] for each in scene.api.items(NODE_CLAIMS)]
    scene.delete(gang)
    ended = mortal.die_after_every_write(lambda: not scene.api.items(NODE_CLAIMS))
    assert sorted(ordered) == ["h100-1", "h100-2", "h100-3"]
    assert begun >= 8, "that it waits; three nodes; status, Service, three pods; it runs"
    assert ended >= 6, "each node is closed, and given back"
    made: list[str] = []
    for event in scene.api.watch(NODE_CLAIMS, since):
        made += [event["object"]["metadata"]["name"]] if event["type"] == "ADDED" else []
        if event["type"] == "DELETED":
            break
    assert sorted(made) == sorted(ordered), "none was ordered twice"


@pytest.mark.slow
@pytest.mark.usefixtures("provisioning_requests")
def test_whatever_the_last_write_was_a_gang_gets_all_its_nodes_by_one_request(
    scene: Scene, mortal: Mortal
) -> None:
    since = scene.api.get(REQUESTS)["metadata"]["resourceVersion"]
    gang = a_training_job("gang", workers=3, gpus=8)
    scene.apply(an_autoscaled_pool(), gang)
    with cluster_autoscaler(scene.api) as autoscaler:

        def is_done() -> bool:
            left = autoscaler.names() or autoscaler.templates()
            return runs(scene, gang) and not left

        crashes = mortal.die_after_every_write(is_done)
        assert autoscaler.group("h100").made == 3
    assert crashes >= 8, "template, request; status, Service, three pods; the two are removed"
    made: list[str] = []
    for event in scene.api.watch(REQUESTS, since):
        made += [event["object"]["metadata"]["name"]] if event["type"] == "ADDED" else []
        if event["type"] == "DELETED":
            break
    assert made == ["h100-1"], "none was requested twice"


def asks_for_gpus(pod: Manifest) -> bool:
    limits = (each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"])
    return any("nvidia.com/gpu" in each for each in limits)


def is_over(scene: Scene, gang: Manifest) -> bool:
    """Whether it is complete, and only its launcher's pod is left."""
    pods = [name_of(pod) for pod in scene.pods_of(gang)]
    return scene.status(gang).get("reason") == "Completed" and pods == ["gang-launcher-0"]


def is_adopted_and_runs(scene: Scene, job: Manifest) -> bool:
    found = stand_in_of(job)
    there = scene.api.exists(scene.path("TrainingJob", found["metadata"]["name"]))
    return there and runs(scene, found) and len(scene.pods_of(found)) == 2


def serves(scene: Scene, job: Manifest, target: Manifest, replicas: int) -> bool:
    status, pods = scene.status(job), pods_of_workload(scene, target)
    there = (status.get("reason"), status.get("readySummary"), status.get("target", {}))
    wanted = ("Running", f"{replicas}/{replicas}", replicas)
    return (there[0], there[1], there[2].get("replicas")) == wanted and len(pods) == replicas


@pytest.mark.slow
@pytest.mark.parametrize("spoil", Spoil)
def test_every_write_may_fail_once_and_nothing_is_doubled_or_lost(
    scene: Scene, mortal: Mortal, spoil: Spoil
) -> None:
    scene.add_nodes(fake_node("node", gpus=3))
    gang, service = a_training_job("gang", workers=2), an_inference_job("serve")
    other = a_training_job("other", workers=2)
    mortal.gate.allow(1000)
    mortal.gate.spoil = spoil
    with PodHistory(scene) as history, mortal.life(0):
        scene.apply(gang, service)
        scene.running(gang)
        scene.running(service)
        scene.edit(gang, {"suspend": True})
        scene.apply(other)
        scene.running(other)
    pods = [f"{job}-worker-{rank}" for job in ("gang", "other") for rank in range(2)]
    assert creations(history) == {(name, "1"): 1 for name in [*pods, "serve-server-0"]}
    assert most_gpus(history) == {"node": 3}
    deleted = {write for write in mortal.gate.spoilt if write.startswith("DELETE")}
    assert len(deleted) == 2
    assert len(mortal.gate.spoilt) >= 12, "three statuses, two Services, five pods, two deletions"


@pytest.mark.slow
@pytest.mark.parametrize("spoil", Spoil)
def test_the_only_pod_of_a_job_is_made_once_though_every_write_fails_once(
    scene: Scene, mortal: Mortal, spoil: Spoil
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    first, second = a_training_job("first"), a_training_job("second")
    mortal.gate.allow(1000)
    mortal.gate.spoil = spoil
    with PodHistory(scene) as history, mortal.life(0):
        scene.apply(first, second)
        scene.running(first)
        scene.running(second)
    assert creations(history) == {(f"{name}-worker-0", "1"): 1 for name in ("first", "second")}
    assert len(mortal.gate.spoilt) >= 4, "two pods, two statuses"


def assert_nothing_is_left_to_do(scene: Scene, mortal: Mortal) -> None:
    """An operator that is started now looks at all of it, and writes nothing here but events.

    Elsewhere it may: what earlier tests have left in their namespaces is removed after them.
    """
    mortal.gate.allow(1000)
    before = len(mortal.gate.written)
    with scene.operator as operator:
        wait_until(
            lambda: operator.metric("plimsoll_loop_seconds_count") >= 2,
            timeout_seconds=LONG,
            what="the operator has looked twice",
        )
        operator.stop()
    here = f"/namespaces/{scene.namespace}/"
    written = [write for write in mortal.gate.written[before:] if here in write]
    assert [write for write in written if f"{here}events" not in write] == []
