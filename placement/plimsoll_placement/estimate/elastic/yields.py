"""Express the worth of sizes in a planning problem, as useful milli-GPUs and seconds.

`Role.yields` are worths in thousandths, and `Job.restart_seconds` is what a change costs, spread
over the GPUs that the job holds and the horizon of the plan, which is how `score.py` counts both;
`Weights.horizon_seconds` must equal `WorthTerms.most_horizon_seconds`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms, move_cost, worths
from plimsoll_placement.estimate.throughput.curves import Size
from plimsoll_placement.model import GpuType

MILLI = 1000


@dataclass(frozen=True, slots=True)
class Demand:
    """What the `Role` and `Job` of a planning problem say of an elastic job.

    `yields` are in useful milli-GPUs, by GPU type at each of `counts`.
    """

    counts: tuple[int, ...]
    yields: Mapping[GpuType, tuple[int, ...]]
    restart_seconds: int


def demand(prospect: Prospect, terms: WorthTerms) -> Demand:
    """What a job asks for; at least one of its rates is above 0."""
    counts = tuple(sorted({count for _, count in prospect.rates}))
    cost = move_cost(prospect, terms)
    worth = {
        # Worths already include the restart, which the plan charges for any change.
        size: each if size == prospect.running else each + cost
        for size, each in worths(prospect, terms).items()
    }
    types = sorted({gpu_type for gpu_type, _ in worth})
    yields = {GpuType(kind): _yields(kind, counts, worth) for kind in types}
    held = prospect.running[1] if prospect.running else 1
    return Demand(counts, yields, round(cost * terms.most_horizon_seconds / held))


def _yields(kind: str, counts: Sequence[int], worth: Mapping[Size, float]) -> tuple[int, ...]:
    """At least 1 each; a count that the type does not offer is worth less than the one below it."""
    found: list[int] = []
    for count in counts:
        below = found[-1] - 1 if found else 1
        known = worth.get((kind, count))
        found.append(max(1, below if known is None else round(MILLI * known)))
    return tuple(found)
