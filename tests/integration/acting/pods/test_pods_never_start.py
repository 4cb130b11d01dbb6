"""Pods that never start give their place to others, and are asked for again later and later."""

from functools import partial

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import is_ready
from support.clusters.pod_lives import condition, name_of, uids, until_gone, wish
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_policy, a_template, a_training_job, an_inference_job

NEVER = {"start-seconds": "36000"}
"""The wish of a pod that no container of it ever runs."""
UNPULLED = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "registry.example/x"'}


def an_impatient_policy(**strategy: str) -> Manifest:
    terms = {"errorTimeout": "2s", "requeuingStrategy": {"backoffBase": "1h", **strategy}}
    return a_policy(waitForPodsReady=terms)


def bound_pod(scene: Scene, job: Manifest, *, besides: str = "") -> Manifest:
    """Wait for a pod of a job that is bound to a node, another than that of this uid; the pod."""

    def found() -> Manifest | None:
        pods = (pod for pod in scene.pods_of(job) if pod["metadata"]["uid"] != besides)
        return next((pod for pod in pods if pod["spec"].get("nodeName")), None)

    pod = wait_until(found, timeout_seconds=SECONDS, what=f"a pod of {name_of(job)} is bound")
    assert pod is not None
    return pod


def cannot_pull(scene: Scene, pod: Manifest) -> None:
    """Say of a pod what the kubelet says of one whose image it cannot pull."""
    said = {
        "name": "main",
        "image": "registry.example/x",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "state": {"waiting": UNPULLED},
    }
    path = f"{scene.path('Pod', name_of(pod))}/status"
    scene.api.merge(path, {"status": {"containerStatuses": [said]}})


def mended(scene: Scene, job: Manifest, template: Manifest) -> None:
    """Give a suspended job another template, and let it go on."""
    scene.edit(job, {"suspend": True})
    scene.until(job, reason="Suspended")
    scene.edit(job, {"suspend": False, "workers": {"template": template}})


