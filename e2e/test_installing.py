"""The chart in a real cluster: what runs, with which rights, how it is changed and taken away."""

import sys
from pathlib import Path

import pytest

from harness.commands import run
from harness.confinement import NOBODY, seen_from_within
from harness.deployed_operator import DeployedOperator
from harness.gpu_nodes import Nodes
from harness.real_cluster import RealCluster
from harness.release import CHART, NAMESPACE, Release
from harness.stand_ins import template
from plimsoll_devcluster.manifest import manifests_in
from plimsoll_devcluster.waiting import wait_until
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job, an_inference_job


def test_two_replicas_are_ready_and_one_of_them_acts(operator: DeployedOperator) -> None:
    assert operator.ready() == 2
    leader = operator.leader()
    wait_until(
        lambda: operator.metric("plimsoll_leader") == 1, timeout_seconds=60, what="one says so"
    )
    assert "plimsoll_leader 1.0" in operator.answer(leader, "/metrics")
    for pod in operator.pods():
        assert operator.answer(pod, "/healthz") == "ok"
        assert operator.answer(pod, "/readyz") == "ok"
        (container,) = pod["status"]["containerStatuses"]
        assert container["restartCount"] == 0


def test_metrics_are_served_by_the_service(cluster: RealCluster, release: Release) -> None:
    assert release
    service = f"/api/v1/namespaces/{NAMESPACE}/services/plimsoll-metrics:http/proxy/metrics"
    assert "plimsoll_loop_seconds_count" in cluster.api.text(service)


def test_it_runs_as_nobody_writes_nowhere_and_can_gain_nothing(
    cluster: RealCluster, operator: DeployedOperator
) -> None:
    assert seen_from_within(cluster, operator.pods()[0]) == NOBODY


ALL_OF_THE_CONSOLE = ("console.enabled=true", "console.ledger.enabled=true")


@pytest.mark.parametrize(
    "values",
    [(), ("replicaCount=1", "snapshots.enabled=true"), ("agent.enabled=true",), ALL_OF_THE_CONSOLE],
)
def test_the_api_server_takes_all_that_is_rendered(
    cluster: RealCluster, release: Release, values: tuple[str, ...]
) -> None:
    assert release
    settings = [f"--set={value}" for value in values]
    manifests = run("helm", "template", "other", CHART, f"--namespace={NAMESPACE}", *settings)
    strict = ("--dry-run=server", "--validate=strict", "--force-conflicts", "--server-side")
    output = cluster.kubectl("apply", *strict, "--filename=-", stdin=manifests)
    assert len(output.splitlines()) == len(manifests_in(manifests))


def test_a_snapshot_of_the_cluster_is_written_and_replayed_elsewhere(
    cluster: RealCluster, release: Release, operator: DeployedOperator, tmp_path: Path
) -> None:
    release.install({"snapshots.enabled": "true", "snapshots.seconds": "0", "replicaCount": "1"})
    name = str(operator.leader()["metadata"]["name"])
    show = 'cat "$(ls /snapshots/*.json | tail -1)"'  # as docs/guides/install.md has it
    listed = ("exec", name, f"--namespace={NAMESPACE}", "--", "sh", "-c")
    wait_until(
        lambda: "json" in cluster.kubectl(*listed, "ls /snapshots"),
        timeout_seconds=60,
        what="a snapshot is written",
    )
    file = tmp_path / "snapshot.json"
    file.write_text(cluster.kubectl(*listed, show))
    assert "0 jobs placed" in run(Path(sys.executable).with_name("plimsoll"), "replay", file)
    release.install()


def test_jobs_outlive_the_operator_and_are_taken_up_again_as_they_are(
    scene: Scene, gpu_nodes: Nodes, release: Release, operator: DeployedOperator, image: str
) -> None:
    gpu_nodes.offer(3)
    jobs = (
        a_training_job("train", workers=2, template=template(image)),
        an_inference_job("serve", template=template(image)),
    )
    scene.apply(*jobs)
    before = [scene.running(job).uids for job in jobs]
    release.uninstall()
    assert not operator.pods()
    assert [{pod["metadata"]["uid"] for pod in scene.pods_of(job)} for job in jobs] == before
    release.install()
    operator.leader()
    more = an_inference_job("later", template=template(image), gpus="1", replicas=0)
    scene.apply(more)
    scene.until(more, reason="ScaledToZero")
    assert [scene.running(job).uids for job in jobs] == before
