"""Find a bought node whose jobs fit elsewhere, if moving them costs less than the node does.

What moves throw away changes with each checkpoint, so a node is worth emptying just after one.
Nodes that are idle take nothing: they are to be given back themselves.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from plimsoll.observe.nodes.orders import Way
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.ageing import is_aged
from plimsoll.planning.provisioning.future_nodes import hourly_price, present_nodes
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, Node, NodeName, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import (
    SECONDS_PER_HOUR,
    WHOLE_PERCENT,
    held_milli,
    lost_work,
    stop_loss,
)


@dataclass(frozen=True, slots=True)
class Emptying:
    """A node that may be emptied, and the problem of its jobs without it.

    `gain_milli`: milli-GPU-seconds that its price is worth; None if it goes whatever that costs.
    """

    node: str
    problem: Problem
    gain_milli: int | None

    def pays(self, placements: Placements, allowance: int | None) -> bool:
        """Whether all jobs keep their sizes elsewhere, at a loss that is worth it.

        `allowance`: the work that plans may throw away, in milli-GPU-seconds; None: no limit.
        """
        counted = lost = 0
        for job in self.problem.jobs:
            placed = placements.get(job.name, ())
            if len(placed) < len(job.running):
                return False
            counted += stop_loss(job, placed)
            lost += lost_work(job, placed)
        if allowance is not None and lost > allowance:
            return False
        if self.gain_milli is None:
            return True
        break_even = self.problem.weights.break_even_percent
        return self.gain_milli * WHOLE_PERCENT > counted * break_even


def emptyings(
    snapshot: Snapshot, settled: Problem, idle: AbstractSet[str], most: int
) -> Iterator[Emptying]:
    """The nodes that may be emptied, at `most` so many, the aged and then the emptiest first."""
    moved = _movable_jobs(settled)
    found: list[tuple[bool, int, str, int | None]] = []
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    left = {name: len(present_nodes(pool, snapshot)) for name, pool in pools.items()}
    for order in snapshot.orders:
        if order.way is Way.PROVISIONING_REQUEST:
            continue
        pool, jobs = pools[order.pool], moved.get(NodeName(order.node))
        terms, node = pool.spec.provisioning, snapshot.node_by_name.get(order.node)
        if terms is None or node is None or not jobs or order.leaving or not order.arrived:
            continue
        aged = is_aged(order, pool, snapshot.now)
        if not aged and (left[order.pool] <= terms.min or not node.state.open):
            continue
        gain = None if aged else _worth_milli(float(hourly_price(pool)), settled)
        held = sum(held_milli(job, job.running) for job in jobs)
        found.append((not aged, held, order.node, gain))
    for _, _, name, gain in sorted(found, key=lambda each: each[:3])[:most]:
        closed = idle | {name}
        nodes = tuple(_without(node, closed, name) for node in settled.nodes)
        names = {job.name for job in moved[NodeName(name)]}
        jobs = tuple(replace(job, pinned=job.name not in names) for job in settled.jobs)
        problem = replace(settled, nodes=nodes, jobs=jobs, baseline=None, loss_allowance=None)
        yield Emptying(name, problem, gain)


def _movable_jobs(settled: Problem) -> Mapping[NodeName, tuple[Job, ...]]:
    """The jobs on each node, without the nodes that have one which must stay where it is."""
    jobs: dict[NodeName, dict[str, Job]] = {}
    for job in settled.jobs:
        for name in {name for each in job.running for name in each.nodes}:
            jobs.setdefault(name, {})[job.name] = job
    return {
        name: tuple(each.values())
        for name, each in jobs.items()
        if not any(job.pinned for job in each.values())
    }


def _worth_milli(hourly: float, settled: Problem) -> int:
    """What a node's price within the time in which changes must pay is worth."""
    weights = settled.weights
    dollars = hourly * weights.gain_seconds / SECONDS_PER_HOUR
    return int(dollars * weights.gpu_seconds_per_dollar * WHOLE_GPU_MILLI)


def _without(node: Node, closed: AbstractSet[str], emptied: str) -> Node:
    if node.name == emptied:
        return replace(node, open=False, usable=False)
    return replace(node, open=False) if node.name in closed else node