@pytest.mark.slow
def test_what_no_scheduler_binds_gives_its_place_to_somebody_else(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    scene.apply(an_impatient_policy())
    lost = a_training_job("lost", template=a_template(schedulerName="nobody"))
    scene.apply(lost)
    wait_until(lambda: scene.pods_of(lost), timeout_seconds=SECONDS, what="lost has a pod")
    other = a_training_job("other")
    scene.apply(other)
    status = scene.until(lost, reason="PodsReadyTimeout")
    assert "no scheduler has bound lost-worker-0 after" in status["message"]
    assert "start scheduler nobody, or remove schedulerName" in status["message"]
    assert "placement" not in status
    scene.running(other)
    until_gone(scene, lost)
    (event,) = scene.events(lost, "PodsReadyTimeout")
    assert event["type"] == "Warning"


@pytest.mark.slow
def test_each_trial_that_fails_waits_twice_as_long_and_a_mended_job_begins_anew(
    scene: Scene,
) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    scene.apply(an_impatient_policy(backoffBase="3s"))
    job = a_training_job("train", template=a_template(wishes=NEVER))
    scene.apply(job)
    uid = ""
    for times in (1, 2, 3):
        pod = bound_pod(scene, job, besides=uid)
        uid = pod["metadata"]["uid"]
        cannot_pull(scene, pod)
        status = scene.until(job, reason="PodsReadyTimeout", refusals=times)
        assert f"{name_of(pod)} on node cannot start container main after" in status["message"]
        assert UNPULLED["message"] in status["message"]
    scene.apply(an_impatient_policy(backoffBase="1h"))
    mended(scene, job, a_template(wishes={"start-seconds": "0"}))
    assert scene.running(job).status["refusals"] == 0


@pytest.mark.slow
def test_replicas_that_serve_stay_when_another_never_does(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    scene.apply(an_impatient_policy())
    serve = an_inference_job("serve", replicas=2, template=a_template(wishes=NEVER))
    scene.apply(serve)
    wait_until(
        lambda: len([pod for pod in scene.pods_of(serve) if pod["spec"].get("nodeName")]) == 2,
        timeout_seconds=SECONDS,
        what="both are bound",
    )
    good, bad = scene.pods_of(serve)
    wish(scene, good, start_seconds="0")
    scene.until(serve, readySummary="1/2")
    cannot_pull(scene, bad)
    wait_until(
        lambda: uids(scene.pods_of(serve)) == uids([good]),
        timeout_seconds=SECONDS,
        what="only the replica that serves is left",
    )
    other = a_training_job("other")
    scene.apply(other)
    scene.running(other)
    status = scene.until(serve, nodesSummary="node")
    assert "1 of 2 replicas are ready; one more never became ready" in status["message"]
    assert condition(status, "AbleToScale")["reason"] == "PodsReadyTimeout"
    assert uids(scene.pods_of(serve)) == uids([good])


@pytest.mark.slow
@pytest.mark.parametrize("lifted", [True, False])
def test_a_gate_of_the_users_own_is_waited_for_but_not_for_ever(
    scene: Scene, *, lifted: bool
) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    scene.apply(a_policy() if lifted else an_impatient_policy())
    gates = [{"name": "example.com/licence"}]
    job = a_training_job("gated", template=a_template(schedulingGates=gates))
    scene.apply(job)
    wait_until(partial(scene.pods_of, job), timeout_seconds=SECONDS, what="it has a pod")
    if lifted:
        scene.api.merge(scene.path("Pod", "gated-worker-0"), {"spec": {"schedulingGates": None}})
        scene.running(job)
    else:
        status = scene.until(job, reason="PodsReadyTimeout")
        assert "held back by scheduling gate example.com/licence" in status["message"]
        until_gone(scene, job)


@pytest.mark.slow
def test_pods_that_never_start_and_never_go_hold_nothing(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=1))
    scene.apply(an_impatient_policy())
    template = a_template(schedulerName="nobody")
    template["metadata"]["finalizers"] = ["example.com/kept"]
    job, other = a_training_job("clings", template=template), a_training_job("other")
    scene.apply(job)
    wait_until(partial(scene.pods_of, job), timeout_seconds=SECONDS, what="it has a pod")
    scene.apply(other)
    scene.until(job, reason="PodsReadyTimeout")
    try:
        scene.running(other)
        (pod,) = scene.pods_of(job)
        assert pod["metadata"]["deletionTimestamp"]
    finally:
        path = scene.path("Pod", "clings-worker-0")
        scene.api.merge(path, {"metadata": {"finalizers": None}})
    until_gone(scene, job)


@pytest.mark.slow
def test_a_new_template_that_never_starts_takes_nothing_from_a_service(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    scene.apply(an_impatient_policy(backoffBase="1s"))
    job = an_inference_job("serve")
    scene.apply(job)
    [old] = scene.running(job).pods
    [role] = job["spec"]["roles"]
    scene.edit(job, {"roles": [{**role, "template": a_template(wishes=NEVER)}]})
    known = {old["metadata"]["uid"]}
    for _ in range(3):
        new = wait_until(
            partial(another_pod, scene, job, known),
            timeout_seconds=SECONDS,
            what="another is tried",
        )
        assert new is not None
        known.add(new["metadata"]["uid"])
        cannot_pull(scene, new)
    assert scene.events(job, "PodsReadyTimeout")
    assert scene.status(job)["refusals"] >= 2
    assert uids([old]).items() <= uids(scene.pods_of(job)).items()
    scene.edit(job, {"roles": [{**role, "template": a_template({"cpu": "1"})}]})
    wait_until(
        lambda: (
            [is_ready(pod) for pod in scene.pods_of(job)] == [True]
            and known.isdisjoint(uids(scene.pods_of(job)).values())
        ),
        timeout_seconds=SECONDS,
        what="only one of a template that starts is left",
    )


def another_pod(scene: Scene, job: Manifest, known: set[str]) -> Manifest | None:
    """A pod of a job that is bound to a node, and none of these."""
    pods = (pod for pod in scene.pods_of(job) if pod["metadata"]["uid"] not in known)
    return next((pod for pod in pods if pod["spec"].get("nodeName")), None)
