"""The status of a job without a placement.

What was learned about its work and its load stays.
"""

from typing import TypeVar

from plimsoll.api.inference_job import RoleStatus
from plimsoll.api.kinds import JobStatus
from plimsoll.api.training_job import TrainingJobStatus

S = TypeVar("S", bound=JobStatus)

_BOTH = {
    "placement": None,
    "admission": None,
    "nodes_summary": "",
    "admitted_time": None,
    "started_time": None,
}
_TRAINING = {**_BOTH, "worker_count": 0, "next_restart_time": None, "expected_completion": None}
_INFERENCE = {
    **_BOTH,
    "replicas": 0,
    "ready_summary": "",
    "cost_per_hour": None,
    "accelerators_summary": "",
}


def released(status: S) -> S:
    """The status after the job gave up its place; its history stays."""
    if isinstance(status, TrainingJobStatus):
        return status.model_copy(update=_TRAINING)
    roles = tuple(
        RoleStatus(name=role.name, loads=role.loads, measured=role.measured)
        for role in status.roles
        if role.loads or role.measured
    )
    return status.model_copy(update={**_INFERENCE, "roles": roles})
