"""How much may be spent on a search."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the search may take, in deterministic seconds; 0: greedy alone.

    `workers` solve neighbourhoods side by side. With as many the same problem has the same plan.
    """

    deterministic_seconds: float = 2.0
    workers: int = 1
