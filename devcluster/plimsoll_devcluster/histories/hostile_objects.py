"""Objects that a malicious tenant applies, or one whose program has gone wrong.

The API server may refuse any of them. What it accepts may wait, and its status must say why; nobody
else may notice it.
"""

import copy
from collections.abc import Mapping
from typing import Any, Final

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.script import HIGH, LANE, LOW
from plimsoll_devcluster.manifest import Manifest

Edits = Mapping[str, object]
"""Values by the path at which they are put, such as `spec.workers.min`."""

_W: Final = "spec.workers"
_P: Final = f"{_W}.template.spec"
_C: Final = f"{_P}.containers.0"
_HEAD: Final = {"apiVersion": "plimsoll.dev/v1alpha1"}
_LATE: Final = {"amount": "1e15", "unit": "steps", "deadline": "2035-01-01T00:00:00Z"}
_SIZES: Final = [{"workers": n, "rate": n} for n in range(1, 33)]
_MANY: Final = [
    {"type": t, "throughput": _SIZES} for t in (H100, *(f"type-{n}" for n in range(15)))
]


def _nested(depth: int) -> object:
    value: object = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


def _containers(requests: Mapping[str, str], count: int) -> list[Manifest]:
    resources = {"requests": requests}
    return [{"name": f"c{n}", "image": "x", "resources": resources} for n in range(count)]


JOBS: Final[dict[str, Edits]] = {
    "priority-as-a-word": {f"{_P}.priority": "high"},
    "gates-as-a-word": {f"{_P}.schedulingGates": "x"},
    "volumes-as-a-number": {f"{_P}.volumes": 7},
    "env-as-a-number": {f"{_C}.env": 7},
    "mounts-as-a-number": {f"{_C}.volumeMounts": 7},
    "half-a-core-for-the-pod": {f"{_P}.resources": {"requests": {"cpu": 0.5}}},
    "much-for-the-pod": {f"{_P}.resources": {"requests": {"cpu": "much"}}},
    "deep": {f"{_P}.unknown": _nested(300)},
    "deep-metadata": {f"{_W}.template.metadata": {"unknown": _nested(300)}},
    "more-memory-than-64-bits": {f"{_P}.containers": _containers({"memory": "8Ei"}, 9)},
    "more-cores-than-64-bits": {f"{_P}.containers": _containers({"cpu": "9E"}, 9)},
    "beyond-all-numbers": {f"{_P}.containers": _containers({"memory": "1e1000"}, 1)},
    "never-done": {"spec.work": _LATE, "spec.accelerators.0.throughput.0.rate": "0.001"},
    "slower-than-slow": {"spec.work": _LATE, "spec.accelerators.0.throughput.0.rate": "1e-330"},
    "fast": {"spec.accelerators.0.throughput.0.rate": "1e15"},
    "many-sizes": {"spec.accelerators": _MANY, f"{_W}.max": 4096},
    "many-workers": {f"{_W}.min": 4096, f"{_W}.max": 4096},
}
"""TrainingJobs, by their oddity."""

SERVICES: Final[dict[str, Edits]] = {
    "next-to-no-load": {"spec.roles.0.profiles.0.load": "1e-9"},
    "no-load": {"spec.roles.0.profiles.0.load": "1e-300"},
}

TARGETS: Final = {
    "out-of-its-group": ("../api/v1", "Pod", "pods"),
    "at-nothing": ("apps/v1", "Deployment", "nothing"),
    "at-the-far-future": ("apps/v1", "Deployment", "future"),
}
"""Group and version, kind and name of the targets."""


