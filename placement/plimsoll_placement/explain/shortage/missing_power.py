"""How many pods power domains can feed at best, and how much power is missing for more.

Each node counts against the tightest of its domains only, and the nodes that draw least come first:
no more pods than that can be powered.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from plimsoll_placement.explain.shortage.node_index import NodeIndex
from plimsoll_placement.explain.shortage.shortage import Ask, PowerGap
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    Assignments,
    DomainName,
    JobName,
    NodeName,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger

Drains = dict[DomainName | None, list[tuple[int, int]]]
"""By domain, its nodes' draw of one pod in milliwatts and how many pods each has room for."""


def pods_within_power(ledger: Ledger, at: NodeIndex, shape: Shape) -> int:
    """An upper bound on the pods that can be powered on these nodes."""
    drains = _drains(ledger, at, shape)
    return sum(_powered(_left(ledger, domain), nodes) for domain, nodes in drains.items())


def power_gaps(ledger: Ledger, at: NodeIndex, ask: Ask) -> list[PowerGap]:
    """The domains that could power more pods, the one with the smallest gap first.

    If none alone could make up for the shortage, each is listed with all that it could use.
    """
    drains = _drains(ledger, at, ask.shape)
    powered = {domain: _powered(_left(ledger, domain), n) for domain, n in drains.items()}
    missing = max(1, min(ask.pods, int(at.room.sum())) - sum(powered.values()))
    limited = {d: nodes for d, nodes in drains.items() if d and _pods(nodes) > powered[d]}
    enough = {d: n for d, n in limited.items() if _pods(n) >= powered[d] + missing} or limited
    budgets = {each.name: each.budget_milliwatts for each in ledger.problem.power_domains}
    gaps = [
        (_draw_of(powered[domain] + missing, nodes) - ledger.power.left_of(domain), domain)
        for domain, nodes in enough.items()
    ]
    return [PowerGap(domain, gap, budgets[domain]) for gap, domain in sorted(gaps)]


def draw_of_pod(ledger: Ledger, row: int, shape: Shape) -> int:
    """Milliwatts above idle that a pod draws on a node."""
    return ledger.power.draw_of(row, shape)


def least_draws(problem: Problem, placements: Mapping[JobName, Assignments]) -> dict[NodeName, int]:
    """The least that a placed GPU draws on a node, in milli-GPUs in typical use.

    Only nodes where that is less than typical are named.
    """
    least: dict[NodeName, int] = {}
    for name, assignments in placements.items():
        shapes = {role.name: role.shape for role in problem.job_by_name[name].roles}
        for assignment in (assignment for assignment in assignments if assignment.role in shapes):
            shape = shapes[assignment.role]
            draw = WHOLE_GPU_MILLI * shape.draw_milli // max(shape.gpu_milli, 1)
            if draw < WHOLE_GPU_MILLI:
                least |= {node: min(draw, least.get(node, draw)) for node in assignment.nodes}
    return least


def _drains(ledger: Ledger, at: NodeIndex, shape: Shape) -> Drains:
    drains: Drains = defaultdict(list)
    for row, room in zip(at.rows.tolist(), at.room.tolist(), strict=True):
        if room:
            drains[_tightest(ledger, row)].append((draw_of_pod(ledger, row, shape), room))
    return {domain: sorted(nodes) for domain, nodes in drains.items()}


def _tightest(ledger: Ledger, row: int) -> DomainName | None:
    named = (d for d in ledger.problem.nodes[row].power_domains if d in ledger.power.names)
    return min(named, key=lambda domain: (ledger.power.left_of(domain), domain), default=None)


def _left(ledger: Ledger, domain: DomainName | None) -> int | None:
    return None if domain is None else ledger.power.left_of(domain)


def _powered(left: int | None, nodes: Iterable[tuple[int, int]]) -> int:
    if left is None:
        return _pods(nodes)
    pods = 0
    for draw, room in nodes:
        here = room if draw == 0 else max(0, min(room, left // draw))
        pods, left = pods + here, left - here * draw
    return pods


def _draw_of(pods: int, nodes: Iterable[tuple[int, int]]) -> int:
    total = 0
    for draw, room in nodes:
        here = min(pods, room)
        pods, total = pods - here, total + here * draw
    return total


def _pods(nodes: Iterable[tuple[int, int]]) -> int:
    return sum(room for _, room in nodes)
