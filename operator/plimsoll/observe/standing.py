"""The queue, priority and maximum size at which a job is planned.

A job's spec counts as far as the job is entitled to it. A running job may be edited to a class or a
queue that it may not use, and the one it was admitted with may be closed to it later, or deleted.
Its spec is then not in force, nor is one whose pods would be Kueue's: the job keeps what it was
admitted with and does not grow until its spec names something permitted. It is not stopped, because
its work has lost none of its value.

A job without a placement has nothing to keep: the refusal is the reason why it waits.
"""

from collections import Counter
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from plimsoll.api.inference_job import InferenceJobSpec
from plimsoll.api.kinds import Job
from plimsoll.api.parts.conditions import is_over
from plimsoll.api.parts.gang import Workers
from plimsoll.api.parts.gang_roles import GangRole, replicas_beside
from plimsoll.api.parts.placement import Admission
from plimsoll.api.parts.roles import Role
from plimsoll.api.training_job import TrainingJob, TrainingJobSpec
from plimsoll.observe.kueue import left_to_kueue
from plimsoll.observe.pod_templates import pod_templates
from plimsoll.observe.queue_access import NO_QUEUE, QueueAccess, Refusal
from plimsoll.observe.readable import readable
from plimsoll.vocabulary.reasons import Reason

_GATES: Final = "schedulingGates"
"""A field of the pod that plans do not read, and which is kept as written."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A job as it is planned, and its priority; None if its class does not exist.

    `refusal`: why its spec, as the user wrote it, is not in force or cannot be.
    """

    job: Job
    priority: int | None
    refusal: Refusal | None = None


class Standings:
    """Determines how jobs stand; returns the same object while nothing about it changes."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[Job, Admission, Standing]] = {}

    def of(self, job: Job, access: QueueAccess) -> Standing:
        """How a job stands, by what its spec names and what it was admitted with."""
        refusal = access.refusal(job) or readable(job, lambda: _left_to_kueue(job))
        if refusal is None or job.status.placement is None or is_over(job.status.conditions):
            self._kept.pop(job.metadata.uid, None)
            return Standing(job, access.priority(job.spec.priority_class_name), refusal)
        admission = _admission(job, refusal, access)
        known = self._kept.get(job.metadata.uid)
        if known is None or known[0] is not job or known[1] != admission:
            as_admitted = Standing(_as_admitted(job, admission), admission.priority, refusal)
            known = self._kept[job.metadata.uid] = job, admission, as_admitted
        return replace(known[2], refusal=refusal)

    def forget_others(self, uids: AbstractSet[str]) -> None:
        """Forget all jobs but these."""
        for uid in self._kept.keys() - uids:
            del self._kept[uid]


def _left_to_kueue(job: Job) -> Refusal | None:
    """Why a job's pods would be Kueue's, which then holds them; None if they would not."""
    for field, template in pod_templates(job):
        gates = cast("list[Mapping[str, str]]", (template.spec.model_extra or {}).get(_GATES, []))
        names = [gate["name"] for gate in gates]
        why = left_to_kueue(f"spec.{field}.template", template.metadata.labels, gates=names)
        if why is not None:
            return Refusal(Reason.MANAGED_ELSEWHERE, why)
    return None


def _admission(job: Job, refusal: Refusal, access: QueueAccess) -> Admission:
    """What a job was admitted with, if that is known and its class still exists.

    It is unknown for jobs admitted by a version that did not record it, and for a target that ran
    before its job was created: those get the default priority, and nothing of a closed queue.
    """
    admission = job.status.admission
    if admission is None:
        closed = refusal.reason is Reason.QUEUE_NOT_ALLOWED
        queue = NO_QUEUE if closed else job.spec.queue
        return Admission(queue=queue, priority=access.priority(None) or 0)
    if access.priority(admission.priority_class_name) is None:
        # The API server accepts no pod that names a missing class.
        return admission.model_copy(update={"priority_class_name": None})
    return admission


def _as_admitted(job: Job, admission: Admission) -> Job:
    """The job with what it was admitted with, no larger than it is now."""
    terms = {
        "queue": admission.queue,
        "priority_class_name": admission.priority_class_name,
    }
    spec = job.spec.model_copy(update={**terms, **_size(job)})
    return job.model_copy(update={"spec": spec})


def _size(job: Job) -> Mapping[str, Any]:
    """The spec's size fields, limited to what the job has."""
    if isinstance(job, TrainingJob):
        placement = job.status.placement
        workers = _gang_up_to(job.spec.workers, placement.workers if placement else 0)
        return {"workers": workers, "roles": _roles_beside(job.spec, workers)}
    return _replicas_up_to(job.spec, _running_replicas(job))


def _gang_up_to(workers: Workers, most: int) -> Workers:
    """The gang with those of its counts that are no larger; the present one if none is."""
    counts = tuple(count for count in workers.counts if count <= most) or (most,)
    bounds = {"min": counts[0], "max": counts[-1]}
    return workers.model_copy(update={**bounds, "allowed": counts if workers.allowed else ()})


def _roles_beside(spec: TrainingJobSpec, workers: Workers) -> tuple[GangRole, ...]:
    """The other roles of a gang with as many replicas as they have beside fewer workers."""
    bounds = [
        {
            "min": replicas_beside(spec.workers, role.replicas, workers.min),
            "max": replicas_beside(spec.workers, role.replicas, workers.most),
        }
        for role in spec.roles
    ]
    return tuple(
        role.model_copy(update={"replicas": role.replicas.model_copy(update=each)})
        for role, each in zip(spec.roles, bounds, strict=True)
    )


def _running_replicas(job: Job) -> Counter[str]:
    placement = job.status.placement
    return Counter(each.role for each in placement.assignments) if placement else Counter()


def _replicas_up_to(spec: InferenceJobSpec, running: Mapping[str, int]) -> Mapping[str, Any]:
    roles = tuple(_role_up_to(role, running.get(role.name, 0)) for role in spec.roles)
    if spec.replicas is None or not roles:
        return {"roles": roles}
    return {"roles": roles, "replicas": min(spec.replicas, roles[0].replicas.max)}


def _role_up_to(role: Role, most: int) -> Role:
    bounds = role.replicas
    less = {"min": min(bounds.min, most), "max": min(bounds.max, most)}
    return role.model_copy(update={"replicas": bounds.model_copy(update=less)})
