"""How often spot is interrupted, what that costs per hour, how often a job should checkpoint."""

import math
from dataclasses import dataclass

PRIOR_INTERRUPTIONS = 2.0
"""A declared rate counts as if this many interruptions had been seen at it."""
PRIOR_NODE_HOURS = 100.0
"""Without a declared rate, observations count as if after this many interruption-free hours."""
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class History:
    """What was observed of a pool: interruptions of nodes, and node-hours."""

    interruptions: float = 0.0
    node_hours: float = 0.0


def interruptions_per_hour(declared: float, seen: History) -> float:
    """The interruption rate of one node: the declared rate, corrected by observation.

    Interruptions of a pool are assumed to be random (Poisson). With a Gamma prior whose mean is the
    declared rate, the expected rate is (prior interruptions + seen) / (prior node-hours + seen). A
    pool that declares 0 has a rate of 0 until an interruption is seen.
    """
    if declared <= 0:
        return seen.interruptions / (PRIOR_NODE_HOURS + seen.node_hours)
    prior_hours = PRIOR_INTERRUPTIONS / declared
    return (PRIOR_INTERRUPTIONS + seen.interruptions) / (prior_hours + seen.node_hours)


def checkpoint_seconds(
    save_seconds: float, gang_interruptions_per_hour: float, *, least: float, most: float
) -> float:
    """The seconds of work between checkpoints that lose least to saving and interruptions.

    sqrt(2 × seconds of a save × mean seconds between interruptions of the gang), within `least` and
    `most` (Young, "A first order approximation to the optimum checkpoint interval", 1974; Daly's
    further terms of 2006 matter only where a save takes nearly as long as the gang runs). A gang is
    interrupted when any of its nodes is, so its rate is the sum of theirs.
    """
    if gang_interruptions_per_hour <= 0:
        return most
    between = SECONDS_PER_HOUR / gang_interruptions_per_hour
    return min(max(math.sqrt(2 * save_seconds * between), least), most)
