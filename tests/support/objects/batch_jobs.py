"""batch/v1 Jobs that ask to be planned, their pods, and the TrainingJobs that stand for them."""

import copy
from typing import Any

import msgspec

from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.observe.adoption.stand_ins import stand_in_of
from plimsoll_devcluster.manifest import Manifest

GATE = "plimsoll.dev/placement"
QUEUE = "plimsoll.dev/queue"
JOB_UID = "uid-of-train"
STAND_IN_UID = "uid-of-job-train"


def a_batch_job(  # noqa: PLR0913 - what differs between Jobs, by name
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    queue: str | None = "default",
    annotations: dict[str, str] | None = None,
    held: bool = True,
    pod_annotations: dict[str, str] | None = None,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a Job's spec
) -> Manifest:
    """An indexed Job that asks to be planned; `held`: as the admission policy makes it."""
    container: Manifest = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    pod_spec: Manifest = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        **(pod or {}),
    }
    if held:
        pod_spec["schedulingGates"] = [{"name": GATE}]
    labels = {} if queue is None else {QUEUE: queue}
    said = {f"plimsoll.dev/{key}": value for key, value in (annotations or {}).items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": said},
        "spec": {
            "suspend": held,
            "parallelism": workers,
            "completions": workers,
            "completionMode": "Indexed",
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": pod_annotations or {}},
                "spec": pod_spec,
            },
            **spec,
        },
    }


def seen_job(job: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of a Job's status
    """A Job as the API server has it."""
    job = copy.deepcopy(job)
    job["metadata"] |= {"uid": JOB_UID, "namespace": "team"}
    return {**job, "status": status}


def read_job(job: Manifest, **status: Any) -> BatchJob:  # noqa: ANN401 - same
    """A Job as it is read."""
    return msgspec.convert(seen_job(job, **status), BatchJob)


def a_stand_in(job: Manifest, *nodes: str, **status: Any) -> Manifest:  # noqa: ANN401 - same
    """The TrainingJob that stands for a Job, with a place on these nodes if there are any."""
    found: Manifest = copy.deepcopy(stand_in_of(read_job(job)).manifest)
    found["metadata"]["uid"] = STAND_IN_UID
    if nodes:
        placement = {
            "revision": 1,
            "generation": 1,
            "acceleratorType": "NVIDIA-H100-80GB-HBM3",
            "pool": "",
            "workers": len(nodes),
            "assignments": [
                {
                    "role": "worker",
                    "replica": number,
                    "nodes": [node],
                    "pool": "",
                    "acceleratorType": "NVIDIA-H100-80GB-HBM3",
                    "revision": 1,
                }
                for number, node in enumerate(nodes)
            ],
        }
        status = {"placement": placement, "revision": 1, "workerCount": len(nodes), **status}
    return {**found, "status": status}


def a_pod_of_job(  # noqa: PLR0913 - a builder: a test names only what it is about
    number: int,
    node: str = "",
    *,
    bound: bool = True,
    revision: int = 1,
    phase: str = "Running",
    gpus: int = 1,
    **metadata: Any,  # noqa: ANN401 - fields of a pod's metadata
) -> Manifest:
    """A pod that a Job's controller has made; it waits behind our gate until it has a node."""
    name = f"train-{number}"
    labels = {"batch.kubernetes.io/job-completion-index": str(number)}
    resources = {"limits": {"nvidia.com/gpu": gpus}}
    spec: Manifest = {"containers": [{"name": "main", "image": "i", "resources": resources}]}
    if node:
        here = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        }
        if bound:
            spec["nodeName"] = node
        labels |= {
            "plimsoll.dev/job-uid": STAND_IN_UID,
            "plimsoll.dev/replica": str(number),
            "plimsoll.dev/revision": str(revision),
        }
    else:
        spec["schedulingGates"] = [{"name": GATE}]
    runs = bool(node) and bound
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": JOB_UID}
    status: Manifest = {"phase": phase if runs else "Pending"}
    if runs and phase == "Running":
        status["conditions"] = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "labels": labels,
            "ownerReferences": [{**owner, "controller": True}],
            **metadata,
        },
        "spec": spec,
        "status": status,
    }
