"""Jobs that target what they should not, or what never answers, harm nobody but themselves."""

import re
import secrets
import socket
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.processes.operator_process import OperatorProcess
from plimsoll_devcluster.processes.short_lives import forked_operator
from plimsoll_devcluster.waiting import PATIENCE, wait_until
from support.clusters.neighbours import placed_meanwhile
from support.clusters.scene import GROUP, SECONDS, Scene
from support.clusters.target_lives import (
    GATE,
    a_targeting_job,
    a_workload,
    make,
    nodes_of,
    path_of,
    pods_of_workload,
    until_ready,
)
from support.clusters.tenants import beside
from support.objects.job_manifests import a_training_job
from support.servers.scalable_kinds import a_kind_that_hangs, a_scalable_kind

pytestmark = pytest.mark.slow

OPERATOR_ENVIRONMENT: Final[Mapping[str, str]] = {"PLIMSOLL_TARGET_SECONDS": "1"}
HANGING: Final = 200


@pytest.fixture
def other(scene: Scene) -> Iterator[Scene]:
    """Another tenant's namespace, in which all goes on as ever."""
    with beside(scene, "other") as neighbour:
        yield neighbour


def is_unharmed(other: Scene) -> None:
    """Another tenant's job is placed and runs, and no turn has failed."""
    job = placed_meanwhile(other, f"plain-{secrets.token_hex(4)}")
    other.running(job)
    assert other.operator.metric("plimsoll_loop_errors_total") == 0
    other.delete(job)


@pytest.fixture
def patient(control_plane: Cluster, operator: OperatorProcess) -> Iterator[OperatorProcess]:
    """An operator that gives up no target as long as anybody waits for a test."""
    operator.stop()
    never = {"PLIMSOLL_TARGET_SECONDS": str(10 * SECONDS * PATIENCE)}
    with forked_operator(control_plane.kubeconfig, never) as process:
        yield process
        assert process.stop() == 0


@pytest.fixture
def _hanging_kind(api: ApiServer, namespace: str) -> Iterator[None]:
    """Objects of a kind that never answers in version v1beta1."""
    with a_kind_that_hangs(api, "slow.example", "SlowServer") as root:
        servers = f"{root}/namespaces/{namespace}/slowservers"
        api.create_all(servers, [a_slow_server(number, "v1") for number in range(HANGING)])
        yield


def a_slow_server(number: int, version: str) -> Manifest:
    server = a_workload(name=f"slow-{number}")
    return {**server, "apiVersion": f"slow.example/{version}", "kind": "SlowServer"}


@pytest.mark.usefixtures("_hanging_kind")
def test_targets_that_hang_delay_nobody(scene: Scene, patient: OperatorProcess) -> None:
    scene.add_nodes(fake_node("node", gpus=8))
    make_hang(scene)
    with beside(Scene(scene.api, scene.namespace, patient), "other") as other:
        is_unharmed(other)
        patient.kill()
        first = a_training_job("first")
        target = a_workload(gated=True)
        make(other, target)
        other.apply(first, a_targeting_job(target=target))
        patient.start()
        other.running(first)
        assert nodes_of(until_ready(other, target, 1)) == ["node"], "what answers is planned for"
        is_unharmed(other)


@pytest.mark.usefixtures("_hanging_kind")
def test_of_targets_that_hang_it_is_said_that_they_do(scene: Scene) -> None:
    jobs = make_hang(scene)
    message = wait_until(
        lambda: next((text for job in jobs if (text := said(scene, job))), ""),
        timeout_seconds=SECONDS,
        what="one of them is reported",
    )
    assert re.match(r"SlowServer slow-\d+ cannot be read now, no answer in time: ", message)


def make_hang(scene: Scene) -> list[Manifest]:
    """Make jobs whose targets are never answered for."""
    jobs = [
        a_targeting_job(f"job-{number}", target=a_slow_server(number, "v1beta1"))
        for number in range(HANGING)
    ]
    scene.api.create_all(f"{GROUP}/namespaces/{scene.namespace}/inferencejobs", jobs)
    return jobs


def said(scene: Scene, job: Manifest) -> str:
    """Why nothing can be done with the target of a job, "" where nothing is said of it."""
    status = scene.status(job)
    return status["message"] if status.get("reason") == "FailedGetScale" else ""


