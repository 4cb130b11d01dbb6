"""A power domain's servers, how its budget is held, and the resulting caps."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Server:
    """A server whose GPUs in use are capped alike. Watts are per GPU, except the measured draw."""

    name: str
    rank: int
    """How much its throughput counts; the lowest rank is capped first."""
    gpus: int
    """GPUs in use. A server with none is never capped."""
    idle_watts: int
    draw_watts: int
    """What one GPU in use is expected to draw without a cap."""
    min_cap_watts: int | None
    """The lowest cap. Without it the server cannot be capped, or does not follow its caps; whatever
    is in force then stays."""
    limit_watts: int
    """The GPU's own limit, which no cap reaches."""
    exponent: float
    """The exponent of the throughput under a cap, between 0 and 1 (see `throughput`)."""
    cap_watts: int | None = None
    """The cap in force when the domain's draw was measured."""
    measured_watts: int | None = None
    """What the GPUs in use drew together at that time, if it is known per server."""

    def __post_init__(self) -> None:
        if not 0 < self.exponent < 1:
            raise ValueError(f"the exponent of {self.name} is not between 0 and 1: {self.exponent}")


@dataclass(frozen=True, slots=True)
class Margins:
    """How a budget is held. Levels are shares of the budget."""

    cap_above: float
    """A draw above this is reduced at once."""
    target: float
    """To this."""
    release_below: float
    """Caps are released as long as the draw, with what that adds, stays within this."""
    calm_seconds: float
    """How long that must have been the case before."""
    release_share: float
    """The most that is given back in one turn."""
    step_watts: int
    """Caps are multiples of this, so that small changes of the draw change none."""


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps that servers should have."""

    by_server: Mapping[str, int | None]
    """Watts of each GPU in use, for every server; None is the GPU's own limit."""
    shortfall_watts: int
    """How far the domain stays above its budget because caps at their lowest cannot save more."""
    saved_watts: int
    """What these caps save of what would be drawn without any."""
    is_calm: bool
    """Whether caps could be released; the caller must remember since when."""


MEASURED = Margins(
    cap_above=0.98,
    target=0.97,
    release_below=0.94,
    calm_seconds=60,
    release_share=0.01,
    step_watts=10,
)
"""For a measured draw, some seconds old: the margins with which `bench/power.py` held budgets at
the least loss."""

PLANNED = Margins(
    cap_above=1,
    target=1,
    release_below=1,
    calm_seconds=0,
    release_share=1,
    step_watts=10,
)
"""For an expected draw, which includes its reserve and changes only with the plan."""
