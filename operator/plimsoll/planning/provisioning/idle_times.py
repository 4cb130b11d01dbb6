"""Learn how long an idle node is worth keeping.

Keeping one costs its price. Giving it back costs, once one is needed again, the start of another:
its price meanwhile, and what waiting for it is worth. How soon idle nodes were needed again before
decides: the time that would have cost least in those cases is the best known for the next ones.
"""

from collections import defaultdict, deque
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.future_nodes import hourly_price
from plimsoll.planning.provisioning.start_times import start_time

UNKNOWN: Final = timedelta(minutes=10)
"""As long as a node is kept of which too little is known."""
SHORTEST: Final = timedelta(minutes=1)
LONGEST: Final = timedelta(hours=4)
FEWEST_GAPS: Final = 8
_MOST_GAPS: Final = 64
_SECONDS_PER_HOUR: Final = 3600.0


class IdleTimes:
    """Remembers for how long nodes of each pool had been idle when one was needed again.

    Nodes count as idle on after they have been given back: the next need ends the gap. The latest
    to become idle is the first to be needed.
    """

    def __init__(self) -> None:
        self._used: dict[str, int] = {}
        self._since: defaultdict[str, list[datetime]] = defaultdict(list)
        self._gaps: defaultdict[str, deque[timedelta]] = defaultdict(_no_gaps)

    def see(self, used: Mapping[str, int], now: datetime) -> None:
        """Take in how many nodes of each pool are used now, or on their way to be."""
        for pool, count in used.items():
            before = self._used.get(pool, count)
            since, gaps = self._since[pool], self._gaps[pool]
            since += [now] * (before - count)
            for _ in range(min(count - before, len(since))):
                _remember(gaps, now - since.pop())
            while since and now - since[0] > LONGEST:
                _remember(gaps, now - since.pop(0))
        self._used = dict(used)

    def gaps(self, pool: str) -> tuple[timedelta, ...]:
        """For how long nodes of a pool had been idle, the latest last."""
        return tuple(self._gaps[pool])

    def idle_time(self, pool: GPUPool, snapshot: Snapshot, worth: int) -> timedelta:
        """After how long an idle node of the pool is given back.

        `worth`: the useful GPU-seconds that a dollar is worth to plans.
        """
        terms, said = pool.spec.provisioning, pool.status.provisioning
        if terms is not None and terms.idle_time is not None:
            return terms.idle_time
        price, gaps = float(hourly_price(pool)), self._gaps[pool.metadata.name]
        if price <= 0:
            return UNKNOWN
        if len(gaps) < FEWEST_GAPS:
            return UNKNOWN if said is None or said.idle_time is None else said.idle_time
        return cheapest_time(gaps, price, _cost_of_a_start(pool, price, snapshot, worth))


def cheapest_time(gaps: Collection[timedelta], price: float, start: float) -> timedelta:
    """After how long to give idle nodes back so that these gaps would have cost least.

    `price`: what a node costs an hour; `start`: what it costs to start another.
    """

    def cost(time: timedelta) -> float:
        hours = sum(min(gap, time).total_seconds() for gap in gaps) / _SECONDS_PER_HOUR
        return price * hours + start * sum(gap > time for gap in gaps)

    times = {SHORTEST, *(gap for gap in gaps if SHORTEST < gap < LONGEST)}
    return min(sorted(times), key=cost)


def _cost_of_a_start(pool: GPUPool, price: float, snapshot: Snapshot, worth: int) -> float:
    """What it costs that a node must start first, in the currency of its price."""
    hours = start_time(pool, snapshot).total_seconds() / _SECONDS_PER_HOUR
    if worth <= 0:
        return float("inf")
    gpu_seconds = hours * _SECONDS_PER_HOUR * (pool.spec.gpus_per_node or 0)
    return price * hours + gpu_seconds / worth


def _remember(gaps: deque[timedelta], gap: timedelta) -> None:
    if gap > SHORTEST:  # shorter ones are bridged whatever is decided
        gaps.append(timedelta(seconds=round(gap.total_seconds())))


def _no_gaps() -> deque[timedelta]:
    return deque(maxlen=_MOST_GAPS)
