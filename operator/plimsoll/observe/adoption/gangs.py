"""The gang that a workload's pods with GPUs are: all of them alike, and placed together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from plimsoll.api.parts.gang import MAX_WORKERS
from plimsoll.errors import UnusableWorkload
from plimsoll.kube.objects.workload_parts import WorkerSpec
from plimsoll.observe.adoption.kinds.adapter import Candidate, PodSet, with_gpus
from plimsoll.observe.eligibility.requests import Requests, effective_requests
from plimsoll.observe.labels import QUEUE
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.template_shape import template_shape

_SHARED: Final = ".shared"
_SAVE_SECONDS: Final = 30
"""How long a job may save if nothing else is said, as for any TrainingJob."""


@dataclass(frozen=True, slots=True)
class Gang:
    """The workers that a workload asks for, as fields of a job's spec.

    `count` pods run at once, of which `fixed` are there at any size; `is_elastic`: their number may
    be changed while the workload is suspended.
    """

    count: int
    fixed: int
    is_elastic: bool
    gpu_resource: str
    gpus: int
    template: dict[str, Any]
    priority_class_name: str
    save_seconds: int


def gang_of(candidate: Candidate) -> Gang:
    """The workers that a workload asks for. Raises UnusableWorkload: the field, and the remedy."""
    problem = candidate.adapter.problem(candidate.item)
    if problem is not None:
        raise UnusableWorkload(problem)
    found = with_gpus(candidate.pod_sets)
    if not candidate.pod_sets:
        raise UnusableWorkload(
            "spec: describes no pods, and so asks for no GPU: add some, or remove the label"
            f" {QUEUE}"
        )
    if not found:
        raise UnusableWorkload(
            f"{candidate.pod_sets[0].field}.spec.containers[0].resources.limits: asks for no GPU:"
            f" set nvidia.com/gpu there, or remove the label {QUEUE}"
        )
    _require_usable(candidate, found)
    first, view = found[0], candidate.view
    resource, gpus = _gpus_of(first)
    for other in found[1:]:
        _require_alike(first, other)
    slowest = max(found, key=_save_seconds)
    return Gang(
        count=sum(each.count for each in found),
        fixed=view.sizing.fixed if view.sizing is not None else 0,
        is_elastic=view.sizing is not None,
        gpu_resource=resource,
        gpus=gpus,
        template=template_shape(slowest.template.spec, resource, slowest.template.metadata.labels),
        priority_class_name=first.template.spec.priority_class_name,
        save_seconds=_save_seconds(slowest),
    )


def _require_usable(candidate: Candidate, found: Sequence[PodSet]) -> None:
    count = sum(each.count for each in found)
    if not 1 <= count <= MAX_WORKERS:
        raise UnusableWorkload(
            f"{found[0].count_field} of {candidate.title}: {count} pods at once cannot be planned:"
            f" have 1 to {MAX_WORKERS}"
        )
    for each in found:
        if each.template.spec.node_name:
            raise UnusableWorkload(
                f"{each.field}.spec.nodeName: plans choose the nodes: remove it, and use"
                " nodeSelector or affinity to restrict them"
            )
        if each.late:
            raise UnusableWorkload(
                f"{each.field}: its pods with GPUs would be made only after others, while their"
                " GPUs are kept idle: remove dependsOn or the startup order, or run the first part"
                " as a workload of its own"
            )


def _require_alike(first: PodSet, other: PodSet) -> None:
    _gpus_of(other)
    if _asked(first.template.spec) != _asked(other.template.spec):
        raise UnusableWorkload(
            f"{other.field}: its pods with GPUs differ from those of {first.field} in their"
            " requests or in where they may run: make these alike, as one gang has workers of one"
            " kind"
        )


def _asked(spec: WorkerSpec) -> tuple[Requests, WorkerSpec]:
    """What a pod asks for, and where it may run."""
    where = msgspec.structs.replace(
        spec,
        containers=(),
        init_containers=(),
        resources=None,
        overhead={},
        scheduling_gates=(),
        priority=None,
        priority_class_name="",
        termination_grace_period_seconds=None,
    )
    return effective_requests(spec), where


def _gpus_of(pods: PodSet) -> tuple[str, int]:
    found = effective_requests(pods.template.spec).others
    wanted = {name: count for name, count in found.items() if count and is_gpu_resource(name)}
    where = f"{pods.field}.spec.containers[0].resources.limits"
    if len(wanted) != 1:
        raise UnusableWorkload(
            f"{where}: asks for {' and '.join(sorted(wanted))}: ask for GPUs of one kind"
        )
    ((resource, count),) = wanted.items()
    if resource.endswith(_SHARED):
        raise UnusableWorkload(
            f"{where}: {resource} is a share of unknown size: create a TrainingJob with a"
            " fractional gpusPerWorker instead"
        )
    return resource, count


def _save_seconds(pods: PodSet) -> int:
    grace = pods.template.spec.termination_grace_period_seconds
    return _SAVE_SECONDS if grace is None else max(0, min(_SAVE_SECONDS, grace))