@pytest.fixture
def _hanging_writes(api: ApiServer, namespace: str) -> Iterator[None]:
    """Deployments of the namespace can be read, but not be scaled: a webhook never answers."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
    with socket.create_server(("127.0.0.1", 0), backlog=4096) as silent:
        rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"]}
        webhook = {
            "name": "scale.slow.example",
            "clientConfig": {"url": f"https://127.0.0.1:{silent.getsockname()[1]}/"},
            "rules": [{**rule, "resources": ["deployments/scale"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        api.create(path, {"metadata": {"name": namespace}, "webhooks": [webhook]})
        yield
        api.delete(f"{path}/{namespace}")


@pytest.mark.usefixtures("_hanging_writes")
def test_targets_that_cannot_be_scaled_delay_nobody(scene: Scene, other: Scene) -> None:
    scene.add_nodes(*(fake_node(f"node-{number}", gpus=8) for number in range(HANGING // 8 + 1)))
    targets = [a_workload(name=f"t{number}", replicas=0) for number in range(HANGING)]
    jobs = [
        a_targeting_job(f"job-{number}", target=target, bounds=(1, 1))
        for number, target in enumerate(targets)
    ]
    scene.api.create_all(path_of(scene, targets[0]).rpartition("/")[0], targets)
    scene.api.create_all(f"{GROUP}/namespaces/{scene.namespace}/inferencejobs", jobs)
    wait_until(
        lambda: sum("placement" in scene.status(job) for job in jobs) > 3,
        timeout_seconds=SECONDS,
        what="the first that were written to hang",
    )
    is_unharmed(other)


def a_pod_like(target: Manifest, name: str, **meta: object) -> Manifest:
    """A pod with the labels of a workload's pods, behind our gate, too."""
    template = target["spec"]["template"]
    whole = {"apiVersion": "v1", "kind": "Pod", **template}
    return {**whole, "metadata": {**template["metadata"], "name": name, **meta}}


def test_pods_of_other_controllers_are_not_touched_by_their_labels(
    scene: Scene, other: Scene
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(replicas=1, gated=True)
    make(scene, target)
    (mine,) = wait_until(
        lambda: pods_of_workload(scene, target), timeout_seconds=30, what="it has a pod"
    )
    kept = {**mine["metadata"]["ownerReferences"][0], "controller": False}
    strangers = (
        a_pod_like(target, "stranger"),
        a_pod_like(target, "owned", ownerReferences=[kept]),
    )
    pods = f"/api/v1/namespaces/{scene.namespace}/pods"
    scene.api.create_all(pods, strangers)
    make(other, target)
    job = a_targeting_job(target=target, replicas=2)
    scene.apply(job)
    scene.until(job, reason="Running")
    seen = {pod["metadata"]["name"]: pod for pod in pods_of_workload(scene, target)}
    for each in strangers:
        stranger = seen.pop(each["metadata"]["name"])
        assert stranger["spec"]["schedulingGates"] == [{"name": GATE}]
        assert stranger["metadata"]["labels"] == each["metadata"]["labels"]
    assert nodes_of(seen.values()) == ["node", "node"]
    assert nodes_of(pods_of_workload(other, target)) == [""], "in another namespace, too"
    is_unharmed(other)


def test_a_time_beyond_all_times_on_pods_of_a_target_harms_nobody(
    scene: Scene, other: Scene
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    target = a_workload(replicas=1, gated=True)
    beyond = {"plimsoll.dev/placed-at": "999999999999999"}
    target["spec"]["template"]["metadata"] = {"labels": {"app": "web", **beyond}}
    make(scene, target)
    job = a_targeting_job(target=target)
    scene.apply(job)
    assert nodes_of(until_ready(scene, target, 1)) == ["node"]
    scene.until(job, reason="Running")
    is_unharmed(other)


@pytest.fixture
def groups(api: ApiServer, namespace: str) -> Iterator[str]:
    """Where LeaderWorkerSets of a namespace are; nobody controls them."""
    with a_scalable_kind(api, "leaderworkerset.x-k8s.io", "LeaderWorkerSet") as root:
        yield f"{root}/namespaces/{namespace}/leaderworkersets"


def test_a_group_of_two_thousand_million_is_reported_and_harms_nobody(
    scene: Scene, other: Scene, groups: str
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    plain = a_workload()
    template = {"workerTemplate": plain["spec"]["template"], "size": 2_000_000_000}
    kind = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    target = {**plain, **kind, "spec": {"replicas": 1, "leaderWorkerTemplate": template}}
    scene.api.create(groups, target)
    selector = {"status": {"selector": "app=web"}}
    scene.api.merge(f"{groups}/web/status", selector)
    job = a_targeting_job(target=target)
    scene.apply(job)
    message = scene.until(job, reason="FailedGetScale")["message"]
    assert "spec.leaderWorkerTemplate.size" in message
    is_unharmed(other)
