"""Choose how often a training job should checkpoint: more often on spot that is often reclaimed."""

from collections.abc import Mapping
from decimal import Decimal

from plimsoll.api.training_job import TrainingJob
from plimsoll_placement.estimate.spot.risk import checkpoint_seconds

LEAST_SAVES = 4
"""An interval is at least so many times the duration of a save, so that work gets done."""
LEAST_SECONDS = 60.0


def save_interval_seconds(job: TrainingJob, interruptions_per_hour: Mapping[str, Decimal]) -> float:
    """The seconds between checkpoints to ask of a job, from the interruption rates by pool name.

    Never longer than the job's own `checkpoint.interval`, which may have other reasons.
    """
    placement, checkpoint = job.status.placement, job.spec.checkpoint
    most = checkpoint.interval.total_seconds()
    places = placement.assignments if placement is not None else ()
    nodes = {(place.pool, node) for place in places for node in place.nodes}
    rate = sum(float(interruptions_per_hour.get(pool, 0)) for pool, _ in nodes)
    least = max(LEAST_SECONDS, LEAST_SAVES * checkpoint.save_seconds)
    return checkpoint_seconds(checkpoint.save_seconds, rate, least=min(least, most), most=most)
