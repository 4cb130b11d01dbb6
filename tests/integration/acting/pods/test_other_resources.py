"""Pods that ask for devices, storage or ports are sent where kube-scheduler finds them free."""

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.scene import Scene
from support.clusters.workload_lives import adopted
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import (
    a_gpu_pod,
    a_pool,
    a_template,
    a_training_job,
    an_inference_job,
)

OPERATOR_ENVIRONMENT = {"PLIMSOLL_ADOPTS_JOBS": "true"}
EFA = "vpc.amazonaws.com/efa"


def asking(resources: Manifest) -> Manifest:
    """A pod template with these limits, without which a device cannot be requested."""
    template = a_template()
    template["spec"]["containers"][0]["resources"] = {"limits": resources}
    return template


def test_workers_are_bound_where_there_are_enough_network_devices(scene: Scene) -> None:
    scene.add_nodes(
        fake_node("a", gpus=8, resources={EFA: "8"}),
        fake_node("b", gpus=8),
        fake_node("c", gpus=8, resources={EFA: "8"}),
    )
    job = a_training_job("train", workers=2, gpus=2, template=asking({EFA: "6"}))
    scene.apply(job)
    assert sorted(scene.running(job).nodes) == ["a", "c"]
    said = {each["reason"] for each in scene.all_events(job)}
    assert "NodeRefused" not in said
    late = a_training_job("late", gpus=2, template=asking({EFA: "4"}))
    scene.apply(late)
    (event,) = scene.events(late, "InsufficientResources")
    assert event["note"].endswith(f"nodes with such GPUs free have at most 2 × {EFA} left")


def test_a_job_of_its_own_controller_that_asks_for_them_is_let_go(scene: Scene) -> None:
    scene.add_nodes(fake_node("a", gpus=2, resources={EFA: "8"}))
    job = a_batch_job()
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["limits"] |= {EFA: "4", "ephemeral-storage": "10Gi"}
    assert set(scene.running(adopted(scene, job)).nodes) == {"a"}


def listening(template: Manifest) -> Manifest:
    """A pod or a template whose pods take port 29500 of their node."""
    template["spec"]["hostNetwork"] = True
    template["spec"]["containers"][0]["ports"] = [{"containerPort": 29500}]
    return template


def test_a_pod_is_not_sent_to_a_node_where_another_has_its_port(scene: Scene) -> None:
    scene.add_nodes(fake_node("cheap", gpus=4), fake_node("dear", gpus=4))
    for name, price in (("cheap", "1"), ("dear", "2")):
        scene.apply(a_pool(name, {"kubernetes.io/hostname": name}, pricePerGPUHour=price))
    scene.apply(listening(a_gpu_pod("other", "cheap")))
    job, late = (a_training_job(name, template=listening(a_template())) for name in ("job", "late"))
    scene.apply(job)
    assert scene.running(job).nodes == ["dear"]
    assert "NodeRefused" not in {each["reason"] for each in scene.all_events(job)}
    scene.apply(late)
    (event,) = scene.events(late, "InsufficientResources")
    assert "host port TCP 29500" in event["note"]


def test_pods_that_cannot_share_a_node_are_not_sent_to_one(scene: Scene) -> None:
    """By a port of the node, or since they keep away from each other."""
    scene.add_nodes(*(fake_node(name, gpus=8) for name in ("a", "b", "c")))
    gang = a_training_job("gang", workers=2, template=listening(a_template()))
    apart = a_template(labels={"app": "serve"})
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "serve"}},
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    apart["spec"]["affinity"] = {"podAntiAffinity": rule}
    service = an_inference_job("serve", template=apart, role={"replicas": {"min": 0, "max": 3}})
    service["spec"]["replicas"] = 3
    scene.apply(gang, service)
    assert len({*scene.running(gang).nodes}) == 2
    assert len({*scene.running(service).nodes}) == 3
    for job in (gang, service):
        assert "NodeRefused" not in {each["reason"] for each in scene.all_events(job)}
