"""What is left on a node beside what stays there: how many pods of one shape have room in it."""

from collections.abc import Sequence
from dataclasses import dataclass

from plimsoll_placement.cpsat.sums import Sum, at_most
from plimsoll_placement.cpsat.variables import Kept, Variables


@dataclass(frozen=True, slots=True)
class Tenant:
    """What may stay on a node: one unit of it holds that many milli-GPUs there."""

    kept: Kept
    milli: int


@dataclass(frozen=True, slots=True)
class Hole:
    """Room on a node for up to `most` pods of `milli` each, of `free_milli` less what stays."""

    free_milli: int
    milli: int
    most: int
    tenants: tuple[Tenant, ...]

    def add_to(self, variables: Variables, total: Sum, nodes: int) -> None:
        """Take the room of so many nodes like this off a total of pods."""
        stays = self._stays()

        def room(values: Sequence[int]) -> int:
            return max(0, min(self.most, (self.free_milli - stays.value(values)) // self.milli))

        hole = variables.derive(self.most, room)
        both = Sum().add(stays.terms).add([(hole, self.milli)])
        at_most(variables.model, both, self.free_milli)
        total.add([(hole, -nodes)])
        for tenant in self.tenants:
            parts = Sum().add([(hole, 1), (tenant.kept.units, self._blocked(tenant))])
            at_most(variables.model, parts, self.most)

    def _stays(self) -> Sum:
        return Sum().add((tenant.kept.units, tenant.milli) for tenant in self.tenants)

    def _blocked(self, tenant: Tenant) -> int:
        """How many pods less there is room for where this one stays, if that is all or nothing."""
        if tenant.kept.group.size * len(tenant.kept.stay.units) > 1:
            return 0
        beside = max(0, self.free_milli - tenant.milli) // self.milli
        return self.most - min(self.most, beside)
