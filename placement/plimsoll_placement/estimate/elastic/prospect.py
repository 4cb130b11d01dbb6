"""What lies ahead of an elastic job: its rate at each size, what is left, the cost of moving.

Times are in seconds, rates in progress per second, progress in any unit of the job's own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll_placement.estimate.throughput.curves import Size


@dataclass(frozen=True, slots=True)
class Prospect:
    """One job, as far as its worth at each size depends on it.

    `rates` has the sizes that the job may be given. `left` is the progress still to be made; None
    if unknown, and then `done` says how much was made. `running` is its present size, None if it
    has none, and `stayed_seconds` how long it has had it; `is_starting`: it has yet to do anything
    there. `restart_seconds` is how long any change of size stops the job.
    """

    rates: Mapping[Size, float]
    restart_seconds: float
    left: float | None = None
    running: Size | None = None
    stayed_seconds: float = 0.0
    done: float = 0.0
    is_starting: bool = False

    @property
    def slowest(self) -> float:
        """The least rate among the smallest sizes of each GPU type."""
        least: dict[str, tuple[int, float]] = {}
        for (gpu_type, replicas), rate in self.rates.items():
            if rate > 0 and (gpu_type not in least or replicas < least[gpu_type][0]):
                least[gpu_type] = (replicas, rate)
        return min((rate for _, rate in least.values()), default=1.0)

    @property
    def expected_left(self) -> float | None:
        """The progress still to be expected.

        If unknown, as much as was made already: among jobs whose lengths span orders of magnitude,
        one that has lasted this long goes on for about as long again.
        """
        if self.left is not None:
            return self.left
        return self.done or None
