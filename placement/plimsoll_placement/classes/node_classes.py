"""Node classes: the model counts pods by classes of like nodes instead of by nodes.

A class is the devices of one type and share on nodes that agree in spot, power domains, which jobs
may run there and, where it matters, price. How much each has free may differ: the model uses only
sums and counts over a class's nodes, which makes it a relaxation. Nodes that take nothing new are
in no class.

If jobs ask for one domain of the topology, classes are split further along the domains: a domain
option is one domain, or several like ones if there are too many to tell apart.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_placement.classes.domain_options import DomainOption, all_rows, domain_options
from plimsoll_placement.classes.node_class import Load, NodeClass
from plimsoll_placement.model import WHOLE_GPU_MILLI, Node, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import price_class
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.ledger import Ledger

Rows = tuple[int, ...]
Alike = Callable[[Node], tuple[object, ...]]
"""What like nodes have in common, apart from devices and the jobs that may run there."""


@dataclass(frozen=True, slots=True, eq=False)
class NodeClasses:
    """All node classes, and for each the classes that contain it, itself among them."""

    node_classes: tuple[NodeClass, ...]
    around: tuple[tuple[int, ...], ...]
    whole: DomainOption
    domain_options: Mapping[int, tuple[DomainOption, ...]]
    of_row: Mapping[int, tuple[int, ...]]

    def serving(self, load: Load) -> tuple[int, ...]:
        """The classes of a node whose devices hold that load; none if two kinds of device could."""
        mine = [
            place
            for place in self.of_row.get(load.row, ())
            if self.node_classes[place].gpu_type == load.gpu_type
            and self.node_classes[place].granted_milli(load.shape)
        ]
        shares = {self.node_classes[place].device_pool.share_milli for place in mine}
        return tuple(mine) if len(shares) == 1 else ()


def node_classes(
    problem: Problem,
    masks: Iterable[int],
    levels: Iterable[int],
    pinned: Sequence[Load],
    alike: Alike,
) -> NodeClasses:
    """The node classes of a problem; jobs tell nodes apart by these `masks` and `levels`."""
    ledger = Ledger(problem)
    marks = list(zip(_marks(ledger, masks), map(alike, problem.nodes), strict=True))
    coarse = _coarse(ledger, marks, pinned)
    found, by_level = list(coarse), dict[int, tuple[DomainOption, ...]]()
    for level in sorted(set(levels)):
        by_level[level] = tuple(domain_options(ledger, level, coarse, found))
    whole = DomainOption(None, tuple(range(len(coarse))), (frozenset(all_rows(coarse)),))
    row_sets = [frozenset(node_class.rows.tolist()) for node_class in found]
    of_row = _places_by_row(row_sets)
    return NodeClasses(tuple(found), _around(found, row_sets, of_row), whole, by_level, of_row)


def _marks(ledger: Ledger, masks: Iterable[int]) -> list[bytes]:
    """For each node, which of the masks it is in."""
    distinct = sorted(set(masks))
    if not distinct:
        return [b""] * len(ledger.problem.nodes)
    table = np.stack([ledger.eligible(mask) for mask in distinct])
    return [column.tobytes() for column in np.packbits(table, axis=0).T]


def _coarse(ledger: Ledger, marks: Sequence[object], pinned: Sequence[Load]) -> list[NodeClass]:
    taken, found = _taken(pinned), list[NodeClass]()
    for gpu_type in sorted(ledger.device_pools):
        for device_pool in ledger.device_pools[gpu_type]:
            job_classes: dict[object, list[int]] = defaultdict(list)
            rows: list[int] = device_pool.rows[np.argsort(ledger.rank[device_pool.rows])].tolist()
            for row in rows:
                if ledger.open[row]:
                    job_classes[marks[row]].append(row)
            found += [
                _node_class(ledger, device_pool, sorted(alike), taken)
                for alike in job_classes.values()
            ]
    return found


def by_power(problem: Problem) -> Alike:
    """What decides whether something can run on a node: spot, resources, and limited draw."""
    budgeted = frozenset(domain.name for domain in problem.power_domains)
    asked = problem.asked_resources

    def alike(node: Node) -> tuple[object, ...]:
        domains = tuple(sorted(budgeted.intersection(node.power_domains)))
        # Told apart coarsely: amounts of storage may differ from node to node.
        others = tuple((name, n.bit_length()) for name, n in node.others if name in asked)
        return node.spot, domains, node.busy_milliwatts if domains else 0, others

    return alike


def by_price(problem: Problem) -> Alike:
    """The same, plus what decides how good it is to run there."""
    power = by_power(problem)

    def alike(node: Node) -> tuple[object, ...]:
        return *power(node), *price_class(node)

    return alike


def _taken(pinned: Sequence[Load]) -> Mapping[int, list[Load]]:
    taken: dict[int, list[Load]] = defaultdict(list)
    for load in pinned:
        taken[load.row].append(load)
    return taken


def _node_class(
    ledger: Ledger, device_pool: DevicePool, rows: list[int], taken: Mapping[int, list[Load]]
) -> NodeClass:
    at = np.array(rows, dtype=np.int64)
    own = replace(
        device_pool, rows=at, free=device_pool.free[np.searchsorted(device_pool.rows, at)]
    )
    held = np.array([_held(ledger, own, row, taken.get(row, ())) for row in rows]).reshape(-1, 4)
    free = np.stack([_supply(own), ledger.cpu[at], ledger.memory[at], ledger.slots[at]])
    left = np.maximum(free - held.T, 0)
    most = {
        name: max(ledger.problem.amounts(name)[row] for row in rows)
        for name in ledger.problem.asked_resources
    }
    free_milli, cpu, memory, slots = left
    return NodeClass(ledger.problem.nodes[rows[0]], own, at, free_milli, cpu, memory, slots, most)


def _held(
    ledger: Ledger, device_pool: DevicePool, row: int, loads: Iterable[Load]
) -> tuple[int, ...]:
    milli = cpu = memory = slots = 0
    for load in loads:
        shape = load.shape
        if load.gpu_type == device_pool.gpu_type and _only_here(ledger, device_pool, row, shape):
            milli += load.pods * (device_pool.granted_milli(shape.gpu_milli) or 0)
        cpu += load.pods * shape.cpu_millis
        memory += load.pods * shape.memory_bytes
        slots += load.pods
    return milli, cpu, memory, slots


def _only_here(ledger: Ledger, device_pool: DevicePool, row: int, shape: Shape) -> bool:
    """Whether no other devices of the type on the node could hold such a pod."""
    return not any(
        other.share_milli != device_pool.share_milli
        and other.granted_milli(shape.gpu_milli)
        and row in other.rows
        for other in ledger.device_pools[device_pool.gpu_type]
    )


def _supply(device_pool: DevicePool) -> Ints:
    """The milli-GPUs of each node that can be handed out."""
    free = np.maximum(device_pool.free, 0)
    if device_pool.share_milli == WHOLE_GPU_MILLI:
        free = np.where(free == WHOLE_GPU_MILLI, free, 0)
    return (free // device_pool.share_milli * device_pool.share_milli).sum(axis=1)


def _places_by_row(row_sets: Sequence[frozenset[int]]) -> dict[int, tuple[int, ...]]:
    places: dict[int, list[int]] = defaultdict(list)
    for place, rows in enumerate(row_sets):
        for row in rows:
            places[row].append(place)
    return {row: tuple(mine) for row, mine in places.items()}


def _around(
    found: Sequence[NodeClass], row_sets: Sequence[frozenset[int]], of_row: Mapping[int, Rows]
) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(
            other
            for other in of_row[int(node_class.rows[0])]
            if row_sets[place] <= row_sets[other]
            and found[other].gpu_type == node_class.gpu_type
            and found[other].device_pool.share_milli == node_class.device_pool.share_milli
        )
        for place, node_class in enumerate(found)
    )
