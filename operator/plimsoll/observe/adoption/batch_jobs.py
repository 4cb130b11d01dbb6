"""batch/v1 Jobs as workloads: who may be planned, the gang they are, and how they stand.

A Job's own controller makes its pods and retries them. Plimsoll holds the Job by `spec.suspend`,
and its pods by a scheduling gate in its template, until it has chosen their nodes.
"""

import re
from dataclasses import dataclass
from typing import Any, Final

from plimsoll.api.parts.gang import MAX_WORKERS
from plimsoll.errors import UnusableWorkload
from plimsoll.kube.objects.batch_job import BatchJob
from plimsoll.kube.watching.workloads import Reference
from plimsoll.naming import shortened
from plimsoll.observe.adoption.workload_view import Outcome, WorkloadView
from plimsoll.observe.eligibility.requests import effective_requests
from plimsoll.observe.kueue import left_to_kueue
from plimsoll.observe.labels import GATE, QUEUE
from plimsoll.observe.nodes.gpus import is_gpu_resource
from plimsoll.observe.template_shape import template_shape
from plimsoll.observe.whole_numbers import whole_number

API_VERSION: Final = "batch/v1"
KIND: Final = "Job"
INDEXED: Final = "Indexed"
_OWN_CONTROLLER: Final = "kubernetes.io/job-controller"
_CREATORS: Final = frozenset({("batch/v1", "CronJob")})
"""Controllers that create Jobs and then leave them alone; others suspend their own."""
_SHARED: Final = ".shared"
_SAVE_SECONDS: Final = 30
"""How long a job may save if nothing else is said, as for any TrainingJob."""
_PREFIX: Final = "job-"
_NAME: Final = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_LONGEST_NAME: Final = 48 - len(_PREFIX)


@dataclass(frozen=True, slots=True)
class Gang:
    """The workers that a Job asks for, as fields of a job's spec.

    `count` pods run at once; `is_elastic`: that number may be changed while the Job is suspended.
    """

    count: int
    is_elastic: bool
    gpu_resource: str
    gpus: int
    template: dict[str, Any]
    priority_class_name: str
    save_seconds: int


def reference_of(job: BatchJob) -> Reference:
    """What identifies a Job."""
    return Reference(job.metadata.namespace, API_VERSION, KIND, job.metadata.name)


def stand_in_name(job: BatchJob) -> str:
    """The name of the TrainingJob that stands for a Job: `job-` and the Job's own, if that fits."""
    name = job.metadata.name
    if len(name) <= _LONGEST_NAME and _NAME.fullmatch(name):
        return f"{_PREFIX}{name}"
    return f"{_PREFIX}{shortened(name, _LONGEST_NAME)}"


def is_over(job: BatchJob) -> bool:
    """Whether a Job has completed or failed for good."""
    return _outcome(job) is not None


def is_gated(job: BatchJob) -> bool:
    """Whether a Job's pods wait behind our scheduling gate."""
    return any(gate.name == GATE for gate in job.spec.template.spec.scheduling_gates)


def asks(job: BatchJob) -> bool:
    """Whether a Job asks to be planned; an empty label is how one opts out of its namespace's."""
    return bool(job.metadata.labels.get(QUEUE))


def is_concern(job: BatchJob) -> bool:
    """Whether a Job asks to be planned, or did so before."""
    return asks(job) or is_gated(job)


def manager_of(job: BatchJob) -> str | None:
    """Who else manages a Job, and the remedy, in a sentence; None if nobody does."""
    what, template = f"Job {job.metadata.name}", job.spec.template
    gates = [gate.name for gate in template.spec.scheduling_gates]
    found = left_to_kueue(what, job.metadata.labels, managed_by=job.spec.managed_by)
    found = found or left_to_kueue("its pod template", template.metadata.labels, gates=gates)
    if found is not None:
        return found
    if job.spec.managed_by not in ("", _OWN_CONTROLLER):
        return (
            f"{what} has spec.managedBy {job.spec.managed_by}, which makes its pods: leave it to"
            " that, or create it without spec.managedBy"
        )
    owner = next((each for each in job.metadata.owner_references if each.controller), None)
    if owner is not None and (owner.api_version, owner.kind) not in _CREATORS:
        return (
            f"{what} belongs to {owner.kind} {owner.name}, which suspends and resumes it: remove"
            f" the label {QUEUE} from the template there"
        )
    return None


def gang_of(job: BatchJob) -> Gang:
    """The workers that a Job asks for. Raises UnusableWorkload, which names field and remedy."""
    spec, template = job.spec, job.spec.template.spec
    resource, gpus = _gpus_of(job)
    count = (
        spec.parallelism if spec.completions is None else min(spec.parallelism, spec.completions)
    )
    if not 1 <= count <= MAX_WORKERS:
        raise UnusableWorkload(
            f"spec.parallelism of Job {job.metadata.name}: {count} pods at once cannot be planned:"
            f" set it to 1 to {MAX_WORKERS}"
        )
    if template.node_name:
        raise UnusableWorkload(
            "spec.template.spec.nodeName: plans choose the nodes: remove it, and use nodeSelector"
            " or affinity to restrict them"
        )
    grace = template.termination_grace_period_seconds
    return Gang(
        count=count,
        is_elastic=spec.completion_mode == INDEXED and spec.completions == spec.parallelism,
        gpu_resource=resource,
        gpus=gpus,
        template=template_shape(template, resource),
        priority_class_name=template.priority_class_name,
        save_seconds=_SAVE_SECONDS if grace is None else max(0, min(_SAVE_SECONDS, grace)),
    )


def _gpus_of(job: BatchJob) -> tuple[str, int]:
    found = effective_requests(job.spec.template.spec).others
    wanted = {name: count for name, count in found.items() if count and is_gpu_resource(name)}
    where = "spec.template.spec.containers[0].resources.limits"
    if not wanted:
        raise UnusableWorkload(
            f"{where}: asks for no GPU: set nvidia.com/gpu there, or remove the label {QUEUE}"
        )
    if len(wanted) > 1:
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


def view_of(job: BatchJob) -> WorkloadView:
    """How a Job stands, as acting sees it."""
    spec, status = job.spec, job.status
    to_come = spec.parallelism
    if spec.completions is not None:
        ended = status.succeeded + _count(status.failed_indexes)
        to_come = min(to_come, max(0, spec.completions - ended))
    elif status.succeeded:
        to_come = min(to_come, status.active)  # a work queue: none start once one has succeeded
    return WorkloadView(
        reference=reference_of(job),
        uid=job.metadata.uid,
        suspended=spec.suspend,
        at_rest=spec.suspend and (job.has_condition("Suspended") or not status.active),
        parallelism=spec.parallelism,
        due=to_come,
        since=None if spec.suspend else status.start_time,
        failures=status.failed,
        outcome=_outcome(job),
    )


def _count(indexes: str) -> int:
    """How many numbers a text such as `1,3-5` names."""
    found = 0
    for part in filter(None, indexes.split(",")):
        first, _, last = part.partition("-")
        found += (whole_number(last or first) or 0) - (whole_number(first) or 0) + 1
    return found


def _outcome(job: BatchJob) -> Outcome | None:
    failed, complete = job.condition("Failed"), job.condition("Complete")
    if failed is not None:
        return Outcome(
            failed=True, message=": ".join(filter(None, (failed.reason, failed.message)))
        )
    if complete is not None:
        return Outcome(failed=False, message=f"{job.status.succeeded} pods succeeded")
    return None
