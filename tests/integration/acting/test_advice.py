"""In Advise mode plans are published but not carried out."""

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_lives import name_of, uids
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_policy, a_training_job, an_inference_job


def advice(scene: Scene) -> dict[str, Manifest]:
    status = scene.status(a_policy())
    return {action["job"]: action for action in status.get("actions", [])}


def test_advice_is_published_and_not_acted_on(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=4))
    running = a_training_job("running", workers=2)
    scene.apply(running)
    pods = scene.running(running).pods
    scene.apply(a_policy(mode="Advise"))
    scene.until(a_policy(), observedGeneration=1)
    jobs = [
        a_training_job("fits", workers=2),
        an_inference_job("waits", gpus=4),
        a_training_job("too-large", gpus=99),
    ]
    scene.apply(*jobs)
    names = {f"{job['kind']}/{scene.namespace}/{name_of(job)}": job for job in jobs}
    wait_until(
        lambda: advice(scene).keys() == names.keys(), timeout_seconds=SECONDS, what="all is advised"
    )
    advised = {name_of(names[name]): action for name, action in advice(scene).items()}
    assert {name: each["action"] for name, each in advised.items()} == {
        "fits": "Admit",
        "waits": "Hold",
        "too-large": "Hold",
    }
    assert advised["fits"]["message"] == "placed: NVIDIA-H100-80GB-HBM3 on node ×2"
    assert advised["too-large"]["reason"] == "CannotFit"
    lost = pods[1]
    scene.api.delete(scene.path("Pod", name_of(lost)))
    scene.apply(a_training_job("another", gpus=99))
    wait_until(lambda: len(advice(scene)) == 4, timeout_seconds=SECONDS, what="a later plan")
    assert not [job for job in jobs if scene.status(job) or scene.pods_of(job)]
    assert uids(scene.pods_of(running)) == uids(pods[:1])
    assert scene.status(running)["reason"] == "Running"
    scene.apply(a_policy(mode="Enforce"))
    scene.running(jobs[0])
    assert len(scene.running(running).pods) == 2
    scene.until(a_policy(), actions=None)
