"""How much a search may spend."""

from dataclasses import dataclass
from typing import Final

SHARING_STATES: Final = 8000
"""How many partial packings are examined by default, which takes some tenths of a second."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long the search may take, in deterministic seconds; 0 means greedy alone.

    `workers` solve neighbourhoods side by side. For a given number of workers, the same problem
    always gets the same plan. `sharing_states`: how many partial packings may be examined to decide
    which replicas share GPUs.
    """

    deterministic_seconds: float = 2.0
    workers: int = 1
    sharing_states: int = SHARING_STATES
