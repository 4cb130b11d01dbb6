"""Draw the jobs of histories: gangs, some with a launcher, and services of a few GPUs.

Some of the gangs are Jobs of Kubernetes, which the operator adopts.
"""

import json
from random import Random

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.script import HIGH, LANE, LOW, RUN_SECONDS, Lane
from plimsoll_devcluster.histories.world import companions_of
from plimsoll_devcluster.manifest import Manifest

_SERVICES, _ENDS, _IN_QUEUE, _LAUNCHED, _LAUNCHER_ENDS = 0.3, 0.2, 0.5, 0.35, 0.3
_ADOPTED = 0.3
_GATE = "plimsoll.dev/placement"


def drawn_job(rng: Random, lane: Lane, name: str) -> Manifest:
    """A job of that name: three in ten are services, one in five of the gangs ends by itself."""
    gpus, least = rng.choice((1, 1, 2)), rng.randint(1, 3)
    template: Manifest = {
        "spec": {
            "nodeSelector": {LANE: lane.namespace},
            # How long a pod on a vanished node is waited for.
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "registry.example/main:1"}],
        }
    }
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "metadata": {"name": name}}
    priority = rng.choice(("", "", HIGH, LOW))
    common = {"priorityClassName": priority} if priority else {}
    if rng.random() < _IN_QUEUE:
        common["queue"] = lane.namespace
    if rng.random() < _SERVICES:
        role = {
            "name": "server",
            "replicas": {"min": least, "max": least},
            "gpusPerReplica": gpus,
            "template": template,
            "profiles": [{"type": H100, "load": 1}],
            "drain": "0s",
        }
        return {**head, "kind": "InferenceJob", "spec": {"roles": [role], **common}}
    if rng.random() < _ENDS:
        template["metadata"] = {"annotations": {RUN_SECONDS: "1"}}
    workers = {
        "min": least,
        "max": least + rng.choice((0, 0, 2)),
        "gpusPerWorker": gpus,
        "template": template,
    }
    spec = {
        "workers": workers,
        "accelerators": [{"type": H100, "throughput": [{"workers": least, "rate": least}]}],
        "checkpoint": {"saveSeconds": 1},
        "faultTolerance": {"maxRestarts": 50, "backoff": {"initial": "1s", "max": "1s"}},
        **common,
    }
    # Drawn apart, so that what else a seed draws is as it was before there were launchers.
    launching = Random(f"{lane.namespace}/{name}/launcher")  # noqa: S311 - no secret
    if launching.random() < _LAUNCHED:
        spec |= _launched(launching, template)
    return {**head, "kind": "TrainingJob", "spec": spec}


def _launched(rng: Random, template: Manifest) -> Manifest:
    """A launcher without GPUs; three in ten end, and the job with them."""
    own: Manifest = {"spec": template["spec"]}
    if ends := rng.random() < _LAUNCHER_ENDS:
        own["metadata"] = {"annotations": {RUN_SECONDS: "1"}}
    policy = {"successPolicy": {"role": "launcher"}} if ends else {}
    return {"roles": [{"name": "launcher", "template": own}], **policy}


def is_adopted(lane: Lane, job: Manifest) -> bool:
    """Whether a Job of Kubernetes is to be made in place of a job: three in ten plain gangs are."""
    drawn = Random(f"{lane.namespace}/{job['metadata']['name']}/adopted")  # noqa: S311 - no secret
    is_plain = job["kind"] == "TrainingJob" and not companions_of(job)
    return is_plain and drawn.random() < _ADOPTED


def stand_in_of(lane: Lane, job: Manifest) -> Manifest:
    """The job that the operator will make for such a Job: it is in the lane's queue."""
    name = f"job-{job['metadata']['name']}"
    spec = {**job["spec"], "queue": lane.namespace}
    return {**job, "metadata": {"name": name}, "spec": spec}


def workload_of(lane: Lane, job: Manifest) -> Manifest:
    """The Job as it is when the admission policy has held it."""
    spec = job["spec"]
    workers, template = spec["workers"], spec["workers"]["template"]
    (container,) = template["spec"]["containers"]
    limits = {"limits": {"nvidia.com/gpu": workers["gpusPerWorker"]}}
    pod = {
        **template["spec"],
        "containers": [{**container, "resources": limits}],
        "restartPolicy": "Never",
        "schedulingGates": [{"name": _GATE}],
    }
    if priority := spec.get("priorityClassName"):
        pod["priorityClassName"] = priority
    said = {"plimsoll.dev/accelerators": json.dumps(spec["accelerators"])}
    if workers["min"] < workers["max"]:
        said |= sizes_said(workers)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job["metadata"]["name"],
            "labels": {"plimsoll.dev/queue": lane.namespace},
            "annotations": said,
        },
        "spec": {
            "suspend": True,
            "completionMode": "Indexed",
            "parallelism": workers["min"],
            "completions": workers["min"],
            "backoffLimit": 1000,
            "template": {"metadata": template.get("metadata", {}), "spec": pod},
        },
    }


def sizes_said(workers: Manifest) -> dict[str, str]:
    """The annotations by which a workload may have so many workers."""
    return {f"plimsoll.dev/workers.{each}": str(workers[each]) for each in ("min", "max")}


def most_at_once(job: Manifest) -> int:
    """The most pods of a job at any moment: a service's replica exists twice while it moves."""
    spec = job["spec"]
    if "workers" in spec:
        return spec["workers"]["max"] + companions_of(job)
    return 2 * spec["roles"][0]["replicas"]["max"]
