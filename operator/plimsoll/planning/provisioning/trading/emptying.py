"""Find bought nodes that could go: their jobs fit elsewhere, or on others that are bought instead.

Nodes that are idle are to be given back themselves: a place there costs what they do.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.nodes.notices import closing_taint
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.ageing import aged_nodes, staying_nodes
from plimsoll.planning.provisioning.buying.offers import Offer
from plimsoll.planning.provisioning.buying.queue_budgets import QueueBudgets
from plimsoll.planning.provisioning.future_nodes import hourly_price
from plimsoll.planning.provisioning.trading.trades import Trade
from plimsoll_placement.model import Job, Node, NodeName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import held_milli


@dataclass(frozen=True, slots=True)
class Candidate:
    """A bought node that may be emptied, and what it costs an hour.

    `held`: the milli-GPUs of its jobs, wherever they are.
    """

    node: str
    price: float
    is_aged: bool
    held: int

    def trade(self, offer: Offer, idle: Mapping[NodeName, float]) -> Trade:
        """The node for places elsewhere, some of them on nodes that the offer has yet to come.

        `idle`: what the idle nodes cost an hour.
        """
        problem = _without(offer.problem, NodeName(self.node))
        saved = None if self.is_aged else self.price
        charged = {**idle, **coming_prices(offer)}
        return Trade(self.node, replace(offer, problem=problem), saved, charged)


def candidates(snapshot: Snapshot, settled: Problem) -> Sequence[Candidate]:
    """The nodes that may be emptied, the aged and then the emptiest first."""
    return sorted(_candidates(snapshot, settled), key=lambda each: (not each.is_aged, each.held))


def as_it_is(settled: Problem) -> Offer:
    """What is there, and nothing to buy."""
    return Offer(settled, {}, QueueBudgets())


def idle_prices(snapshot: Snapshot, idle: AbstractSet[str]) -> Mapping[NodeName, float]:
    """What bought nodes that are idle cost an hour."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    return {
        NodeName(order.node): float(hourly_price(pools[order.pool]))
        for order in snapshot.orders
        if order.node in idle
    }


def coming_prices(offer: Offer) -> Mapping[NodeName, float]:
    """What nodes that are not there yet cost an hour, and while they are on their way."""
    return {
        name: float(hourly_price(each.pool)) * (1 + each.start_time / timedelta(hours=1))
        for name, each in offer.future.items()
    }


def _candidates(snapshot: Snapshot, settled: Problem) -> Iterator[Candidate]:
    moved = _movable_jobs(settled)
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    left = {name: _kept(pool, snapshot) for name, pool in pools.items()}
    old = {name: aged_nodes(pool, snapshot) for name, pool in pools.items()}
    for order in snapshot.orders:
        pool, jobs = pools[order.pool], moved.get(NodeName(order.node))
        terms, node = pool.spec.provisioning, snapshot.node_by_name.get(order.node)
        if terms is None or node is None or not jobs or not order.arrived or order.leaving:
            continue
        aged = order.node in old[order.pool]
        if aged or (left[order.pool] > terms.min and node.state.open):
            held = sum(held_milli(job, job.running) for job in jobs)
            yield Candidate(order.node, float(hourly_price(pool)), aged, held)


def _kept(pool: GPUPool, snapshot: Snapshot) -> int:
    """How many nodes of a pool are not about to go."""
    return sum(closing_taint(each.node) is None for each in staying_nodes(pool, snapshot))


def _movable_jobs(settled: Problem) -> Mapping[NodeName, tuple[Job, ...]]:
    """The jobs on each node, without the nodes that have one which must stay where it is."""
    jobs: dict[NodeName, dict[str, Job]] = {}
    for job in settled.jobs:
        for name in {name for each in job.running for name in each.nodes}:
            jobs.setdefault(name, {})[job.name] = job
    return {
        name: tuple(each.values())
        for name, each in jobs.items()
        if not any(job.pinned or not job.knows_its_roles for job in each.values())
    }


def _without(problem: Problem, node: NodeName) -> Problem:
    """The problem of the jobs on a node if it went.

    Gangs on others with GPUs of its types may give way to them; all others stay where they are.
    """
    types = next(_gpu_types(each) for each in problem.nodes if each.name == node)
    beside = {each.name for each in problem.nodes if types & _gpu_types(each)}
    nodes = tuple(
        replace(each, open=False, usable=False) if each.name == node else each
        for each in problem.nodes
    )
    jobs = tuple(
        replace(job, pinned=job.pinned or not _may_move(job, node, beside)) for job in problem.jobs
    )
    return replace(problem, nodes=nodes, jobs=jobs, baseline=None, loss_allowance=None)


def _gpu_types(node: Node) -> AbstractSet[str]:
    return {each.gpu_type for each in node.devices}


def _may_move(job: Job, node: NodeName, beside: AbstractSet[NodeName]) -> bool:
    if any(node in each.nodes for each in job.running):
        return True
    is_beside = any(not beside.isdisjoint(each.nodes) for each in job.running)
    return job.gang and job.knows_its_roles and is_beside
