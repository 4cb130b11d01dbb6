"""What there is in a snapshot for workloads of other kinds, and what is seen of it.

Whatever makes pods of a workload is made as its own controller makes it.
"""

import copy
from typing import Any

from plimsoll.observe.adoption.kinds.adapter import Candidate
from plimsoll.observe.adoption.stand_ins import stand_in_of
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.adoption.workloads import Workload
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, seen
from support.objects.batch_jobs import GATE
from support.objects.workloads import replicated

SUSPENDED = {"type": "Suspended", "status": "True"}


def only(*manifests: Manifest) -> Workload:
    """The one workload of concern among these objects."""
    (found,) = seen(*manifests).adopted.workloads
    return found


def candidate(*manifests: Manifest) -> Candidate:
    """The same, as its kind's adapter reads it."""
    return only(*manifests).candidate


def view(*manifests: Manifest) -> WorkloadView:
    """How it stands."""
    return candidate(*manifests).view


def problem(*manifests: Manifest) -> str:
    """What is wrong with it, and the remedy; "" if nothing is."""
    found = only(*manifests)
    assert (found.problem is None) or found.wanted is None
    return "" if found.problem is None else found.problem.message


def with_status(workload: Manifest, **status: Any) -> Manifest:  # noqa: ANN401 - fields of it
    """The workload as its controller sees it."""
    return {**copy.deepcopy(workload), "status": status}


def at_rest(workload: Manifest) -> Manifest:
    """The workload, as its controller has seen that it is suspended."""
    return with_status(workload, conditions=[SUSPENDED])


def owner(of: Manifest) -> Manifest:
    """The reference to a workload that what it makes has."""
    name, kind = of["metadata"]["name"], of["kind"]
    uid = f"uid-{kind}-{name}"
    identity = {"apiVersion": of["apiVersion"], "kind": kind, "name": name, "uid": uid}
    return {**identity, "controller": True}


def jobs_of(jobset: Manifest, *, attempt: int = 0) -> list[Manifest]:
    """The Jobs that JobSet's controller makes."""
    name, spec = jobset["metadata"]["name"], jobset["spec"]
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": f"{name}-{each['name']}-{number}",
                "labels": {
                    "jobset.sigs.k8s.io/replicatedjob-name": each["name"],
                    "jobset.sigs.k8s.io/restart-attempt": str(attempt),
                },
                "ownerReferences": [owner(jobset)],
            },
            "spec": {
                **copy.deepcopy(each["template"]["spec"]),
                "suspend": spec.get("suspend", False),
            },
        }
        for each in spec["replicatedJobs"]
        for number in range(each["replicas"])
    ]


def jobset_of(job: Manifest, *, gated: bool = False) -> Manifest:
    """The JobSet that Trainer makes of a TrainJob; `gated`: with our patch of its runtime."""
    trainer, meta = job["spec"]["trainer"], job["metadata"]
    gpus = trainer["resourcesPerNode"]["limits"]["nvidia.com/gpu"]
    gates = {"schedulingGates": [{"name": GATE}]} if gated else {}
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": meta["name"], "ownerReferences": [owner(job)]},
        "spec": {
            "suspend": job["spec"].get("suspend", False),
            "replicatedJobs": [
                replicated("node", workers=trainer["numNodes"], gpus=gpus, pod=gates)
            ],
        },
    }


def a_stand_in(*manifests: Manifest, on: tuple[str, ...] = (), **status: Any) -> Manifest:  # noqa: ANN401 - fields of it
    """The TrainingJob that stands for the only workload among these, with a place on nodes."""
    found: Manifest = copy.deepcopy(stand_in_of(candidate(*manifests)).manifest)
    return at(found, *on, **status) if on else {**found, "status": status}


def a_pod_of(
    maker: Manifest,
    number: int,
    node: str = "",
    *,
    gpus: int = 1,
    stand_in: str = "",
    **metadata: Any,  # noqa: ANN401 - fields of a pod's metadata
) -> Manifest:
    """A pod that a workload's controller has made; gated until it is sent to a node."""
    labels = {"batch.kubernetes.io/job-completion-index": str(number)}
    limits = {"nvidia.com/gpu": gpus} if gpus else {"cpu": "1"}
    spec: Manifest = {
        "containers": [{"name": "main", "image": "i", "resources": {"limits": limits}}]
    }
    if node:
        spec["nodeName"] = node
    elif gpus:
        spec["schedulingGates"] = [{"name": GATE}]
    if node and gpus:
        here = {"key": "metadata.name", "operator": "In", "values": [node]}
        terms = {"nodeSelectorTerms": [{"matchFields": [here]}]}
        affinity = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        spec["affinity"] = {"nodeAffinity": affinity}
        labels |= {
            "plimsoll.dev/job-uid": f"uid-TrainingJob-{stand_in}",
            "plimsoll.dev/replica": str(number),
            "plimsoll.dev/revision": "1",
        }
    ready = [{"type": "Ready", "status": "True"}]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": f"{maker['metadata']['name']}-{number}",
            "labels": labels,
            "ownerReferences": [owner(maker)],
            **metadata,
        },
        "spec": spec,
        "status": {"phase": "Running", "conditions": ready} if node else {"phase": "Pending"},
    }
