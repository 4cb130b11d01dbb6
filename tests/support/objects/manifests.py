"""Small manifests that are right, and a way to change one of them in one place."""

import copy
from collections.abc import Mapping
from typing import Any, Final

Manifest = dict[str, Any]

GONE: Final = object()
"""Stands for a field that is taken out."""

H100: Final = "NVIDIA-H100-80GB-HBM3"
_TEMPLATE: Final[Manifest] = {"spec": {"containers": [{"name": "main", "image": "main:1"}]}}


def _manifest(kind: str, name: str, spec: Manifest) -> Manifest:
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": copy.deepcopy(spec)}


def training_job() -> Manifest:
    """Return a gang of two to four workers."""
    workers = {"min": 2, "max": 4, "gpusPerWorker": 1, "template": _TEMPLATE}
    accelerators = [{"type": H100, "throughput": [{"workers": 2, "rate": "1.5"}]}]
    return _manifest("TrainingJob", "train", {"workers": workers, "accelerators": accelerators})


def gang_of_roles() -> Manifest:
    """Return a gang of two to four workers with a launcher, which decides, and loaders."""
    roles = [
        {"name": "launcher", "template": _TEMPLATE},
        {"name": "loader", "replicas": {"min": 1, "max": 2}, "template": copy.deepcopy(_TEMPLATE)},
    ]
    more = {"spec.roles": roles, "spec.successPolicy": {"role": "launcher"}}
    return edited(training_job(), more)


def inference_job() -> Manifest:
    """Return a service of one role with one to three replicas."""
    role = {
        "name": "server",
        "replicas": {"min": 1, "max": 3},
        "gpusPerReplica": 1,
        "template": _TEMPLATE,
        "profiles": [{"type": H100, "load": "2.5"}],
    }
    return _manifest("InferenceJob", "serve", {"roles": [role]})


def target_ref() -> Manifest:
    """Return a reference to an existing Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "name": "web",
        "replicas": {"min": 1, "max": 3},
        "profiles": [{"type": H100, "load": 2}],
    }


def gpu_pool() -> Manifest:
    """Return a pool of H100s."""
    power = {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}
    selector = {"nvidia.com/gpu.product": H100}
    return _manifest("GPUPool", "h100", {"nodeSelector": selector, "power": power})


def power_domain() -> Manifest:
    """Return a domain of a rack."""
    spec = {"nodeSelector": {"plimsoll.dev/rack": "a"}, "budgetWatts": 9000}
    return _manifest("PowerDomain", "row-a", spec)


def job_queue() -> Manifest:
    """Return a queue with a quota."""
    quota = {"type": H100, "guaranteed": 8, "limit": 16}
    return _manifest("JobQueue", "research", {"quotas": [quota]})


def placement_policy() -> Manifest:
    """Return the policy with a disruption budget."""
    budget = {"window": "1h", "maxJobs": "10%"}
    return _manifest("PlacementPolicy", "default", {"disruptionBudgets": [budget]})


def edited(manifest: Manifest, edits: Mapping[str, Any]) -> Manifest:
    """Return the manifest with the value at each dotted path set, or taken out if it is GONE."""
    result = copy.deepcopy(manifest)
    for path, value in edits.items():
        *parents, last = (int(part) if part.isdecimal() else part for part in path.split("."))
        place: Any = result
        for part in parents:
            place = place.setdefault(part, {}) if isinstance(part, str) else place[part]
        if value is GONE:
            del place[last]
        elif isinstance(last, int):
            place[last:] = [value, *place[last + 1 :]]
        else:
            place[last] = value
    return result
