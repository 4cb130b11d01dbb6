"""The model while it is built: what it is about, its variables, and who may be in which cell."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel

from plimsoll_placement.classes.node_class import Cell, Load
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.cpsat.variables import Kept, Variables, variables
from plimsoll_placement.model import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Tenants:
    """What may be in a cell: new pods by shape, and by node what may stay there."""

    pods: dict[Shape, Sum] = field(default_factory=lambda: defaultdict(Sum))
    stays: dict[int, list[tuple[Kept, Load]]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True, eq=False)
class Draft:
    """A relaxation with its variables; `tenants` are those of each cell."""

    relaxation: Relaxation
    variables: Variables
    tenants: tuple[Tenants, ...]

    @property
    def model(self) -> CpModel:
        """CP-SAT's side of it."""
        return self.variables.model

    @property
    def cells(self) -> Iterator[tuple[Cell, Tenants]]:
        """Each cell with its tenants."""
        return zip(self.relaxation.cells.cells, self.tenants, strict=True)


def draft(relaxation: Relaxation) -> Draft:
    """A model with variables and no constraints yet."""
    made = variables(relaxation)
    return Draft(relaxation, made, _tenants(relaxation, made))


def _tenants(relaxation: Relaxation, made: Variables) -> tuple[Tenants, ...]:
    """The tenants of each cell, those of the cells inside it included."""
    cells = relaxation.cells
    found = tuple(Tenants() for _ in cells.cells)
    for fresh in made.fresh:
        for pods in fresh.pods:
            for place in cells.around[pods.cell]:
                found[place].pods[fresh.role.shape].add(pods.count.terms)
    for kept in made.kept:
        for load in kept.stay.loads:
            for place in cells.serving(load):
                found[place].stays[load.row].append((kept, load))
    return found
