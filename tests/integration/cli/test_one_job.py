"""What `job`, `tree`, `events`, `suspend` and `resume` do in a cluster in which jobs run."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import fail
from support.clusters.scene import SECONDS, Scene
from support.clusters.workload_lives import adopted, read_workload
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_pool, a_queue, a_training_job, an_inference_job
from support.programs.cli_runs import Ran, run
from support.project.shown_output import normal, shown_after

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
QUICK: dict[str, Any] = {"faultTolerance": {"backoff": {"initial": "1s"}}}
Ask = Callable[..., Ran]


@pytest.fixture
def ask(
    scene: Scene,
    control_plane: Cluster,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Ask:
    """Runs a command in the scene's namespace, without a terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def asked(*arguments: str) -> Ran:
        kubeconfig = str(control_plane.kubeconfig)
        return run(capsys, *arguments, "-n", scene.namespace, "--kubeconfig", kubeconfig)

    return asked


def fails_once(scene: Scene, job: Manifest) -> None:
    """Let one of a job's workers fail, and wait until it runs again."""
    first = scene.running(job)
    fail(scene, first.pods[0])
    wait_until(
        lambda: scene.running(job).uids.isdisjoint(first.uids),
        timeout_seconds=SECONDS,
        what="it has restarted",
    )
    scene.events(job, "Restarting")


