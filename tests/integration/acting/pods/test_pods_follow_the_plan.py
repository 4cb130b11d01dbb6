"""Pods come when their job is placed, as the plan says, and go with it."""

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.world import node_of
from plimsoll_devcluster.waiting import wait_until
from support.clusters.pod_history import PodHistory, most_gpus
from support.clusters.pod_lives import environment, label, name_of, uids, until_gone
from support.clusters.scene import SECONDS, Scene
from support.objects.job_manifests import a_template, a_training_job, an_inference_job


def services(scene: Scene) -> list[str]:
    found = scene.api.items(f"/api/v1/namespaces/{scene.namespace}/services")
    return [name_of(service) for service in found]


def test_a_waiting_job_has_no_pods_and_its_gang_comes_together(scene: Scene) -> None:
    scene.add_nodes(fake_node("small", gpus=2))
    gang, beside = a_training_job("gang", workers=3), a_training_job("beside", workers=2)
    with PodHistory(scene) as history:
        scene.apply(gang)
        assert "placement" not in scene.until(gang, reason="CannotFit")
        scene.apply(beside)
        scene.running(beside)
        scene.add_nodes(fake_node("other", gpus=2))
        scene.until(gang, reason="InsufficientGPUs")
        assert not scene.pods_of(gang)
        scene.delete(beside)
        scene.running(gang)
        sizes = [
            sum(label(pod, "job-name") == "gang" for pod in moment.values())
            for moment in history.moments()
        ]
    first = next(index for index, size in enumerate(sizes) if size)
    assert set(sizes[:first]) == {0}
    assert sizes[first:].count(1) + sizes[first:].count(2) <= 6, "one right after the other"
    assert sizes[-1] == 3
    assert max(most_gpus(history).values()) == 2


def test_pods_are_sent_to_their_nodes_and_bound_by_the_scheduler(scene: Scene) -> None:
    scene.add_nodes(*(fake_node(f"node-{index}", gpus=2) for index in range(3)))
    jobs = a_training_job("train", workers=3), an_inference_job("serve", replicas=2)
    with PodHistory(scene) as history:
        scene.apply(*jobs)
        pods = [pod for job in jobs for pod in scene.running(job).pods]
        made = history.created()
    assert len(pods) == 5
    assert not [pod for pod in made if "nodeName" in pod["spec"]], "the operator binds none itself"
    bound = {name_of(pod): pod["spec"]["nodeName"] for pod in pods}
    assert {name_of(pod): node_of(pod) for pod in made} == bound


def test_the_workers_of_a_gang_find_each_other(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_training_job("train", workers=2, gpus=4)
    scene.apply(job)
    pods = scene.running(job).pods
    service = scene.api.get(f"/api/v1/namespaces/{scene.namespace}/services/train")["spec"]
    assert service["clusterIP"] == "None"
    assert service["publishNotReadyAddresses"]
    address = f"{name_of(pods[0])}.train"
    for rank, pod in enumerate(pods):
        assert service["selector"].items() <= pod["metadata"]["labels"].items()
        assert pod["spec"]["hostname"] == name_of(pod)
        assert pod["spec"]["subdomain"] == "train"
        expected = {
            "MASTER_ADDR": address,
            "MASTER_PORT": "29500",
            "WORLD_SIZE": "2",
            "RANK": str(rank),
            "NODE_RANK": str(rank),
            "PET_MASTER_ADDR": address,
            "PET_MASTER_PORT": "29500",
            "PET_NNODES": "2",
            "PET_NODE_RANK": str(rank),
            "PET_NPROC_PER_NODE": "4",
        }
        assert environment(pod).items() >= expected.items()


def test_a_single_worker_meets_itself_and_needs_no_service(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    job = a_training_job("train")
    scene.apply(job)
    (pod,) = scene.running(job).pods
    expected = {"MASTER_ADDR": "localhost", "WORLD_SIZE": "1", "RANK": "0", "PET_NNODES": "1"}
    assert environment(pod).items() >= expected.items()
    assert "subdomain" not in pod["spec"]
    assert not services(scene)


def test_a_deleted_job_leaves_nothing_and_lets_the_next_one_in(scene: Scene) -> None:
    scene.add_nodes(fake_node("node", gpus=2))
    first, second = a_training_job("first", workers=2), a_training_job("second", workers=2)
    scene.apply(first)
    scene.running(first)
    assert services(scene) == ["first"]
    scene.apply(second)
    scene.until(second, reason="InsufficientGPUs")
    scene.delete(first)
    scene.running(second)
    until_gone(scene, first)
    wait_until(
        lambda: services(scene) == ["second"], timeout_seconds=SECONDS, what="first's Service goes"
    )


def test_a_job_on_its_way_out_gets_no_new_pods(scene: Scene) -> None:
    """What holds the job back here is a finalizer, as when it is deleted after its pods."""
    scene.add_nodes(fake_node("node", gpus=4))
    first, other = a_training_job("first", workers=2), an_inference_job("other", replicas=2)
    scene.apply(first)
    pods, path = scene.running(first).pods, scene.path(first["kind"], "first")
    scene.api.merge(path, {"metadata": {"finalizers": ["example.org/held"]}})
    with PodHistory(scene) as history:
        scene.delete(first)
        for pod in pods:
            scene.api.delete(scene.path("Pod", name_of(pod)))
        scene.apply(other)
        scene.running(other)
        scene.api.merge(path, {"metadata": {"finalizers": None}})
        made = uids(history.created())
    assert made == {**uids(pods), **uids(scene.pods_of(other))}


def test_a_job_made_anew_waits_for_what_its_namesake_leaves(scene: Scene) -> None:
    scene.add_nodes(fake_node("node"))
    slow = a_template(wishes={"hold-deletion-seconds": "2"})
    job = a_training_job("train", workers=2, template=slow)
    scene.apply(job)
    old = scene.running(job).pods
    scene.delete(job)
    scene.apply(job)
    assert "PodRefused" not in str(scene.until(job, reason="Running"))
    new = scene.running(job).pods
    assert not set(uids(old).values()) & set(uids(new).values())
    meta = scene.api.get(scene.path(job["kind"], "train"))["metadata"]
    service = scene.api.get(f"/api/v1/namespaces/{scene.namespace}/services/train")
    assert service["metadata"]["ownerReferences"][0]["uid"] == meta["uid"]
