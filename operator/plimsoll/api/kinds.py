"""The kinds of the API."""

from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.inference_job import InferenceJob, InferenceJobStatus
from plimsoll.api.job_queue import JobQueue
from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.api.power_domain import PowerDomain
from plimsoll.api.resource import Resource
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus

Job = TrainingJob | InferenceJob
JobStatus = TrainingJobStatus | InferenceJobStatus

KINDS: Final[tuple[type[Resource], ...]] = (
    TrainingJob,
    InferenceJob,
    GPUPool,
    PowerDomain,
    JobQueue,
    PlacementPolicy,
)
KIND_BY_NAME: Final = {kind.definition.kind: kind for kind in KINDS}
