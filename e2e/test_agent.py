"""The agent in a real cluster, on a node that says that it has GPUs and has none."""

from collections.abc import Iterator

import pytest

from harness.confinement import NOBODY, seen_from_within
from harness.gpu_nodes import Nodes
from harness.real_cluster import RealCluster
from harness.release import NAME, NAMESPACE, Release
from plimsoll_devcluster.fake_nodes import NODES
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import GROUP
from support.objects.job_manifests import a_policy

PODS = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=app.kubernetes.io/name={NAME}-agent"
WANTED = "plimsoll.dev/power-cap-watts"
PROBLEM = "plimsoll.dev/power-limit-problem"
SECONDS = 120
SYS_ADMIN = 1 << 21


@pytest.fixture
def agents(gpu_nodes: Nodes, release: Release) -> Iterator[list[Manifest]]:
    """The agents' pods once all of them are ready: there is one, on the node with GPUs."""
    gpu_nodes.offer(3)
    release.install({"agent.enabled": "true"})
    wait_until(
        lambda: [is_ready(pod) for pod in gpu_nodes.api.items(PODS)] == [True],
        timeout_seconds=SECONDS,
        what="the agent is ready",
    )
    yield gpu_nodes.api.items(PODS)
    release.install()


def leave_caps_to_the_test(gpu_nodes: Nodes) -> None:
    """Have the operator set and lift none, and wait until it knows."""
    path = f"{GROUP}/placementpolicies/default"
    gpu_nodes.api.apply(path, a_policy(mode="Advise"))
    wait_until(
        lambda: gpu_nodes.api.get(path).get("status", {}).get("observedGeneration"),
        timeout_seconds=SECONDS,
        what="the policy is known",
    )


def is_ready(pod: Manifest) -> bool:
    conditions = {each["type"]: each["status"] for each in pod["status"].get("conditions", ())}
    return conditions.get("Ready") == "True"


def test_an_agent_without_a_driver_idles_and_says_why_a_cap_cannot_be_set(
    agents: list[Manifest], gpu_nodes: Nodes, cluster: RealCluster
) -> None:
    (pod,) = agents
    node = f"{NODES}/{gpu_nodes.names[0]}"
    assert pod["spec"]["nodeName"] == gpu_nodes.names[0]
    assert PROBLEM not in gpu_nodes.api.get(node)["metadata"]["annotations"]
    leave_caps_to_the_test(gpu_nodes)
    gpu_nodes.api.merge(node, {"metadata": {"annotations": {WANTED: "300"}}})
    try:
        wait_until(
            lambda: (
                gpu_nodes.api.get(node)["metadata"]["annotations"].get(PROBLEM)
                == "no power limit can be set here: NVML Shared Library Not Found"
            ),
            timeout_seconds=SECONDS,
            what="the node says why it is not capped",
        )
    finally:
        gpu_nodes.api.merge(node, {"metadata": {"annotations": {WANTED: None, PROBLEM: None}}})
    assert seen_from_within(cluster, pod) == {**NOBODY, "user": 0, "capabilities": SYS_ADMIN}
    (container,) = gpu_nodes.api.items(PODS)[0]["status"]["containerStatuses"]
    assert container["restartCount"] == 0