def answer(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_a_job_tells_its_life_and_what_it_costs(scene: Scene, ask: Ask) -> None:
    scene.add_nodes(fake_node("priced", gpus=4, labels={"pool": "priced"}))
    scene.apply(a_pool("priced", {"pool": "priced"}, pricePerGPUHour="2.5"))
    job = a_training_job("train", workers=2, gpus=2, **QUICK)
    scene.apply(job)
    fails_once(scene, job)
    card = answer(ask("job", "tj/train", "-o", "json"))
    assert card["job"] == f"TrainingJob/{scene.namespace}/train"
    assert card["dollarsPerHour"] == 10.0
    assert card["place"] == [
        {"role": "worker", "acceleratorType": H100, "gpus": 4, "nodes": {"priced": 4}}
    ]
    assert [each["what"] for each in card["life"]] == [
        "created",
        "admitted",
        "restarted",
        "started",
    ]
    assert "failed" in card["life"][2]["message"]
    text = ask("job", "train").out
    assert f"runs on   4 × {H100} on priced" in text
    assert "costs     $10.00 an hour" in text
    assert "restarts  1 after failures" in text


def test_a_mistyped_job_is_guessed_and_exits_with_1(scene: Scene, ask: Ask) -> None:
    scene.apply(a_training_job("train", suspend=True))
    ran = ask("job", "trian")
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.endswith("trian: no such job: did you mean train?\n")


def test_the_tree_leads_from_queues_to_nodes(scene: Scene, ask: Ask) -> None:
    scene.add_nodes(fake_node("oak", gpus=2))
    scene.apply(a_queue("above"), a_queue("below", parent="above"))
    runs = a_training_job("runs", gpus=2, queue="below")
    scene.apply(runs)
    scene.running(runs)
    waits = a_training_job("waits", gpus=2, queue="above")
    scene.apply(waits)
    scene.until(waits, reason="InsufficientGPUs")
    message = scene.status(waits)["message"]
    assert ask("tree").out.splitlines() == [
        "above",
        "├─ below",
        f"│  └─ TrainingJob/{scene.namespace}/runs  Running",
        "│     └─ worker",
        "│        └─ runs-worker-0  Running on oak, 2 GPUs",
        f"└─ TrainingJob/{scene.namespace}/waits  InsufficientGPUs: {message}",
    ]
    (top,) = answer(ask("tree", "runs", "-o", "json"))["queues"]
    assert top["queues"][0]["jobs"][0]["roles"][0]["pods"][0]["node"] == "oak"


def test_a_job_is_suspended_once_and_resumed(scene: Scene, ask: Ask) -> None:
    scene.add_nodes(fake_node("one", gpus=2))
    job = a_training_job("train", workers=2, gpus=1)
    scene.apply(job)
    scene.running(job)
    ran = ask("suspend", "train", "--wait")
    assert (ran.status, scene.pods_of(job)) == (0, [])
    name = f"TrainingJob/{scene.namespace}/train"
    assert ran.out == f"{name}: suspended: 2 pods save and stop, which frees 2 GPUs\n"
    assert ask("suspend", "train").out == f"{name}: suspended already\n"
    change = answer(ask("resume", "train", "--wait", "-o", "json"))
    assert (change["suspended"], change["changed"]) == (False, True)
    scene.running(job)
    again = ask("resume", "train")
    assert (again.status, again.out) == (0, f"{name}: not suspended: Running\n")


def test_a_suspended_service_is_scaled_to_zero_and_says_so(scene: Scene, ask: Ask) -> None:
    scene.add_nodes(fake_node("one", gpus=2))
    service = an_inference_job("chat", replicas=2)
    scene.apply(service)
    scene.running(service)
    ran = ask("suspend", "chat", "--wait")
    assert (ran.status, scene.pods_of(service)) == (0, [])
    assert "no load brings it back until it is resumed" in ran.out


def test_a_workload_is_found_by_its_own_name_and_suspended_with_its_job(
    scene: Scene, ask: Ask
) -> None:
    scene.add_nodes(fake_node("adopting", gpus=2))
    workload = a_batch_job("resnet", gpus=1)
    scene.running(adopted(scene, workload))
    (top,) = answer(ask("tree", "job/resnet", "-o", "json"))["queues"]
    assert top["jobs"][0]["workload"] == "Job/resnet"
    assert {pod["node"] for pod in top["jobs"][0]["roles"][0]["pods"]} == {"adopting"}
    ran = ask("suspend", "resnet", "--wait")
    assert (ran.status, read_workload(scene, workload)["spec"]["suspend"]) == (0, True)
    assert "of Job/resnet, which frees 2 GPUs" in ran.out


def test_what_was_said_of_a_job_and_its_pods_is_shown_once(scene: Scene, ask: Ask) -> None:
    scene.add_nodes(fake_node("one", gpus=1))
    job = a_training_job("train")
    scene.apply(job)
    (pod,) = scene.running(job).pods
    scene.events(job, "Admitted")
    scene.edit(job, {"suspend": True})
    scene.events(job, "Suspended")
    scene.events(pod | {"kind": "Pod"}, "Scheduled")
    said = answer(ask("events", "train", "-o", "json"))["events"]
    times = [datetime.fromisoformat(each["at"]).replace(microsecond=0) for each in said]
    assert times == sorted(times)
    found = [(each["about"], each["reason"]) for each in said if each["by"] == "plimsoll"]
    assert len(found) == len({*found})
    assert {("TrainingJob/train", "Admitted"), ("TrainingJob/train", "Suspended")} <= {*found}
    assert "Scheduled" in {each["reason"] for each in said}
    assert "Suspended  TrainingJob/train" in ask("events", "train").out


def shown_job(scene: Scene) -> None:
    """A job that failed once and runs again, beside one that waits."""
    scene.add_nodes(fake_node("h100-a", labels={"pool": "h100"}))
    scene.apply(
        a_pool("h100", {"pool": "h100"}, pricePerGPUHour=3),
        a_queue("research", guaranteed=8),
        a_queue("vision", parent="research"),
    )
    bert = a_training_job("bert", gpus=6, queue="vision", rates={H100: "2.5"}, **QUICK)
    scene.apply(bert)
    fails_once(scene, bert)
    llama = a_training_job("llama", gpus=4, queue="research")
    scene.apply(llama)
    scene.until(llama, reason="InsufficientGPUs")


SHOWN = ("job bert", "tree", "events bert", "suspend bert --wait", "resume bert")


def test_commands_print_what_the_reference_shows(scene: Scene, ask: Ask) -> None:
    """Of what happens within a second, either may be told first."""
    shown_job(scene)
    space = scene.namespace
    printed = {each: normal(ask(*each.split()).out, namespace=space) for each in SHOWN}
    assert {each: sorted(lines) for each, lines in printed.items()} == {
        each: sorted(shown_after(f"plimsoll {each}")) for each in SHOWN
    }
