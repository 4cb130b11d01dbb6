"""What is known of a power domain's servers, how its budget is held, and the caps that follow."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose GPUs in use are capped alike. Watts are those of one GPU, but for measured."""

    name: str
    rank: int
    """Whose throughput counts more; the lowest rank is capped first."""
    gpus: int
    """GPUs in use. A server without one is never capped."""
    idle_watts: int
    draw_watts: int
    """What one GPU in use is expected to draw without a cap."""
    min_cap_watts: int | None
    """The lowest cap. Without it the server cannot be capped, or does not do as it is told; what is
    in force then stays."""
    limit_watts: int
    """The GPU's own limit, which no cap reaches."""
    exponent: float
    """Of the throughput under a cap, between 0 and 1 (see `throughput`)."""
    cap_watts: int | None = None
    """The cap in force when the domain's draw was measured."""
    measured_watts: int | None = None
    """What the GPUs in use drew together at that time, where it is known by server."""

    def __post_init__(self) -> None:
        if not 0 < self.exponent < 1:
            raise ValueError(f"the exponent of {self.name} is not between 0 and 1: {self.exponent}")


@dataclass(frozen=True, slots=True)
class Margins:
    """How a budget is held. Levels are shares of the budget."""

    cap_above: float
    """A draw above this is brought down at once."""
    target: float
    """To this."""
    release_below: float
    """Caps are released as long as the draw stays within this with what they add."""
    calm_seconds: float
    """How long that must have been so before."""
    release_share: float
    """The most that is given back in one turn."""
    step_watts: int
    """What caps are multiples of, so that small changes of the draw change none."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps that servers should have."""

    by_server: Mapping[str, int | None]
    """Watts of each GPU in use, for every server; None is the GPU's own limit."""
    shortfall_watts: int
    """How far the domain stays above its budget, for caps at their lowest cannot save more."""
    saved_watts: int
    """What these caps save of what would be drawn without any."""
    is_calm: bool
    """Whether caps could be released: since when it has been so is the caller's to remember."""


MEASURED = Margins(
    cap_above=0.98,
    target=0.97,
    release_below=0.94,
    calm_seconds=60,
    release_share=0.01,
    step_watts=10,
)
"""For a measured draw, which is some seconds old: what `bench/power.py` held budgets with at the
least loss."""

PLANNED = Margins(
    cap_above=1,
    target=1,
    release_below=1,
    calm_seconds=0,
    release_share=1,
    step_watts=10,
)
"""For an expected draw, which has its reserve in it and changes with the plan alone."""