def hostile_objects(namespace: str) -> dict[str, Manifest]:
    """All of them, by name; `in-anothers-queue` would run on any existing node."""
    stolen: Edits = {"spec.queue": neighbour_of(namespace), f"{_P}.nodeSelector": {}}
    odd = {
        **{name: _edited(a_job(namespace), edits) for name, edits in JOBS.items()},
        **{name: _edited(a_service(namespace), edits) for name, edits in SERVICES.items()},
        **{name: _aimed(namespace, *target) for name, target in TARGETS.items()},
        "in-anothers-queue": _edited(a_job(namespace), stolen),
    }
    return {name: {**each, "metadata": {"name": name}} for name, each in odd.items()}


def changes(namespace: str) -> dict[str, Manifest]:
    """Changes to the spec of a job that may already run."""
    return {
        "to a class that its queue forbids": {"priorityClassName": HIGH},
        "to a class that there is not": {"priorityClassName": "no-such-class"},
        "to a crowd": {"workers": {"min": 4000, "max": 4096}},
        "to a suspension": {"suspend": True},
        "to a word": {"workers": {"template": {"spec": {"priority": "high"}}}},
        "to anothers queue": {"queue": neighbour_of(namespace)},
    }


def neighbour_of(namespace: str) -> str:
    """The namespace next to a hostile tenant's, and the queue there."""
    return namespace.removesuffix("-x")


def a_job(namespace: str) -> Manifest:
    """An ordinary job of one worker on the tenant's own node."""
    template = {"metadata": {}, "spec": _pod(namespace)}
    spec = {
        **_queue(namespace),
        "workers": {"min": 1, "max": 1, "gpusPerWorker": 1, "template": template},
        "accelerators": [{"type": H100, "throughput": [{"workers": 1, "rate": 1}]}],
        "checkpoint": {"saveSeconds": 1},
    }
    return {**_HEAD, "kind": "TrainingJob", "metadata": {"name": "plain"}, "spec": spec}


def a_service(namespace: str) -> Manifest:
    """An ordinary service of one role there."""
    role = {
        "name": "server",
        "replicas": {"min": 1, "max": 2},
        "gpusPerReplica": 1,
        "template": {"spec": _pod(namespace)},
        "profiles": [{"type": H100, "load": 1}],
        "drain": "0s",
    }
    spec = {**_queue(namespace), "roles": [role]}
    return {**_HEAD, "kind": "InferenceJob", "metadata": {"name": "plain"}, "spec": spec}


def stubborn_budget() -> Manifest:
    """A PodDisruptionBudget that lets nobody evict any of the tenant's pods."""
    spec: Manifest = {"maxUnavailable": 0, "selector": {}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
    return {**head, "metadata": {"name": "never"}, "spec": spec}


def deployment_of_the_far_future(namespace: str) -> Manifest:
    """A Deployment whose pods claim that they were placed in a year beyond all calendars."""
    app = {"app": "hostile"}
    labels = {**app, "plimsoll.dev/placed-at": "999999999999999"}
    template = {"metadata": {"labels": labels}, "spec": _pod(namespace)}
    spec = {"replicas": 1, "selector": {"matchLabels": app}, "template": template}
    head = {"apiVersion": "apps/v1", "kind": "Deployment"}
    return {**head, "metadata": {"name": "future"}, "spec": spec}


def _pod(namespace: str) -> Manifest:
    return {
        "nodeSelector": {LANE: namespace},
        "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "registry.example/main:1"}],
    }


def _queue(namespace: str) -> Manifest:
    return {"queue": namespace, "priorityClassName": LOW}


def _aimed(namespace: str, api_version: str, kind: str, name: str) -> Manifest:
    target = {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "replicas": {"min": 1, "max": 1},
        "profiles": [{"type": H100, "load": 1}],
    }
    return {**_HEAD, "kind": "InferenceJob", "spec": {**_queue(namespace), "targetRef": target}}


def _edited(manifest: Manifest, edits: Edits) -> Manifest:
    found = copy.deepcopy(manifest)
    for path, value in edits.items():
        place: Any = found
        *way, last = path.split(".")
        for step in way:
            place = place[int(step) if step.isdecimal() else step]
        place[last] = value
    return found
