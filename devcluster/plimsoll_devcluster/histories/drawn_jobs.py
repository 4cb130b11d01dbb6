"""Draw the jobs of histories: gangs, some with a launcher, and services of a few GPUs."""

from random import Random

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.script import HIGH, LANE, LOW, RUN_SECONDS, Lane
from plimsoll_devcluster.histories.world import companions_of
from plimsoll_devcluster.manifest import Manifest

_SERVICES, _ENDS, _IN_QUEUE, _LAUNCHED, _LAUNCHER_ENDS = 0.3, 0.2, 0.5, 0.35, 0.3


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


def most_at_once(job: Manifest) -> int:
    """The most pods of a job at any moment: a service's replica exists twice while it moves."""
    spec = job["spec"]
    if "workers" in spec:
        return spec["workers"]["max"] + companions_of(job)
    return 2 * spec["roles"][0]["replicas"]["max"]
