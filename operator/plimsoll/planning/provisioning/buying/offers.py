"""Nodes that jobs could have which are not there yet, as a problem for the solver."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.planning.provisioning.buying.queue_budgets import QueueBudgets
from plimsoll.planning.provisioning.future_nodes import FutureNode
from plimsoll_placement.model import Assignments, NodeName, Placements
from plimsoll_placement.problem import Problem


@dataclass(frozen=True, slots=True)
class Offer:
    """A problem, and the nodes in it that are not there yet, by name.

    `queues`: what each queue may still spend.
    """

    problem: Problem
    future: Mapping[NodeName, FutureNode]
    queues: QueueBudgets

    @property
    def to_buy(self) -> dict[NodeName, GPUPool]:
        """The pools of those that are still to be bought."""
        return {name: each.pool for name, each in self.future.items() if each.order is None}


def node_names(assignments: Assignments) -> Iterator[NodeName]:
    """The nodes of assignments, one for each pod."""
    return (name for assignment in assignments for name in assignment.nodes)


def with_fewer(offer: Offer, most: Mapping[str, int]) -> Offer:
    """The same with at most so many nodes to be bought of each pool; none of one not named."""
    left = Counter(most)
    shut: set[NodeName] = set()
    for node, pool in offer.to_buy.items():
        left[pool.metadata.name] -= 1
        if left[pool.metadata.name] < 0:
            shut.add(node)
    nodes = (replace(n, open=False) if n.name in shut else n for n in offer.problem.nodes)
    return replace(offer, problem=replace(offer.problem, nodes=tuple(nodes)))


def bought(offer: Offer, placements: Placements) -> Counter[str]:
    """How many nodes of each pool placements take that are still to be bought."""
    used = {name for each in placements.values() for name in node_names(each)}
    return Counter(p.metadata.name for node, p in offer.to_buy.items() if node in used)


def fewest(offer: Offer, placements: Placements) -> Counter[str]:
    """How many nodes of each pool hold the GPUs that placements take of those to be bought."""
    to_buy, taken = offer.to_buy, Counter[str]()
    for job in offer.problem.jobs:
        for assignment in placements.get(job.name, ()):
            for node in to_buy.keys() & set(assignment.nodes):
                pods = assignment.nodes.count(node)
                milli = pods * job.role(assignment.role).shape.gpu_milli
                taken[to_buy[node].metadata.name] += milli
    sizes = {pool.metadata.name: 1000 * (pool.spec.gpus_per_node or 1) for pool in to_buy.values()}
    return Counter({name: -(-milli // sizes[name]) for name, milli in taken.items()})


def is_no_worse(offer: Offer, some: Placements, others: Placements) -> bool:
    """Whether some placements give each job that waits as many replicas as others give it."""
    waiting = (job.name for job in offer.problem.jobs if not job.running)
    return all(len(some.get(name, ())) >= len(others.get(name, ())) for name in waiting)
