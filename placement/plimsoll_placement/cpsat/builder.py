"""The model under construction: what it is about, its variables, and what may be in each class."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel

from plimsoll_placement.classes.node_class import Load, NodeClass
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.cpsat.variables import Kept, Variables, variables
from plimsoll_placement.model import Shape


@dataclass(frozen=True, slots=True, eq=False)
class Occupants:
    """What may be in a node class: new pods by shape, and by node what may stay there."""

    pods: dict[Shape, Sum] = field(default_factory=lambda: defaultdict(Sum))
    stays: dict[int, list[tuple[Kept, Load]]] = field(default_factory=lambda: defaultdict(list))


@dataclass(frozen=True, slots=True, eq=False)
class ModelBuilder:
    """A relaxation with its variables; `occupants` are those of each node class."""

    relaxation: Relaxation
    variables: Variables
    occupants: tuple[Occupants, ...]

    @property
    def model(self) -> CpModel:
        """The CP-SAT model."""
        return self.variables.model

    @property
    def node_classes(self) -> Iterator[tuple[NodeClass, Occupants]]:
        """Each node class with its occupants."""
        return zip(self.relaxation.node_classes.node_classes, self.occupants, strict=True)


def builder(relaxation: Relaxation) -> ModelBuilder:
    """A model with variables and no constraints yet."""
    made = variables(relaxation)
    return ModelBuilder(relaxation, made, _occupants(relaxation, made))


def _occupants(relaxation: Relaxation, made: Variables) -> tuple[Occupants, ...]:
    """The occupants of each node class, including those of the classes inside it."""
    node_classes = relaxation.node_classes
    found = tuple(Occupants() for _ in node_classes.node_classes)
    for fresh in made.fresh:
        for pods in fresh.pods:
            for place in node_classes.around[pods.node_class]:
                found[place].pods[fresh.role.shape].add(pods.count.terms)
    for kept in made.kept:
        for load in kept.stay.loads:
            for place in node_classes.serving(load):
                found[place].stays[load.row].append((kept, load))
    return found
