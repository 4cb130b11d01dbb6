"""Give nodes back that were bought: idle ones after their time, aged ones, and emptied ones."""

from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from datetime import timedelta

from plimsoll.acting.writes.writer import Writer
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.clock import Clock
from plimsoll.control.provisioning.consolidation import Consolidation, Demand
from plimsoll.control.solving.solver import Solver
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.idle_nodes import Close, GiveBack, IdleNodes, Reopen, Uses
from plimsoll.planning.provisioning.idle_times import IdleTimes
from plimsoll.planning.provisioning.shortages import Shortages
from plimsoll_placement.model import Weights


class GivingBack:
    """Takes a turn after each of the loop's."""

    def __init__(
        self, solver: Solver, clock: Clock, woken: Callable[[], None], shortages: Shortages
    ) -> None:
        self._shortages = shortages
        self._idle, self._times = IdleNodes(), IdleTimes()
        self.consolidation = Consolidation(solver, clock, woken)
        self._worth = Weights().gpu_seconds_per_dollar

    def idle_time(self, pool: GPUPool, snapshot: Snapshot) -> timedelta:
        """After how long an idle node of a pool is given back."""
        return self._times.idle_time(pool, snapshot, self._worth)

    def turn(self, snapshot: Snapshot, demand: Demand, writer: Writer) -> frozenset[str]:
        """Close nodes, and give those back that are closed; the names of reopened ones."""
        reopened: set[str] = set()
        if demand.settled is not None:
            self._worth = demand.settled.weights.gpu_seconds_per_dollar
        self.consolidation.turn(snapshot, demand)
        used = demand.used
        self._times.see(_needed(snapshot, used), snapshot.now)
        times = {pool.metadata.name: self.idle_time(pool, snapshot) for pool in snapshot.pools}
        uses = Uses(used, self.consolidation.emptied, demand.waits, times)
        for change in self._idle.due(snapshot, uses):
            match change:
                case GiveBack():
                    self._shortages.given_up(change.order.name)
                    if change.in_vain and not writer.orders.under_way:
                        self._shortages.failed(change.order.pool, snapshot.now)
                    writer.orders.submit([change])
                case Close() | Reopen() if not writer.nodes.is_busy:
                    writer.nodes.submit([change])
                    if isinstance(change, Reopen):
                        reopened.add(change.node.name)
                case _:
                    pass
        return frozenset(reopened)


def _needed(snapshot: Snapshot, used: AbstractSet[str]) -> Counter[str]:
    """How many bought nodes of each pool are used, or on their way."""
    needed = Counter({pool.metadata.name: 0 for pool in snapshot.pools})
    staying = (order for order in snapshot.orders if not order.leaving)
    needed.update(order.pool for order in staying if not order.arrived or order.node in used)
    return needed
