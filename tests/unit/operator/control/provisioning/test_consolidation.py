"""What is bought for jobs that run stays ordered until it has come, or does not pay any more."""

import asyncio
import itertools

from plimsoll.clock import SYSTEM, Clock
from plimsoll.control.provisioning.consolidation import PAUSE_SECONDS, Consolidation, Demand
from plimsoll_devcluster.manifest import Manifest
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.fleets import a_job_on, bought, fleet_of
from support.objects.bought_nodes import a_claim, a_growing_pool
from support.objects.job_manifests import a_policy

THERE = (
    a_growing_pool("dear", price="50"),
    a_growing_pool("cheap", price="1"),
    *bought("a", "dear"),
    a_job_on("a", "job", 4),
    a_policy(objective={"weights": {"money": "1"}}),
)
COMING = a_claim("cheap-1", "cheap")


class Turns:
    """Turns of a consolidation, after a pause each; what is begun is worked out before the next."""

    def __init__(self) -> None:
        times = itertools.count(0.0, PAUSE_SECONDS)
        clock = Clock(SYSTEM.now, lambda: next(times))
        self.consolidation = Consolidation(InlineSolver(0), clock, lambda: None)

    async def take(self, *more: Manifest, waits: bool = False) -> tuple[dict[str, int], bool]:
        """What to order now, and whether what is on its way would be taken back before the turn."""
        fleet = fleet_of(*THERE, *more)
        orders = {order.name for order in fleet.snapshot.orders if not order.arrived}
        keeps = orders <= self.consolidation.spared(fleet.snapshot)
        due, _ = self.consolidation.due(fleet.snapshot)
        demand = Demand(fleet.settled, frozenset("a"), waits, frozenset())
        self.consolidation.turn(fleet.snapshot, demand)
        for _ in range(100):
            await asyncio.sleep(0)
        return dict(due.nodes), keeps


def test_what_is_ordered_stays_ordered_while_it_is_looked_for_again() -> None:
    async def turns() -> None:
        turns = Turns()
        await turns.take()
        await turns.take()
        assert await turns.take() == ({"cheap": 1}, True)
        for _ in range(5):
            assert await turns.take(COMING) == ({}, True)

    asyncio.run(turns())


def test_nothing_is_looked_for_while_somebody_waits() -> None:
    async def turns() -> None:
        turns = Turns()
        for _ in range(5):
            assert await turns.take(waits=True) == ({}, True)

    asyncio.run(turns())
