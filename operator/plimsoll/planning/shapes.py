"""What pods take of a node and where they may run, by their template; and what a job holds."""

from collections.abc import Mapping

import msgspec

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob
from plimsoll.kube.objects import PodSpec
from plimsoll.observe.requests import effective_requests
from plimsoll.planning.draw import Utilization, draw_milli
from plimsoll.planning.size_groups import ALL_SIZES, Groups, group_of, groups_of, part_name
from plimsoll_placement.problem import Assignment, GpuType, NodeName, RoleName, Shape

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


def running_assignments(resource: TrainingJob | InferenceJob) -> tuple[Assignment, ...]:
    """What a job holds by the placement in its status."""
    placement = resource.status.placement
    groups = _groups_by_role(resource)
    return tuple(
        Assignment(
            part_name(each.role, group_of(each, groups.get(each.role, (ALL_SIZES,)))),
            each.replica,
            GpuType(each.accelerator_type),
            tuple(NodeName(name) for name in each.nodes),
        )
        for each in (placement.assignments if placement else ())
    )


def _groups_by_role(resource: TrainingJob | InferenceJob) -> Mapping[str, Groups]:
    if isinstance(resource, TrainingJob):
        return {}
    return {role.name: groups_of(resource, role) for role in resource.spec.roles}
