"""What is left on a node beside what stays there: how many pods of one shape it has room for."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_placement.cpsat.sums import Sum, at_most
from plimsoll_placement.cpsat.variables import Kept, Variables


@dataclass(frozen=True, slots=True)
class Occupant:
    """What may stay on a node: one unit of it holds that many milli-GPUs there."""

    kept: Kept
    milli: int


@dataclass(frozen=True, slots=True)
class ResidualCapacity:
    """Room on a node for up to `most` pods of `milli` each, in `free_milli` less what stays."""

    free_milli: int
    milli: int
    most: int
    occupants: tuple[Occupant, ...]

    def add_to(self, variables: Variables, total: Sum, nodes: int) -> None:
        """Subtract the room of `nodes` nodes like this from a total of pods."""
        stays = self._stays()

        def room(values: Sequence[int]) -> int:
            return max(0, min(self.most, (self.free_milli - stays.value(values)) // self.milli))

        residual = variables.derive(self.most, room)
        both = Sum().add(stays.terms).add([(residual, self.milli)])
        at_most(variables.model, both, self.free_milli)
        total.add([(residual, -nodes)])
        for occupant in self.occupants:
            parts = Sum().add([(residual, 1), (occupant.kept.units, self._blocked(occupant))])
            at_most(variables.model, parts, self.most)

    def _stays(self) -> Sum:
        return Sum().add((occupant.kept.units, occupant.milli) for occupant in self.occupants)

    def _blocked(self, occupant: Occupant) -> int:
        """How many fewer pods there is room for if this one stays, if that is all or nothing."""
        if occupant.kept.job_class.size * len(occupant.kept.stay.units) > 1:
            return 0
        beside = max(0, self.free_milli - occupant.milli) // self.milli
        return self.most - min(self.most, beside)
