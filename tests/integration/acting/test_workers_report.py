"""Workers report with the tokens of their pods, and what they say stands in their job's status."""

from pathlib import Path

import pytest
import urllib3

import plimsoll_worker
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import condition, environment, name_of
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_training_job, without_speeds
from support.programs.trainers import pod_token, worker_environment

URL = "http://plimsoll-workers.plimsoll-system.svc:8081"
OPERATOR_ENVIRONMENT = {"PLIMSOLL_WORKER_URL": URL}
HTTP = urllib3.PoolManager(retries=False, timeout=20)
WORK = {"amount": 1000, "unit": "samples"}


def answered(scene: Scene, token: str, job: str = "train") -> int:
    """The status of the answer to a report with this token."""
    answer = HTTP.request(
        "POST",
        f"{scene.operator.worker_url}/v1/report",
        json={"job": job, "done": 1},
        headers={"Authorization": f"Bearer {token}"},
    )
    return answer.status


def attached(scene: Scene, pod: Manifest, folder: Path) -> plimsoll_worker.Job:
    """The helper, as it would be in the pod's container."""
    return plimsoll_worker.attach(environment=worker_environment(scene, pod, folder))


def a_gang(scene: Scene) -> tuple[Manifest, tuple[Manifest, ...]]:
    """A job of two workers that runs, and its pods."""
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_training_job("train", workers=2, work=WORK)
    scene.apply(job)
    return job, scene.running(job).pods


def with_labels_of(scene: Scene, worker: Manifest) -> Manifest:
    """A pod that somebody made with the labels of a worker."""
    metadata = {"name": "pretender", "labels": worker["metadata"]["labels"]}
    containers = [{"name": "main", "image": "none"}]
    spec = {"containers": containers, "schedulingGates": [{"name": "plimsoll.dev/test"}]}
    pods = f"/api/v1/namespaces/{scene.namespace}/pods"
    return scene.api.create(pods, {"metadata": metadata, "spec": spec})


def test_pods_are_given_an_address_and_a_token_that_the_api_server_takes(scene: Scene) -> None:
    _, pods = a_gang(scene)
    for pod in pods:
        said = environment(pod)
        assert said["PLIMSOLL_WORKER_URL"] == URL
        mounts = pod["spec"]["containers"][0]["volumeMounts"]
        folders = {mount["mountPath"]: mount["name"] for mount in mounts}
        folder = str(Path(said["PLIMSOLL_TOKEN_FILE"]).parent)
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        sources = volumes[folders[folder]]["projected"]["sources"]
        assert [each["serviceAccountToken"]["audience"] for each in sources] == ["plimsoll.dev"]


def test_what_workers_report_stands_in_the_status_of_their_job(
    scene: Scene, tmp_path: Path
) -> None:
    job, pods = a_gang(scene)
    first, second = (attached(scene, pod, tmp_path) for pod in pods)
    with first, second:
        for worker, done in ((first, 400), (second, 390)):
            worker.progress(done=done, rate=10)
        first.saved(380)
        status = wait_until(
            lambda: (
                said
                if (said := scene.status(job)).get("progress", {}).get("savedDone") == "380"
                else None
            ),
            timeout_seconds=SECONDS,
            what="the checkpoint is in the status",
        )
        assert status is not None
        assert status["progress"]["unit"] == "samples"
        assert "lastCheckpoint" in status["progress"]
        second.saved(390)
        first.saved(400)
        status = wait_until(
            lambda: said if (said := scene.status(job))["progress"]["savedDone"] == "390" else None,
            timeout_seconds=SECONDS,
            what="the checkpoint is as far as its last part",
        )
        assert status is not None
        assert (status["progress"]["done"], status["progress"]["percent"]) == ("390", 39)
        assert status["progress"]["rate"] == "10"
        assert "expectedCompletion" in status


@pytest.mark.slow
def test_gradients_that_are_noisy_enough_are_worth_a_restart_with_a_larger_batch(
    scene: Scene, tmp_path: Path
) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    job = a_training_job(
        "train",
        workers=2,
        rates={H100: {1: 100, 2: 110}},
        batch={"size": 64, "maxSize": 4096, "maxAccumulation": 8},
        work={"amount": 10**9, "unit": "samples"},
        checkpoint={"saveSeconds": 1, "restoreSeconds": 1},
    )
    scene.apply(job)
    before = scene.running(job)
    assert {environment(pod)["PLIMSOLL_GLOBAL_BATCH"] for pod in before.pods} == {"64"}
    with attached(scene, before.pods[0], tmp_path) as worker:
        worker.progress(done=400, rate=110, gradient_noise=100_000)
        worker.saved(400)
        # It takes over half a minute on an idle machine.
        scene.patience_seconds = 2 * SECONDS
        scene.events(job, "BatchChanged")
        worker.progress(done=500)
        worker.saved(500)
    wait_until(
        lambda: not before.uids & {pod["metadata"]["uid"] for pod in scene.pods_of(job)},
        timeout_seconds=SECONDS,
        what="its first pods are gone",
    )
    after = scene.running(job)
    assert after.nodes == before.nodes
    [size] = {int(environment(pod)["PLIMSOLL_GLOBAL_BATCH"]) for pod in after.pods}
    assert 64 < size == after.status["placement"]["batch"]["size"] <= 4096
    assert after.status["progress"]["gradientNoise"] == "100000"


