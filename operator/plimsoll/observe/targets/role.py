"""Derive the role of a workload's pods from the workload's template.

Its GPUs are those that its containers request. What the pods run is not considered.
"""

from collections.abc import Sequence
from decimal import Decimal

from pydantic import ValidationError

from plimsoll.api.parts.placement import Spot
from plimsoll.api.parts.roles import Role, TargetRef
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.errors import UnusableTarget
from plimsoll.kube.objects.objects import PodSpec
from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.labels import GATE
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.snapshot import TARGET
from plimsoll.observe.template_shape import template_shape

_SHARED = ".shared"
_NOWHERE = Spot()
_ANYWHERE = Spot(allowed=True)


def is_gated(reading: Reading) -> bool:
    """Whether the workload's pods wait behind our scheduling gate."""
    templates = reading.workload.pod_specs
    return bool(templates) and all(
        any(gate.name == GATE for gate in spec.scheduling_gates) for spec in templates
    )


def gpus_of(spec: PodSpec) -> tuple[str, int]:
    """The GPU resource that a pod requests, and its count; "" and 0 without one."""
    wanted = effective_requests(spec).others.items()
    return next(((name, n) for name, n in wanted if is_gpu_resource(name)), ("", 0))


def target_role(reading: Reading, ref: TargetRef) -> Role:
    """The role. Raises UnusableTarget."""
    templates = reading.workload.templates
    resource, count = _gpus_of_all(reading, reading.workload.pod_specs)
    most = max(templates, key=lambda template: _size(template.spec))
    try:
        return Role(
            name=TARGET,
            replicas=ref.replicas,
            gpus_per_replica=Decimal(count * len(templates)),
            pods_per_replica=len(templates),
            template=PodTemplate.model_validate(
                template_shape(most.spec, resource, most.metadata.labels)
            ),
            profiles=ref.profiles,
            utilization=ref.utilization,
            # If kube-scheduler alone places the pods, nothing can keep them off spot nodes.
            spot=_NOWHERE if is_gated(reading) else _ANYWHERE,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        message = f"the template of {reading.reference} cannot be planned with: {field}: "
        raise UnusableTarget(message + first["msg"]) from error


def _gpus_of_all(reading: Reading, templates: Sequence[PodSpec]) -> tuple[str, int]:
    """The request common to all pods of a replica, which must be the same."""
    requested = {gpus_of(spec) for spec in templates}
    if not requested:
        raise UnusableTarget(
            f"{reading.reference} has no pod template that is known: use spec.roles"
        )
    if len(requested) > 1:
        raise UnusableTarget(
            f"the leader and the workers of {reading.reference} ask for different GPUs:"
            " give all of them the same in resources.limits"
        )
    ((resource, count),) = requested
    if not count:
        raise UnusableTarget(
            f"the template of {reading.reference} asks for no GPU: set nvidia.com/gpu in"
            " resources.limits of a container"
        )
    if resource.endswith(_SHARED):
        raise UnusableTarget(
            f"the template of {reading.reference} asks for {resource}, a share of unknown size:"
            " describe the pods in spec.roles with gpusPerReplica"
        )
    return resource, count


def _size(spec: PodSpec) -> tuple[int, int]:
    requests = effective_requests(spec)
    return requests.cpu_millis, requests.memory_bytes
