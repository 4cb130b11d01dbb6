"""A queue's recent GPU usage: a decaying average over time, kept in the queue's status.

What was held a half-life ago counts half, as in Slurm's `PriorityDecayHalfLife` and Kueue's
`usageHalfLifeTime`. Each count starts at the time recorded with the last one, so that no hour
counts twice, whichever replica counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from plimsoll.api.job_queue import JobQueue
from plimsoll.api.placement_policy import Fairness, PlacementPolicy
from plimsoll.api.values.amounts import to_decimal

RECOUNT = timedelta(minutes=10)
"""How often an average is written while the queue holds the same."""
RECOUNTS = 50
"""The fewest counts per half-life."""
LONGEST_WATCH = timedelta(minutes=30)
"""After a longer gap usage within it is unknown: the lower of before and now is assumed."""
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class UsageHistory:
    """GPUs that a queue held on average by type, and until when they are counted."""

    counted_until: datetime | None = None
    average: Mapping[str, Decimal] = field(default_factory=dict[str, Decimal])


def half_life(policy: PlacementPolicy | None) -> timedelta:
    """The half-life of usage; zero if the past does not count."""
    fairness = Fairness() if policy is None else policy.spec.fairness
    return fairness.usage_half_life


def usage_history(
    queue: JobQueue, used: Mapping[str, Decimal], span: timedelta, now: datetime
) -> UsageHistory:
    """A queue's usage up to now; the same as before if there is nothing to write.

    `used`: GPUs by type that it holds now, without zeros. What it held since the last count is what
    its status says that it held then. `span`: the half-life.
    """
    if not span:
        return UsageHistory()
    since, before = queue.status.counted_until, _used(queue)
    if since is None:
        return UsageHistory(now.replace(microsecond=0))
    average = {each.type: each.average for each in queue.status.usage if each.average}
    elapsed = max(now - since, timedelta(0))
    is_idle = not average and not used
    if used == before and (is_idle or elapsed < min(RECOUNT, span / RECOUNTS)):
        return UsageHistory(since, average)
    if elapsed > LONGEST_WATCH:
        before = {kind: min(gpus, used.get(kind, Decimal(0))) for kind, gpus in before.items()}
    return UsageHistory(
        max(now.replace(microsecond=0), since), _decayed(average, before, elapsed / span)
    )


def _used(queue: JobQueue) -> dict[str, Decimal]:
    return {each.type: each.used for each in queue.status.usage if each.used}


def _decayed(
    average: Mapping[str, Decimal], held: Mapping[str, Decimal], half_lives: float
) -> dict[str, Decimal]:
    """The average after so many half-lives of holding the same."""
    kept = 0.5**half_lives
    new = {
        kind: float(average.get(kind, 0)) * kept + float(held.get(kind, 0)) * (1 - kept)
        for kind in (*average, *held)
    }
    rounded = {kind: to_decimal(gpus, _DIGITS) for kind, gpus in new.items()}
    return {kind: gpus for kind, gpus in rounded.items() if gpus}
