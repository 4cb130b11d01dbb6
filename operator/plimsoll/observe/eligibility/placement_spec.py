"""The parts of a job's pod template that decide where its pods can run."""

import msgspec

from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.kube.objects.objects import PodSpec
from plimsoll.observe.eligibility.eligibility import Constraints, constraints_of
from plimsoll.remembered import once_for_each

GPU_TOLERATIONS = (
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "amd.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
)
"""GPU nodes commonly have these taints to keep other pods away; ours are what they are for."""


def placement_spec(template: PodTemplate, *, gpus: bool = True) -> PodSpec:
    """The parts of a template that decide where its pods can run and what they take there."""
    spec = template.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    if gpus:
        spec["tolerations"] = [*spec.get("tolerations", ()), *GPU_TOLERATIONS]
    return msgspec.convert(spec, PodSpec)


@once_for_each
def template_constraints(template: PodTemplate) -> Constraints:
    """The constraints of a template's pods with GPUs on their nodes."""
    return constraints_of(placement_spec(template))


@once_for_each
def plain_constraints(template: PodTemplate) -> Constraints:
    """The same of pods without GPUs."""
    return constraints_of(placement_spec(template, gpus=False))
