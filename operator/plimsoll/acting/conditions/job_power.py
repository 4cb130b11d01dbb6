"""How a job comes to say what its GPUs draw: in its status, now and then, with whatever it does."""

from dataclasses import replace

from plimsoll.acting.step import Step, Turn


def with_power_told(step: Step, turn: Turn) -> Step:
    """The step, which also says what was measured of the job if that is new."""
    powers = turn.powers.get(step.job.name)
    if powers is None:
        return step
    return replace(step, status=step.status.model_copy(update={"power": powers}))
