"""How much a search may spend."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the search may take, in deterministic seconds; 0 means greedy alone.

    `workers` solve neighbourhoods side by side. For a given number of workers, the same problem
    always gets the same plan.
    """

    deterministic_seconds: float = 2.0
    workers: int = 1
