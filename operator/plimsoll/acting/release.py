"""A status without a place: what a job that holds nothing says of itself."""

from typing import TypeVar

from plimsoll.api.kinds import JobStatus
from plimsoll.api.training_job import TrainingJobStatus

S = TypeVar("S", bound=JobStatus)

_BOTH = {"placement": None, "nodes_summary": "", "admitted_time": None, "started_time": None}
_TRAINING = {**_BOTH, "worker_count": 0, "next_restart_time": None, "expected_completion": None}
_INFERENCE = {
    **_BOTH,
    "replicas": 0,
    "ready_summary": "",
    "roles": (),
    "accelerators_summary": "",
}


def released(status: S) -> S:
    """The status after the job gave up its place; its history stays."""
    nothing = _TRAINING if isinstance(status, TrainingJobStatus) else _INFERENCE
    return status.model_copy(update=nothing)
