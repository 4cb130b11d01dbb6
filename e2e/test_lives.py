"""What becomes of jobs whose pods really run: they grow, give way, move, end, fail and go on."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from harness.deployed_operator import DeployedOperator
from harness.gpu_nodes import Nodes
from harness.real_cluster import PATIENCE_SECONDS, RealCluster
from harness.stand_ins import template
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, scale, until_gone
from support.clusters.scene import Scene, conditions
from support.objects.job_manifests import a_priority_class, a_training_job, an_inference_job


def end(scene: Scene, pod: Manifest, status: int) -> None:
    """Let the program of a pod end with a status."""
    scene.api.text(f"{scene.path('Pod', name_of(pod))}:8000/proxy/end/{status}")


@contextmanager
def followed(cluster: RealCluster, pod: Manifest, file: Path) -> Generator[Path]:
    """Write down all that a pod says from now on, to its end."""
    meta = pod["metadata"]
    follow = ("logs", "--follow", meta["name"], f"--namespace={meta['namespace']}")
    with file.open("w") as output:
        process = subprocess.Popen(
            ["kubectl", f"--kubeconfig={cluster.kubeconfig}", *follow], stdout=output
        )
        wait_until(
            lambda: "serves" in file.read_text(),
            timeout_seconds=PATIENCE_SECONDS,
            what=f"{meta['name']} is followed",
        )
        yield file
        process.wait(PATIENCE_SECONDS)


def test_a_service_grows_and_shrinks_with_its_scale_and_the_rest_stays(
    scene: Scene, gpu_nodes: Nodes, image: str, cluster: RealCluster
) -> None:
    gpu_nodes.offer(2, 2)
    role = {"replicas": {"min": 1, "max": 3}}
    job = an_inference_job("serve", role=role, template=template(image))
    scene.apply(job)
    one = scene.running(job)
    here = f"--namespace={scene.namespace}"
    cluster.kubectl("scale", "inferencejob/serve", "--replicas=3", here)
    three = scene.running(job)
    assert len(three.pods) == 3
    assert one.uids < three.uids
    assert len(set(three.nodes)) == 2
    scale(scene, job, 1)
    wait_until(
        lambda: len(scene.pods_of(job)) == 1,
        timeout_seconds=PATIENCE_SECONDS,
        what="one replica is left",
    )
    assert scene.running(job).uids < three.uids


def test_a_preempted_job_ends_and_comes_back_when_there_is_room(
    scene: Scene, gpu_nodes: Nodes, image: str, cluster: RealCluster, tmp_path: Path
) -> None:
    gpu_nodes.offer(2)
    low = a_training_job("low", workers=2, template=template(image))
    urgent = a_training_job(
        "urgent", workers=2, priorityClassName="e2e-urgent", template=template(image)
    )
    scene.apply(a_priority_class("e2e-urgent", 1000), low)
    victim = scene.running(low).pods[0]
    with followed(cluster, victim, tmp_path / "log") as log:
        scene.apply(urgent)
        winners = scene.running(urgent)
    assert "ends: SIGTERM" in log.read_text()
    assert scene.events(low, "Preempted")
    status = scene.status(low)
    assert (status["reason"], conditions(status)["Admitted"]) == ("LowerPriority", "False")
    assert "2 × NVIDIA-H100-80GB-HBM3" in status["message"]
    for pod in winners.pods:
        end(scene, pod, 0)
    scene.until(urgent, reason="Completed")
    again = scene.running(low)
    assert len(again.pods) == 2


def test_what_is_drained_from_a_node_goes_on_on_another(
    scene: Scene, gpu_nodes: Nodes, image: str, cluster: RealCluster
) -> None:
    leaves, stays = gpu_nodes.offer(2, 2)
    jobs = (
        a_training_job("train", template=template(image)),
        an_inference_job("serve", template=template(image)),
    )
    scene.apply(*jobs)
    for job in jobs:
        scene.running(job)
    mine = "--pod-selector=plimsoll.dev/job-name"
    cluster.kubectl("drain", leaves, mine, "--timeout=60s")
    for job in jobs:
        wait_until(
            lambda job=job: {pod["spec"].get("nodeName") for pod in scene.pods_of(job)} == {stays},
            timeout_seconds=PATIENCE_SECONDS,
            what=f"{name_of(job)} is on {stays}",
        )
        assert set(scene.running(job).nodes) == {stays}
        assert "Complete" not in conditions(scene.status(job))


def test_a_node_with_a_spot_notice_is_left_at_once(
    scene: Scene, gpu_nodes: Nodes, image: str
) -> None:
    going, stays = gpu_nodes.offer(2, 2)
    job = a_training_job("train", workers=2, template=template(image))
    scene.apply(job)
    first = scene.running(job).nodes
    going, stays = (going, stays) if first[0] == going else (stays, going)
    assert first == [going, going], "a gang is kept together"
    notice = {"key": "aws-node-termination-handler/spot-itn", "effect": "NoSchedule"}
    scene.node(going, {"spec": {"taints": [{**notice, "value": "e2e"}]}})
    scene.until(job, revision=2)
    assert scene.running(job).nodes == [stays, stays]
    assert any("NodeLeft" in str(event) for event in scene.all_events(job))


def test_a_gang_is_complete_when_all_its_workers_have_succeeded(
    scene: Scene, gpu_nodes: Nodes, image: str
) -> None:
    gpu_nodes.offer(1, 1)
    job = a_training_job("train", workers=2, template=template(image))
    scene.apply(job)
    found = scene.running(job)
    assert len(set(found.nodes)) == 2
    for pod in found.pods:
        end(scene, pod, 0)
    status = scene.until(job, reason="Completed")
    assert conditions(status) == {"Admitted": "False", "Running": "False", "Complete": "True"}
    log = f"/api/v1/namespaces/{scene.namespace}/pods/{name_of(found.pods[0])}/log"
    assert "ends: asked" in scene.api.text(log), "what it has printed can be read"


def test_a_failed_worker_starts_its_gang_anew_until_it_has_failed_too_often(
    scene: Scene, gpu_nodes: Nodes, image: str
) -> None:
    gpu_nodes.offer(2)
    rules = {"maxRestarts": 1, "backoff": {"initial": "1s", "max": "1s"}}
    job = a_training_job("train", workers=2, template=template(image), faultTolerance=rules)
    scene.apply(job)
    first = scene.running(job)
    end(scene, first.pods[1], 1)
    scene.until(job, restarts=1)
    second = scene.running(job)
    assert not first.uids & second.uids
    end(scene, second.pods[0], 1)
    status = scene.until(job, reason="BackoffLimitExceeded")
    assert "worker 0" in status["message"]
    assert "exit code 1" in status["message"]


def test_when_the_operator_crashes_another_replica_goes_on_and_disturbs_nothing(
    scene: Scene,
    gpu_nodes: Nodes,
    operator: DeployedOperator,
    image: str,
    cluster: RealCluster,
) -> None:
    gpu_nodes.offer(2)
    job, later = (a_training_job(name, template=template(image)) for name in ("train", "later"))
    scene.apply(job)
    before = scene.running(job).uids
    leader = operator.leader()
    cluster.crash(leader)
    scene.apply(later)
    scene.running(later)
    assert scene.running(job).uids == before
    wait_until(
        lambda: operator.ready() == 2, timeout_seconds=PATIENCE_SECONDS, what="both are ready"
    )


def test_jobs_are_deleted_with_all_that_was_made_for_them(
    scene: Scene, gpu_nodes: Nodes, image: str
) -> None:
    gpu_nodes.offer(2)
    job = a_training_job("train", workers=2, template=template(image))
    scene.apply(job)
    scene.running(job)
    services = f"/api/v1/namespaces/{scene.namespace}/services"
    assert [name_of(each) for each in scene.api.items(services)] == ["train"]
    scene.delete(job)
    until_gone(scene, job)
    wait_until(
        lambda: not scene.api.items(services),
        timeout_seconds=PATIENCE_SECONDS,
        what="its Service is gone",
    )


def test_the_log_reports_a_job_in_the_words_of_its_events(
    scene: Scene, gpu_nodes: Nodes, operator: DeployedOperator, image: str
) -> None:
    gpu_nodes.offer(1)
    job = a_training_job("logged", template=template(image))
    scene.apply(job)
    scene.running(job)
    assert scene.events(job, "Admitted")
    lines = [line for line in operator.log_lines() if str(line.get("job")).endswith("/logged")]
    assert "Admitted" in {line.get("reason") for line in lines}
