"""Say in a job's status how fast it is taken to be on each GPU type, where its spec does not."""

from dataclasses import replace

from plimsoll.acting.step import Step
from plimsoll.api.parts.gang import Accelerator
from plimsoll.api.parts.progress import GpuSpeed, SpeedBasis
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus
from plimsoll.planning.training.batch_limits import allowed_counts
from plimsoll.planning.training.rates import expected_rates
from plimsoll.remembered import once_for_each


def with_speeds(step: Step, job: TrainingJob) -> Step:
    """The step, which also reports the speeds of the job if they are new."""
    status = step.status
    if not isinstance(status, TrainingJobStatus) or step.job.is_over:
        return step
    if status.measured != job.status.measured:
        job = job.model_copy(update={"status": status})
    speeds = speeds_of(job)
    if status.speeds == speeds:
        return step
    return replace(step, status=status.model_copy(update={"speeds": speeds}))


@once_for_each
def speeds_of(job: TrainingJob) -> tuple[GpuSpeed, ...]:
    """Its speeds with the fewest workers; none if it states all, or there is nothing to compare."""
    accelerators = job.spec.accelerators
    if len(accelerators) == 1 or not any(each.is_assumed for each in accelerators):
        return ()
    least = allowed_counts(job)[0]
    rates = expected_rates(job, (least,))
    fastest = max(rates.values())
    return tuple(
        GpuSpeed(
            type=each.type,
            percent=round(100 * rates[each.type, least] / fastest),
            basis=_basis(job, each),
        )
        for each in accelerators
    )


def _basis(job: TrainingJob, accelerator: Accelerator) -> SpeedBasis:
    if any(each.type == accelerator.type for each in job.status.measured):
        return "Measured"
    if accelerator.is_learned:
        return "Learned"
    return "Assumed" if accelerator.is_assumed else "Stated"
