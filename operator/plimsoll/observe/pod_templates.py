"""The pod templates of jobs, and the fields that hold them."""

from collections.abc import Iterator

from plimsoll.api.kinds import Job
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob


def pod_templates(job: Job) -> Iterator[tuple[str, PodTemplate]]:
    """The templates of a job's pods, each after the field of `spec` that holds it: `roles[0]`."""
    if isinstance(job, TrainingJob):
        yield "workers", job.spec.workers.template
    yield from ((f"roles[{n}]", role.template) for n, role in enumerate(job.spec.roles))
