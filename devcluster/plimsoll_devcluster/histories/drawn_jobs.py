"""Draw the jobs of histories: gangs and services of a few GPUs."""

from random import Random

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.script import HIGH, LANE, LOW, RUN_SECONDS, Lane
from plimsoll_devcluster.manifest import Manifest

_SERVICES, _ENDS, _IN_QUEUE = 0.3, 0.2, 0.5


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
    return {**head, "kind": "TrainingJob", "spec": spec}


def most_at_once(job: Manifest) -> int:
    """The most pods of a job at any moment: a service's replica exists twice while it moves."""
    spec = job["spec"]
    if "workers" in spec:
        return spec["workers"]["max"]
    return 2 * spec["roles"][0]["replicas"]["max"]
