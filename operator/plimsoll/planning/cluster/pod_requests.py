"""Pods' requests, by their template."""

from dataclasses import replace

from plimsoll.api.kinds import Job
from plimsoll.api.parts import gang_roles
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.observe.eligibility.placement_spec import placement_spec
from plimsoll.observe.eligibility.requests import Requests, effective_requests
from plimsoll.observe.labels import GPU_MEMORY
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.planning.cluster.apart import places_apart
from plimsoll.planning.cluster.power_model import Utilization, draw_milli
from plimsoll_placement.model import RoleName, Shape

WORKER = RoleName(gang_roles.WORKER)
"""The name of the role of a training job's workers."""


def pod_shape(template: PodTemplate, gpu_milli: int, utilization: Utilization) -> Shape:
    """One pod's requests on its node."""
    requests = effective_requests(placement_spec(template))
    draws = draw_milli(gpu_milli, utilization)
    others = tuple(sorted(besides_gpus(requests).items()))
    return Shape(gpu_milli, requests.cpu_millis, requests.memory_bytes, draws, others=others)


def besides_gpus(requests: Requests) -> dict[str, int]:
    """What is requested besides CPU, memory and GPUs, by resource."""
    return {
        name: amount
        for name, amount in requests.others.items()
        if name != GPU_MEMORY and not is_gpu_resource(name)
    }


def shape_beside_its_like(
    job: Job, role: str, template: PodTemplate, gpu_milli: int, utilization: Utilization
) -> Shape:
    """The same for a role's pods, which may have to keep away from each other."""
    shape = pod_shape(template, gpu_milli, utilization)
    apart = tuple((name, 1) for name in places_apart(job, role, template))
    return replace(shape, others=tuple(sorted((*shape.others, *apart)))) if apart else shape
