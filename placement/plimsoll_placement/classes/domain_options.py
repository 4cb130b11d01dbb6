"""Domain options: where a job has all its pods if it asks for one domain of the topology.

Each domain is an option of its own; if there are too many, like domains share one.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_placement.classes.node_class import NodeClass
from plimsoll_placement.state.ledger import Ledger

MOST_DOMAIN_OPTIONS = 12
"""Up to this many domains of a level are told apart; beyond that, like ones are grouped."""


@dataclass(frozen=True, slots=True, eq=False)
class DomainOption:
    """Where a job has all its pods: the whole cluster (`level` None), or one of like domains.

    `node_classes` are positions in `NodeClasses.node_classes`; `domains` are the nodes of each
    domain.
    """

    level: int | None
    node_classes: tuple[int, ...]
    domains: tuple[frozenset[int], ...]


def domain_options(
    ledger: Ledger, level: int, coarse: Sequence[NodeClass], found: list[NodeClass]
) -> list[DomainOption]:
    """The domain options of a level; their node classes are appended to `found`."""
    numbers = ledger.domains(level)
    domains: dict[int, set[int]] = defaultdict(set)
    for row in sorted(all_rows(coarse), key=lambda row: int(ledger.rank[row])):
        domains[int(numbers[row])].add(row)
    job_classes = _distinguished([frozenset(rows) for rows in domains.values()], coarse)
    return [
        DomainOption(level, _parts(coarse, found, job_class), tuple(job_class))
        for job_class in job_classes
    ]


def _parts(
    coarse: Sequence[NodeClass], found: list[NodeClass], job_class: Sequence[frozenset[int]]
) -> tuple[int, ...]:
    """The positions of the node classes within some domains."""
    inside, places = frozenset[int]().union(*job_class), list[int]()
    for place, node_class in enumerate(coarse):
        shared = inside.intersection(node_class.rows.tolist())
        if len(shared) == len(node_class.rows):
            places.append(place)
        elif shared:
            places.append(len(found))
            found.append(node_class.part(shared))
    return tuple(places)


def _distinguished(
    domains: Sequence[frozenset[int]], coarse: Sequence[NodeClass]
) -> list[list[frozenset[int]]]:
    """Each domain alone; if too many, like ones together; if still too many, all together."""
    if len(domains) <= MOST_DOMAIN_OPTIONS:
        return [[rows] for rows in domains]
    job_classes: dict[tuple[int, ...], list[frozenset[int]]] = defaultdict(list)
    node_class_rows = [frozenset(node_class.rows.tolist()) for node_class in coarse]
    for rows in domains:
        job_classes[tuple(len(rows & mine) for mine in node_class_rows)].append(rows)
    return (
        list(job_classes.values()) if len(job_classes) <= MOST_DOMAIN_OPTIONS else [list(domains)]
    )


def all_rows(parts: Sequence[NodeClass]) -> list[int]:
    """The nodes of some node classes."""
    return [row for node_class in parts for row in node_class.rows.tolist()]
