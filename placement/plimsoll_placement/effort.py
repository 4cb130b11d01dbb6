"""How much may be spent on a search."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the model may search, in CP-SAT's deterministic seconds; 0: greedy alone."""

    deterministic_seconds: float = 2.0
