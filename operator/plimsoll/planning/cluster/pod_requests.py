"""Pods' requests and placement constraints, by their template."""

import msgspec

from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.kube.objects.objects import PodSpec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.planning.cluster.power_model import Utilization, draw_milli
from plimsoll_placement.model import RoleName, Shape

WORKER = RoleName("worker")
"""The name of a training job's single role."""
GPU_TOLERATIONS = (
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)
"""GPU nodes commonly have these taints to keep other pods away; ours are what they are for."""


def placement_spec(template: PodTemplate) -> PodSpec:
    """The parts of a template that decide where its pods can run and what they take there."""
    spec = template.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    spec["tolerations"] = [*spec.get("tolerations", ()), *GPU_TOLERATIONS]
    return msgspec.convert(spec, PodSpec)


def pod_shape(template: PodTemplate, gpu_milli: int, utilization: Utilization) -> Shape:
    """One pod's requests on its node."""
    requests = effective_requests(placement_spec(template))
    draws = draw_milli(gpu_milli, utilization)
    return Shape(gpu_milli, requests.cpu_millis, requests.memory_bytes, draws)
