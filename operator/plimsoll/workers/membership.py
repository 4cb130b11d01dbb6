"""Identify the worker behind a pod, and attribute its report.

A token speaks only for its own pod, and the pod only for its own job: no part of the identity comes
from the report itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob
from plimsoll.errors import NoWorker
from plimsoll.kube.objects.objects import Pod
from plimsoll.kube.tokens.claims import PodIdentity
from plimsoll.observe.labels import REPLICA, REVISION, ROLE
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.views.pods import label_number
from plimsoll.workers.messages import Report, amount

_LONGEST_AGO = 10 * 365 * 86400.0


@dataclass(frozen=True, slots=True)
class Worker:
    """A pod and the job that it works for."""

    pod: str
    pod_uid: str
    replica: int
    revision: int
    job: TrainingJob


def worker_of(identity: PodIdentity, pod: Pod | None, resource: Resource | None) -> Worker:
    """The worker that the bearer of a token is.

    `pod` is the pod of that name, `resource` the job that its label names. Raises NoWorker.
    """
    where = f"{identity.namespace}/{identity.name}"
    if pod is None or pod.metadata.uid != identity.uid:
        raise NoWorker(f"pod {where} no longer exists")
    job = resource if isinstance(resource, TrainingJob) else None
    if job is None or not _owns(job, pod) or pod.metadata.labels.get(ROLE) != WORKER:
        raise NoWorker(f"pod {where} is no worker of a TrainingJob")
    labels = pod.metadata.labels
    return Worker(
        identity.name,
        identity.uid,
        label_number(labels, REPLICA),
        label_number(labels, REVISION),
        job,
    )


def _owns(job: TrainingJob, pod: Pod) -> bool:
    """Whether the job made the pod: anybody may write a label."""
    here = job.metadata.namespace == pod.metadata.namespace
    return here and any(owner.uid == job.metadata.uid for owner in pod.metadata.owner_references)


def worker_report(worker: Worker, report: Report, now: datetime) -> WorkerReport:
    """A worker's report, with its identity. Raises NoWorker if it claims to be another job's."""
    name = worker.job.metadata.name
    if report.job != name:
        raise NoWorker(f"job: pod {worker.pod} works for {name}, not for {report.job}")
    ago = min(report.saved_seconds_ago or 0.0, _LONGEST_AGO)
    return WorkerReport(
        pod=worker.pod,
        pod_uid=worker.pod_uid,
        job_uid=worker.job.metadata.uid,
        replica=worker.replica,
        revision=worker.revision,
        at=now,
        done=amount(report.done),
        rate=amount(report.rate),
        saved=amount(report.saved),
        saved_at=None if report.saved is None else now - timedelta(seconds=ago),
        efficiency=report.efficiency,
        gradient_noise=report.gradient_noise,
        compute_seconds=report.compute_seconds,
        step_seconds=report.step_seconds,
        batch=report.batch,
        acknowledged=report.acknowledged,
    )
