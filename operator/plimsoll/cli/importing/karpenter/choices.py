"""Each instance type, zone and purchase option that a NodePool may buy, told apart."""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.cli.importing.karpenter.machines import Machine
from plimsoll.cli.importing.karpenter.node_pools import CAPACITY_TYPE, ZONE, NodePool, Requirement
from plimsoll.kube.objects.node_claim import CAPACITY_TYPES
from plimsoll.naming import shortened

_LONGEST_NAME: Final = 50
_ON_DEMAND: Final = "OnDemand"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of them; `zone` is "" if any will do. `name` is its GPUPool's."""

    name: str
    instance_type: str
    machine: Machine
    zone: str
    capacity_type: str

    @property
    def title(self) -> str:
        """In words."""
        where = f" in {self.zone}" if self.zone else ""
        return f"{self.instance_type}{where}, {CAPACITY_TYPES[self.capacity_type]}"


def choices(
    pool: NodePool, machines: Mapping[str, Machine], taken: Container[str]
) -> Iterator[Choice]:
    """All of them, by names that say only what differs, and are not taken."""
    terms, zones = capacity_types(pool) or (_ON_DEMAND,), zones_of(pool) or ("",)
    for instance_type, machine in machines.items():
        for zone in zones:
            for capacity_type in terms:
                parts = [pool.metadata.name]
                parts += [instance_type] if len(machines) > 1 else []
                parts += [zone] if len(zones) > 1 else []
                parts += [CAPACITY_TYPES[capacity_type]] if len(terms) > 1 else []
                name = _name(parts, taken)
                yield Choice(name, instance_type, machine, zone, capacity_type)


def capacity_types(pool: NodePool) -> tuple[str, ...]:
    """The purchase options that it names; none if it names none."""
    about = [each for each in pool.requirements if each.key == CAPACITY_TYPE]
    if not about:
        return ()
    return tuple(ours for ours, its in CAPACITY_TYPES.items() if all(r.allows(its) for r in about))


def zones_of(pool: NodePool) -> tuple[str, ...]:
    """The zones that it names; none if it names none."""
    about = [each for each in pool.requirements if each.key == ZONE]
    named = sorted({zone for each in about if each.operator == "In" for zone in each.values})
    return tuple(zone for zone in named if all(each.allows(zone) for each in about))


def other_requirements(pool: NodePool, choice: Choice) -> Iterator[Requirement]:
    """What else its nodes must be."""
    told = {CAPACITY_TYPE, *([ZONE] if choice.zone else [])}
    return (each for each in pool.requirements if each.key not in told)


def _name(parts: Sequence[str], taken: Container[str]) -> str:
    name = re.sub("[^a-z0-9]+", "-", "-".join(parts).lower()).strip("-")
    if len(name) <= _LONGEST_NAME and name not in taken:
        return name
    return shortened("/".join(parts), _LONGEST_NAME)
