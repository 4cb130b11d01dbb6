"""Detect by a hash in its labels whether a pod was made from a role's current template."""

import hashlib
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.remembered import once_for_each

_FILLED_IN = ("protocol", "TCP")


def template_hash(template: PodTemplate, milli_gpus: int) -> str:
    """Ten digits that change with a pod's template or its GPUs, when pods must be renewed."""
    return _hash(template.wire(), milli_gpus)


def template_hashes(template: PodTemplate, milli_gpus: int) -> frozenset[str]:
    """The hashes of pods that match the template.

    The definitions of version 0.1 filled in nothing, so for a pod of that time a port without a
    protocol is the same as one with the default.
    """
    wire = template.wire()
    return frozenset({_hash(wire, milli_gpus), _hash(_as_written(wire), milli_gpus)})


@once_for_each
def hashes_by_role(job: InferenceJob) -> Mapping[str, AbstractSet[str]]:
    """The hashes of pods that match the template of each role of a service, by role."""
    return {
        role.name: template_hashes(role.template, role.milli_gpus_per_pod)
        for role in job.spec.roles
    }


def is_old(found: str, current: AbstractSet[str]) -> bool:
    """Whether a pod with this hash has an old template; not if it has lost its hash."""
    return bool(found) and found not in current


def _hash(template: Mapping[str, Any], milli_gpus: int) -> str:
    text = msgspec.json.encode((template, milli_gpus), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:10]


def _as_written(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """The template without what API servers fill in."""
    spec = {**template["spec"]}
    for part in {"containers", "initContainers"} & spec.keys():
        spec[part] = [_container_as_written(each) for each in spec[part]]
    return {**template, "spec": spec}


def _container_as_written(container: Mapping[str, Any]) -> Mapping[str, Any]:
    if "ports" not in container:
        return container
    ports = [
        {name: value for name, value in port.items() if (name, value) != _FILLED_IN}
        for port in container["ports"]
    ]
    return {**container, "ports": ports}
