"""The examples with programs that are to be had everywhere, on nodes that are too few for all."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from harness.gpu_nodes import Nodes, offer_gpus
from harness.real_cluster import RealCluster
from harness.stand_ins import with_stand_ins
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest, manifests_in
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import condition, label, name_of
from support.clusters.scene import Scene, conditions, gpu_limits

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
GPUS = (16, 24)
SETTLED_SECONDS = 180
URGENT = "hotfix-retrain"
GIVES_WAY = {"Preempted", "InCohortReclamation"}
"""Who loses its place to the urgent job may take back from another what its queue is guaranteed."""


def documents(file: Path) -> Iterator[Manifest]:
    yield from manifests_in(file.read_text())


def cluster_settings() -> list[Manifest]:
    return [each for each in documents(EXAMPLES / "cluster.yaml") if each["kind"] != "Node"]


def jobs(image: str) -> list[Manifest]:
    """The jobs; none is left alone for having started first, for that is chance here."""
    files = sorted((EXAMPLES / "jobs").glob("*.yaml"))
    found = [with_stand_ins(job, image) for file in files for job in documents(file)]
    for job in found:
        job["spec"].get("disruption", {}).pop("minRuntime", None)
    return found


@pytest.fixture
def busy(scene: Scene, gpu_nodes: Nodes, image: str) -> list[Manifest]:
    """All jobs of the examples but the urgent one, on 16 H100 and 24 A100."""
    racks = ("rack-a", "rack-b")
    kinds = (H100, A100)
    for name, gpus, kind, rack in zip(gpu_nodes.names, GPUS, kinds, racks, strict=True):
        offer_gpus(scene.api, name, gpus, kind, labels={"plimsoll.dev/rack": rack})
    scene.apply(*cluster_settings())
    usual = [job for job in jobs(image) if name_of(job) != URGENT]
    scene.apply(*usual)
    settle(scene, usual)
    return usual


def settle(scene: Scene, those: list[Manifest]) -> None:
    """Wait until each job runs or says why it does not."""

    def unsettled() -> dict[str, str]:
        statuses = {name_of(job): scene.status(job) for job in those}
        return {
            name: str(status.get("reason"))
            for name, status in statuses.items()
            if conditions(status).get("Running") != "True"
            and conditions(status).get("Admitted") != "False"
        }

    wait_until(
        lambda: not unsettled(), timeout_seconds=SETTLED_SECONDS, what="each job runs or waits"
    )


def pods(scene: Scene) -> list[Manifest]:
    ours = f"/api/v1/namespaces/{scene.namespace}/pods"
    return [pod for pod in scene.api.items(ours) if "deletionTimestamp" not in pod["metadata"]]


def used_gpus(found: list[Manifest]) -> dict[str, int]:
    used: dict[str, int] = {}
    for pod, limits in zip(found, gpu_limits(found), strict=True):
        node = pod["spec"]["nodeName"]
        used[node] = used.get(node, 0) + int(limits.get("nvidia.com/gpu", 0))
    return used


def documented_reasons() -> set[str]:
    table = (ROOT / "docs" / "reference" / "reasons.md").read_text()
    return set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE))


def test_each_job_runs_with_all_its_pods_or_says_in_words_of_the_docs_why_not(
    scene: Scene, gpu_nodes: Nodes, busy: list[Manifest], cluster: RealCluster
) -> None:
    found = pods(scene)
    used = used_gpus(found)
    assert all(used[n] <= gpus for n, gpus in zip(gpu_nodes.names, GPUS, strict=True)), used
    assert sum(used.values()) >= 0.8 * sum(GPUS), "jobs enough for all of them were applied"
    assert {pod["status"]["phase"] for pod in found} == {"Running"}
    running = {label(pod, "job-name") for pod in found}
    assert {"chat", "assistant"} <= running, "these have the highest priority"
    statuses = {name_of(job): scene.status(job) for job in busy}
    for name, status in statuses.items():
        assert (conditions(status).get("Running") == "True") == (name in running), status
        assert status["reason"] in documented_reasons()
    # No node has such GPUs at all; all H100 of the example's cluster are twice those of this one.
    assert statuses["notebook"]["reason"] == "CannotFit", statuses["notebook"]
    assert statuses["embed-corpus"]["reason"] == "CannotFit", statuses["embed-corpus"]
    assert statuses["pretrain-large"]["reason"] == "CannotFit", statuses["pretrain-large"]
    assert "4 pods with 8 × NVIDIA-H100-80GB-HBM3" in statuses["pretrain-large"]["message"]
    wait_until(
        lambda: are_shown(scene, cluster, busy),
        timeout_seconds=SETTLED_SECONDS,
        what="kubectl get shows each job's reason",
    )


def are_shown(scene: Scene, cluster: RealCluster, those: list[Manifest]) -> bool:
    reasons = {name_of(job): scene.status(job)["reason"] for job in those}
    shown = cluster.kubectl("get", "tj,ij", f"--namespace={scene.namespace}")
    return all(re.search(rf"/{name} .*\b{why}\b", shown) for name, why in reasons.items())


def test_an_urgent_job_takes_its_place_from_jobs_of_lower_priority(
    scene: Scene, busy: list[Manifest], image: str, cluster: RealCluster
) -> None:
    before = {label(pod, "job-name") for pod in pods(scene)}
    (urgent,) = (job for job in jobs(image) if name_of(job) == URGENT)
    scene.apply(urgent)
    found = scene.running(urgent)
    assert len(found.pods) == 2
    settle(scene, busy)
    after = {label(pod, "job-name") for pod in pods(scene)}
    victims = before - after
    assert victims
    for job in busy:
        if name_of(job) in victims:
            wait_until(
                lambda job=job: GIVES_WAY & {event["reason"] for event in scene.all_events(job)},
                timeout_seconds=scene.patience_seconds,
                what=f"{name_of(job)} says why it gives way",
            )
            said = condition(scene.status(job), "Admitted")
            assert said["status"] == "False"
    described = cluster.kubectl("describe", "tj", URGENT, f"--namespace={scene.namespace}")
    assert "Admitted" in described
    assert "Running" in described
    assert {pod["status"]["phase"] for pod in pods(scene)} == {"Running"}


def test_all_settings_of_the_examples_are_taken(scene: Scene, busy: list[Manifest]) -> None:
    assert busy
    absent = {"l4-spot", "t4", "t4-shared"}
    for manifest in cluster_settings():
        if manifest["apiVersion"].startswith("plimsoll.dev"):
            said = cast("list[Manifest]", scene.status(manifest).get("conditions", []))
            planned = "WithinBudget" if manifest["kind"] == "PowerDomain" else "Planned"
            expected = "NoEligibleNode" if name_of(manifest) in absent else planned
            # Nobody asks here what GPUs draw.
            found = {each["reason"] for each in said} - {"PowerUnknown", "CapsApplied"}
            assert found == {expected}, said
