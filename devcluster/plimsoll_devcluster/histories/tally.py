"""Count the outcomes of histories and the events in them."""

import math
from collections import Counter
from dataclasses import dataclass, field

from plimsoll_devcluster.proxies.fault_kinds import Fault

CALM_SECONDS = 1.5
"""How long all must be well to count as at rest."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one history ended: `settle_seconds` is infinite if it did not settle."""

    seed: int
    namespace: str
    settle_seconds: float
    last_wrong: tuple[str, ...]
    """What was wrong last before it came to rest."""
    violations: tuple[str, ...]


@dataclass
class Tally:
    """The counts so far."""

    outcomes: list[Outcome] = field(default_factory=list[Outcome])
    kills: int = 0
    happenings: int = 0
    refused: int = 0
    """Hostile objects that the API server refused."""
    failed_turns: int = 0
    ended_by_itself: int = 0
    """Unrequested exits of the operator."""
    forgotten: int = 0
    """Pods that were ended because KWOK had forgotten them."""
    fired: Counter[Fault] = field(default_factory=Counter[Fault])
    deaf_seconds: list[float] = field(default_factory=list[float])

    @property
    def violations(self) -> list[str]:
        """All violations, with the seed that reproduces them."""
        return [f"{each.namespace}: {v}" for each in self.outcomes for v in each.violations]


@dataclass
class Settling:
    """Since when each lane is well, and what was last wrong with it."""

    well_since: dict[str, float] = field(default_factory=dict[str, float])
    last_wrong: dict[str, list[str]] = field(default_factory=dict[str, list[str]])

    def looked(self, namespace: str, wrong: list[str], at: float) -> None:
        """Record an observation at `at` seconds."""
        if wrong:
            self.last_wrong[namespace] = wrong
            self.well_since.pop(namespace, None)
        else:
            self.well_since.setdefault(namespace, at)

    def is_calm(self, at: float) -> bool:
        """Whether all lanes have been well for a while."""
        well = self.last_wrong.keys() <= self.well_since.keys()
        return well and at >= max(self.well_since.values()) + CALM_SECONDS

    def seconds(self, namespace: str) -> float:
        """The time after which a lane was well for good; infinite if it is not."""
        return self.well_since.get(namespace, math.inf)

    def unsettled(self, namespace: str) -> list[str]:
        """What is still wrong."""
        if namespace in self.well_since:
            return []
        found = self.last_wrong.get(namespace, [])
        return [f"not at rest within the bound: {each}" for each in found]
