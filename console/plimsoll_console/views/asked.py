"""What a job asks for."""

from collections.abc import Iterator

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.training_job import TrainingJob
from plimsoll_console.messages.keys import Asked


def asked_by(job: Job) -> tuple[Asked, ...]:
    """The roles of a job, with how many pods each asks for."""
    return tuple(_of_training(job) if isinstance(job, TrainingJob) else _of_service(job))


def least_milli(asked: tuple[Asked, ...]) -> int:
    """The fewest milli-GPUs that the job can run with."""
    return sum(each.least * each.milli_per_pod for each in asked)


def _of_training(job: TrainingJob) -> Iterator[Asked]:
    spec = job.spec
    types, milli = tuple(each.type for each in spec.accelerators), spec.milli_gpus_by_role
    yield Asked(WORKER, spec.workers.min, spec.workers.most, milli[WORKER], types)
    for role in spec.roles:
        replicas = role.replicas
        yield Asked(role.name, replicas.min, replicas.most, milli[role.name], types)


def _of_service(job: InferenceJob) -> Iterator[Asked]:
    for role in job.spec.roles:
        pods, replicas = role.pods_per_replica, role.replicas
        types = tuple(dict.fromkeys(each.type for each in role.profiles))
        least, most = replicas.min * pods, replicas.max * pods
        yield Asked(role.name, least, most, role.milli_gpus_per_pod, types)
