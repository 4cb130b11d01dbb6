"""What there is in a snapshot for a batch/v1 Job that is planned: its TrainingJob and its pods."""

import copy
from typing import Any

import msgspec

from plimsoll.kube.objects.workloads.batch_job import BatchJob
from plimsoll.observe.adoption.kinds.adapter import Candidate
from plimsoll.observe.adoption.kinds.table import adapter_of
from plimsoll.observe.adoption.stand_ins import stand_in_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NAMESPACE, at
from support.objects.batch_jobs import GATE


def seen_job(job: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of a Job's status
    """A Job as the API server has it."""
    job = copy.deepcopy(job)
    identity = {"namespace": NAMESPACE, "uid": f"uid-Job-{job['metadata']['name']}"}
    return {**job, "metadata": {**identity, **job["metadata"]}, "status": status}


def read_job(job: Manifest, **status: Any) -> BatchJob:  # noqa: ANN401 - same
    """A Job as it is read."""
    return msgspec.convert(seen_job(job, **status), BatchJob)


def candidate(job: Manifest, **status: Any) -> Candidate:  # noqa: ANN401 - same
    """A Job as it is adopted."""
    item = read_job(job, **status)
    return adapter_of(item).candidate(item)


def a_stand_in(job: Manifest, *nodes: str, **status: Any) -> Manifest:  # noqa: ANN401 - same
    """The TrainingJob that stands for a Job, with a place on these nodes if there are any."""
    found: Manifest = copy.deepcopy(stand_in_of(candidate(job)).manifest)
    return at(found, *nodes, **status) if nodes else {**found, "status": status}


def placed_pods(job: Manifest, stand_in: Manifest) -> list[Manifest]:
    """The pods that a Job's own controller has made, each on its node."""
    places = stand_in["status"]["placement"]["assignments"]
    name = job["metadata"]["name"]
    return [a_pod_of_job(each["replica"], each["nodes"][0], job=name) for each in places]


def a_pod_of_job(  # noqa: PLR0913 - a builder: a test names only what it is about
    number: int,
    node: str = "",
    *,
    bound: bool = True,
    revision: int = 1,
    phase: str = "Running",
    gpus: int = 1,
    job: str = "train",
    **metadata: Any,  # noqa: ANN401 - fields of a pod's metadata
) -> Manifest:
    """A pod that a Job's controller has made; it waits behind our gate until it has a node."""
    name = f"{job}-{number}"
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
            "plimsoll.dev/job-uid": f"uid-TrainingJob-job-{job}",
            "plimsoll.dev/replica": str(number),
            "plimsoll.dev/revision": str(revision),
        }
    else:
        spec["schedulingGates"] = [{"name": GATE}]
    runs = bool(node) and bound
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-Job-{job}"}
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
