"""What pods take of a node and where they may run, by their template."""

import msgspec

from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.kube.objects.objects import PodSpec
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.planning.cluster.power_model import Utilization, draw_milli
from plimsoll_placement.model import RoleName, Shape

WORKER = RoleName("worker")
"""What the one role of a training job is called."""
GPU_TOLERATIONS = (
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)
"""Nodes with GPUs are commonly tainted so, to keep other pods away; ours are what they are for."""


def placement_spec(template: PodTemplate) -> PodSpec:
    """What of a template decides where its pods can run and what they take there."""
    spec = template.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    spec["tolerations"] = [*spec.get("tolerations", ()), *GPU_TOLERATIONS]
    return msgspec.convert(spec, PodSpec)


def pod_shape(template: PodTemplate, gpu_milli: int, utilization: Utilization) -> Shape:
    """What one pod takes of its node."""
    requests = effective_requests(placement_spec(template))
    draws = draw_milli(gpu_milli, utilization)
    return Shape(gpu_milli, requests.cpu_millis, requests.memory_bytes, draws)
