"""Value each size of a job where mean completion time counts: the `Completion` aim.

Other aims value a GPU by the work that it does. Here each further GPU is worth less to a job, jobs
with little work left go first, and a change must pay back before the job would be done: the rule of
`plimsoll_placement.estimate.elastic`, which `plimsoll simulate-trace` also plans with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.rounding import in_tenths
from plimsoll.planning.training.rates import expected_rates
from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms
from plimsoll_placement.estimate.elastic.yields import demand
from plimsoll_placement.model import Weights

TERMS = WorthTerms()


@dataclass(frozen=True, slots=True)
class Aim:
    """Useful milli-GPUs by GPU type at each count, and the cost of a stop in seconds per GPU."""

    yields: dict[str, tuple[int, ...]]
    restart_seconds: int


def completion_aim(
    job: TrainingJob, counts: Sequence[int], restart_seconds: int, now: datetime
) -> Aim:
    """The worth of sizes to a job whose stop throws away so many seconds of each GPU.

    The smallest size on the slowest type is worth about the GPUs that it has.
    """
    stayed = _stayed_seconds(job, now)
    found = demand(replace(_prospect(job, counts, restart_seconds), stayed_seconds=stayed), TERMS)
    least_gpus = counts[0] * float(job.spec.workers.gpus_per_worker)
    scale = TERMS.fairness * least_gpus
    yields = {
        str(kind): tuple(max(1, round(milli * scale)) for milli in of)
        for kind, of in found.yields.items()
    }
    per_gpu = scale / float(job.spec.workers.gpus_per_worker)
    horizons = Weights().horizon_seconds / TERMS.most_horizon_seconds
    return Aim(yields, round(found.restart_seconds * per_gpu * horizons))


def _prospect(job: TrainingJob, counts: Sequence[int], restart_seconds: int) -> Prospect:
    placement, progress = job.status.placement, job.status.progress
    done = progress.done if progress else Decimal(0)
    left = job.spec.work.amount - done if job.spec.work else None
    return Prospect(
        rates=expected_rates(job, counts),
        restart_seconds=restart_seconds,
        left=None if left is None else in_tenths(float(left)),
        running=(placement.accelerator_type, placement.workers) if placement else None,
        done=in_tenths(float(done)),
    )


def _stayed_seconds(job: TrainingJob, now: datetime) -> float:
    started = job.status.started_time
    return 0.0 if started is None else in_tenths((now - started).total_seconds())
