"""PodGroups, and the plain pods that name one."""

from typing import Any

from plimsoll_devcluster.manifest import Manifest
from support.objects.batch_jobs import GATE, QUEUE


def a_pod_group(
    name: str = "train",
    *,
    size: int = 2,
    **spec: Any,  # noqa: ANN401 - fields of a PodGroup's spec
) -> Manifest:
    """A PodGroup of so many pods that asks to be planned."""
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "labels": {QUEUE: "default"}},
        "spec": {"schedulingPolicy": {"gang": {"minCount": size}}, **spec},
    }


def a_grouped_pod(number: int, group: str = "train", *, gpus: int = 1) -> Manifest:
    """A plain pod of a PodGroup, as its user creates it."""
    limits = {"nvidia.com/gpu": gpus} if gpus else {"cpu": 1}
    main = {"name": "main", "image": "registry.example/train:1", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{group}-{number}", "labels": {QUEUE: "default"}},
        "spec": {
            "containers": [main],
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "schedulingGroup": {"podGroupName": group},
        },
    }


def gated(pod: Manifest) -> Manifest:
    """The pod as the admission policy has it."""
    return {**pod, "spec": {**pod["spec"], "schedulingGates": [{"name": GATE}]}}


def sent(pod: Manifest, node: str, *, phase: str = "Running", revision: int = 1) -> Manifest:
    """The pod once it was sent to a node for the TrainingJob that stands for its group."""
    meta, group = pod["metadata"], pod["spec"]["schedulingGroup"]["podGroupName"]
    labels = {
        **meta["labels"],
        "plimsoll.dev/job-uid": f"uid-TrainingJob-podgroup-{group}",
        "plimsoll.dev/replica": meta["name"].rpartition("-")[2],
        "plimsoll.dev/revision": str(revision),
    }
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    ready = [{"type": "Ready", "status": "True"}] if phase == "Running" else []
    bound = {"nodeName": node} if phase != "Pending" else {}
    return {
        **pod,
        "metadata": {**meta, "labels": labels},
        "spec": {**pod["spec"], "affinity": affinity, **bound},
        "status": {"phase": phase, "conditions": ready},
    }
