"""Value each size of a job where mean completion time counts: the `Completion` aim.

Other aims value a GPU by the work that it does. Here each further GPU is worth less to a job, jobs
with little work left go first, and a change must pay back before the job would be done: the rule of
`plimsoll_placement.estimate.elastic`, which `plimsoll simulate-trace` also plans with.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from plimsoll.api.training_job import TrainingJob
from plimsoll.planning.training.rates import expected_rates, knows_its_unit
from plimsoll.rounding import in_tenths
from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms
from plimsoll_placement.estimate.elastic.yields import demand
from plimsoll_placement.model import Weights

TERMS = WorthTerms()
REPORTED_SECONDS: Final = 60
"""Within this time of its first step a gang has reported how fast it is, if it ever does."""
COUNTED_SECONDS: Final = 24 * 3600
"""For so long a job's status counts its disruptions."""
LONGEST_START_SECONDS: Final = 300
"""Pods that take longer to start are not waited for."""


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
    prospect = replace(
        _prospect(job, counts, restart_seconds + _pods_start_seconds(job)),
        stayed_seconds=_stayed_seconds(job, now),
        is_starting=_is_starting(job, now),
    )
    found = demand(prospect, TERMS)
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
    work = job.spec.work if knows_its_unit(job) else None
    left = work.amount - done if work is not None else None
    return Prospect(
        rates=expected_rates(job, counts),
        restart_seconds=restart_seconds,
        left=None if left is None else in_tenths(float(left)),
        running=(placement.accelerator_type, placement.workers) if placement else None,
        done=in_tenths(float(done)),
    )


def _pods_start_seconds(job: TrainingJob) -> int:
    """How long its pods took to start, after those before them had gone; at most some minutes."""
    began, ready = job.status.admitted_time, job.status.started_time
    if began is None or ready is None:
        return 0
    return min(max(round((ready - began).total_seconds()), 0), LONGEST_START_SECONDS)


def _is_starting(job: TrainingJob, now: datetime) -> bool:
    """Whether a gang has yet to do anything since it was placed: it starts its pods, or loads.

    It is taken to have begun after the time that this should take, whether it reports or not.
    """
    status = job.status
    since = status.started_time or status.admitted_time
    if status.placement is None or since is None:
        return False
    if status.progress is not None and status.progress.rate is not None:
        return False
    loads = job.spec.checkpoint.restore_seconds + REPORTED_SECONDS
    lasts = loads if status.started_time else loads + LONGEST_START_SECONDS
    return (now - since).total_seconds() < lasts


def _stayed_seconds(job: TrainingJob, now: datetime) -> float:
    """How long it has had its size, but no more than its sizes have lasted on average."""
    started, created = job.status.started_time, job.metadata.creation_timestamp
    if started is None:
        return 0.0
    age = min((now - (created or started)).total_seconds(), COUNTED_SECONDS)
    lasted = age / (1 + len(job.status.disruption_times))
    return in_tenths(max(min((now - started).total_seconds(), lasted), 0.0))
