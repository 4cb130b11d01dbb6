"""Sites: where a job has all its pods if it asks for one domain of the topology.

Each domain is a site of its own; if there are too many, those that are alike are one together.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_placement.classes.node_class import Cell
from plimsoll_placement.state.ledger import Ledger

MOST_SITES = 12
"""Domains of a level up to this many are told apart; more are grouped by what is alike."""


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """Where a job has all its pods: the whole cluster (`level` None), or one of alike domains.

    `cells` are places in `Cells.cells`; `domains` are the nodes of each domain.
    """

    level: int | None
    cells: tuple[int, ...]
    domains: tuple[frozenset[int], ...]


def sites(ledger: Ledger, level: int, coarse: Sequence[Cell], found: list[Cell]) -> list[Site]:
    """The sites of a level; their cells are added to what was found."""
    numbers = ledger.domains(level)
    domains: dict[int, set[int]] = defaultdict(set)
    for row in sorted(all_rows(coarse), key=lambda row: int(ledger.rank[row])):
        domains[int(numbers[row])].add(row)
    groups = _told_apart([frozenset(rows) for rows in domains.values()], coarse)
    return [Site(level, _parts(coarse, found, group), tuple(group)) for group in groups]


def _parts(
    coarse: Sequence[Cell], found: list[Cell], group: Sequence[frozenset[int]]
) -> tuple[int, ...]:
    """The places of the cells within some domains."""
    inside, places = frozenset[int]().union(*group), list[int]()
    for place, cell in enumerate(coarse):
        shared = inside.intersection(cell.rows.tolist())
        if len(shared) == len(cell.rows):
            places.append(place)
        elif shared:
            places.append(len(found))
            found.append(cell.part(shared))
    return tuple(places)


def _told_apart(
    domains: Sequence[frozenset[int]], coarse: Sequence[Cell]
) -> list[list[frozenset[int]]]:
    """Each domain alone; if there are too many, those alike together; if still, all together."""
    if len(domains) <= MOST_SITES:
        return [[rows] for rows in domains]
    groups: dict[tuple[int, ...], list[frozenset[int]]] = defaultdict(list)
    cell_rows = [frozenset(cell.rows.tolist()) for cell in coarse]
    for rows in domains:
        groups[tuple(len(rows & mine) for mine in cell_rows)].append(rows)
    return list(groups.values()) if len(groups) <= MOST_SITES else [list(domains)]


def all_rows(parts: Sequence[Cell]) -> list[int]:
    """The nodes of some cells."""
    return [row for cell in parts for row in cell.rows.tolist()]