def test_only_the_token_of_a_worker_that_lives_is_good(scene: Scene) -> None:
    _, (first, second) = a_gang(scene)
    other = a_training_job("other")
    scene.apply(other)
    [stranger] = scene.running(other).pods
    good = pod_token(scene, first)
    assert answered(scene, good) == 200
    assert answered(scene, pod_token(scene, first, audience="vault")) == 401
    assert answered(scene, pod_token(scene, None)) == 401
    assert answered(scene, good[:-8] + "AAAAAAAA") == 401
    assert answered(scene, pod_token(scene, stranger)) == 403
    assert answered(scene, pod_token(scene, stranger), job="other") == 200
    assert answered(scene, pod_token(scene, with_labels_of(scene, second))) == 403
    gone = pod_token(scene, second)
    assert answered(scene, gone) == 200
    scene.api.delete(scene.path("Pod", name_of(second)))
    wait_until(
        lambda: answered(scene, gone) in (401, 403),
        timeout_seconds=SECONDS,
        what="the token of a deleted pod is refused",
    )


def test_a_token_is_good_beside_its_successor_and_for_no_other_job(scene: Scene) -> None:
    job, (first, _) = a_gang(scene)
    former, renewed = pod_token(scene, first, lifetime=600), pod_token(scene, first)
    assert former != renewed
    assert [answered(scene, token) for token in (former, renewed, former)] == [200, 200, 200]
    other = a_training_job("other")
    scene.apply(other)
    scene.running(other)
    assert answered(scene, renewed, job="other") == 403
    scene.delete(job)
    wait_until(
        lambda: {answered(scene, token) for token in (former, renewed)} <= {401, 403},
        timeout_seconds=SECONDS,
        what="the tokens of a deleted job are refused",
    )
    scene.apply(job)
    again = scene.running(job).pods[0]
    assert name_of(again) == name_of(first)
    assert answered(scene, former) in (401, 403), "a namesake's pod is another"
    assert answered(scene, pod_token(scene, again)) == 200


@pytest.mark.slow
def test_a_new_leader_hears_of_all_workers_again(scene: Scene, tmp_path: Path) -> None:
    _, pods = a_gang(scene)
    assert scene.operator.stop() == 0
    scene.operator.start()
    assert scene.operator.metric("plimsoll_reporting_workers") == 0
    with attached(scene, pods[0], tmp_path) as worker:
        worker.progress(done=5)
        wait_until(
            lambda: scene.operator.metric("plimsoll_reporting_workers") == 1,
            timeout_seconds=SECONDS,
            what="it is heard of",
        )


def test_no_token_is_logged(scene: Scene) -> None:
    _, pods = a_gang(scene)
    good, wrong = pod_token(scene, pods[0]), pod_token(scene, pods[0], audience="vault")
    assert (answered(scene, good), answered(scene, wrong)) == (200, 401)
    log = scene.operator.log.read_text()
    assert good not in log
    assert wrong not in log


@pytest.mark.slow
def test_a_job_that_states_nothing_runs_and_learns_how_fast_it_is(
    scene: Scene, tmp_path: Path
) -> None:
    scene.add_nodes(fake_node("h100", H100), fake_node("a100", A100))
    job = without_speeds(a_training_job("plain", workers=2, work=WORK))
    scene.apply(job)
    first, _ = scene.running(job).pods
    status = scene.status(job)
    assert status["placement"]["acceleratorType"] == H100
    assert {each["type"]: each["basis"] for each in status["speeds"]} == {
        H100: "Assumed",
        A100: "Assumed",
    }
    assert "expectedCompletion" not in status
    assert "assumed from published figures" in condition(status, "Admitted")["message"]
    with attached(scene, first, tmp_path) as worker:
        worker.progress(done=1, rate=10)
        wait_until(
            lambda: scene.status(job).get("measured"),
            timeout_seconds=SECONDS,
            what="its rate is measured",
        )
        status = scene.status(job)
    assert {each["type"]: each["basis"] for each in status["speeds"]} == {
        H100: "Measured",
        A100: "Assumed",
    }
    assert "expectedCompletion" in status
