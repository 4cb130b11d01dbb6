"""Problems in which pods ask for more than GPUs, CPU and memory: network devices and storage."""

from collections import Counter
from dataclasses import replace
from random import Random

from plimsoll_placement.model import Amounts, Job, Node, NodeName, Role
from plimsoll_placement.problem import Problem
from support.problems.random_clusters import chance

RESOURCES = ("ephemeral-storage", "rdma/hca")


def with_other_resources(problem: Problem, rng: Random) -> Problem:
    """The problem with roles that ask for some, and nodes that have few, but all that is held."""
    jobs = tuple(
        replace(job, roles=tuple(_asking(rng, role) for role in job.roles)) for job in problem.jobs
    )
    held = _held(jobs)
    nodes = (
        replace(node, others=_amounts(rng, held.get(node.name, Counter())))
        for node in problem.nodes
    )
    return replace(problem, nodes=tuple(nodes), jobs=jobs)


def some_lost(problem: Problem, rng: Random) -> Problem:
    """Some nodes have none of these resources any more, or less."""

    def less(node: Node) -> Node:
        left = ((name, amount // rng.choice((1, 2))) for name, amount in node.others)
        return replace(node, others=tuple(each for each in left if chance(rng, 70)))

    return replace(problem, nodes=tuple(map(less, problem.nodes)))


def _asking(rng: Random, role: Role) -> Role:
    others = tuple((name, rng.choice((1, 2, 4))) for name in RESOURCES if chance(rng, 40))
    return replace(role, shape=replace(role.shape, others=others))


def _held(jobs: tuple[Job, ...]) -> dict[NodeName, Counter[str]]:
    """What runs takes of each node, in roles that its job still has."""
    held: dict[NodeName, Counter[str]] = {}
    for job in jobs:
        shapes = {role.name: role.shape for role in job.roles}
        for assignment in (each for each in job.running if each.role in shapes):
            for name in assignment.nodes:
                taken = Counter(dict(shapes[assignment.role].others))
                held[name] = held.get(name, Counter()) + taken
    return held


def _amounts(rng: Random, held: Counter[str]) -> Amounts:
    drawn = ((name, held[name] + rng.choice((0, 1, 4, 8))) for name in RESOURCES)
    return tuple((name, amount) for name, amount in drawn if amount)
