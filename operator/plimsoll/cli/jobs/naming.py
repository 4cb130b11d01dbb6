"""What jobs and the workloads that they stand for are called."""

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.training_job import TrainingJob


def title(job: Job) -> str:
    """A job as `Kind/namespace/name`."""
    return f"{job.kind}/{job.metadata.namespace}/{job.metadata.name}"


def stands_for(job: Job) -> str:
    """The adopted workload that a job stands for, as `Kind/name`; "" for any other job."""
    ref = job.spec.workload_ref if isinstance(job, TrainingJob) else None
    return f"{ref.kind}/{ref.name}" if ref is not None else ""


def scales(job: Job) -> str:
    """The workload that a job targets, as `Kind/name`; "" for any other job."""
    ref = job.spec.target_ref if isinstance(job, InferenceJob) else None
    return f"{ref.kind}/{ref.name}" if ref is not None else ""
