"""What power domains have left while placements are made, for one node or for many at once."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.model import WHOLE_GPU_MILLI, DomainName, Shape
from plimsoll_placement.problem import Problem

Ints = NDArray[np.int64]

ENDLESS = 1 << 62
"""Stands for no limit, in milliwatts or pods."""


class Power:
    """Milliwatts left of each domain's budget; mutable, like the ledger that owns it."""

    def __init__(self, problem: Problem) -> None:
        self.names = tuple(domain.name for domain in problem.power_domains)
        """The domains, in the order of `left`."""
        self._budgets = _budgets(problem)
        self._place = {name: place for place, name in enumerate(self.names)}
        self.left: Ints = np.array([*self._budgets, ENDLESS], dtype=np.int64)
        """By domain; the last entry stands for no domain."""
        self.busy: Ints = np.array([n.busy_milliwatts for n in problem.nodes], dtype=np.int64)
        self.domains = _domains(problem, self._place)
        """By node: positions in `left`, as many as the node with most domains has."""
        limited = len(self.names)
        self._limited = [tuple(d for d in row if d < limited) for row in self.domains.tolist()]

    def turn_to(self, problem: Problem) -> None:
        """Take the budgets of another problem with the same nodes and domains."""
        budgets = _budgets(problem)
        self.left[: len(budgets)] += budgets - self._budgets
        self._budgets = budgets

    def left_of(self, domain: DomainName) -> int:
        """Milliwatts left of one domain's budget."""
        return int(self.left[self._place[domain]])

    def draw_of(self, row: int, shape: Shape) -> int:
        """Milliwatts above idle that one pod of a shape draws on a node, rounded up."""
        return -(-shape.draw_milli * int(self.busy[row]) // WHOLE_GPU_MILLI)

    def draw(self, row: int, shape: Shape, pods: int) -> None:
        """Take what pods draw on a node off its domains; give it back if `pods` is negative."""
        drawn = pods * self.draw_of(row, shape)
        for domain in self._limited[row]:
            self.left[domain] -= drawn

    def room_of(self, row: int, shape: Shape, left: Ints | None = None) -> int:
        """How many pods of a shape a node's domains have room for, given what is `left` of them."""
        milliwatts, domains = self.draw_of(row, shape), self._limited[row]
        if not milliwatts or not domains:
            return ENDLESS
        budget = self.left if left is None else left
        return max(0, min(int(budget[domain]) for domain in domains) // milliwatts)

    def sharing(self, row: int) -> list[int]:
        """The nodes that share a domain with a node, itself first."""
        shared = np.isin(self.domains, self._limited[row]).any(axis=1)
        return [row, *(int(each) for each in np.flatnonzero(shared) if each != row)]

    def left_without(self, draw_milli: Ints) -> Ints:
        """What each domain would have left if pods that draw this much on each node were gone."""
        left, freed = self.left.copy(), draw_milli * self.busy // WHOLE_GPU_MILLI
        busy = np.flatnonzero(freed)
        for column in self.domains[busy].T:
            np.add.at(left, column, freed[busy])
        left[-1] = ENDLESS
        return left

    def rooms(self, rows: Ints, shape: Shape) -> Ints:
        """The same for many nodes, each as if the others were left as they are."""
        if not self.names:
            return np.full(len(rows), ENDLESS, dtype=np.int64)
        milliwatts = -(-shape.draw_milli * self.busy[rows] // WHOLE_GPU_MILLI)
        least = self.left[self.domains[rows]].min(axis=1)
        return np.where(milliwatts > 0, np.maximum(least, 0) // np.maximum(milliwatts, 1), ENDLESS)


def _budgets(problem: Problem) -> Ints:
    """What pods may draw in each domain, in milliwatts."""
    spare = [each.budget_milliwatts - each.base_milliwatts for each in problem.power_domains]
    return np.array(spare, dtype=np.int64)


def _domains(problem: Problem, place: Mapping[DomainName, int]) -> Ints:
    known = [[place[d] for d in node.power_domains if d in place] for node in problem.nodes]
    table = np.full((len(known), max(1, *map(len, known), 1)), len(place), dtype=np.int64)
    for row, domains in enumerate(known):
        table[row, : len(domains)] = domains
    return table
