"""What is left of a GPU's throughput under a power cap.

The part of a GPU's draw above idle goes with the clock times the square of the voltage, and the
voltage rises with the clock: what is bound by computing loses with the square to cube root of its
watts, and what waits for memory loses less, for the memory's clock stays. Hence

    share(cap) = ((cap - idle) / (draw - idle)) ** exponent, at most 1,

with an exponent for each class of use. Sources: Patel et al., "Characterizing Power Management
Opportunities for LLMs in the Cloud" (POLCA), ASPLOS 2024: the prompt's phase feels the clock of an
A100, the sampling of tokens hardly does; Maliakel et al., arXiv 2501.08219: decode at the lowest
clock takes 1 to 6 % longer; Ma et al., arXiv 2605.11999: decode alone draws 137 to 300 W of an
H200's 700 W, so that few caps reach it at all; McDonald et al., "Great Power, Great
Responsibility", NAACL 2022: language models train 6.8 % longer on V100 at 150 of 250 W. The
exponents lie on the side of more loss. Close to idle clocks fall off a cliff, which this leaves
out: the lowest cap of a pool should lie above it, as drivers' do.
"""

from collections.abc import Mapping
from typing import Final

EXPONENTS: Final[Mapping[str, float]] = {
    "Training": 0.5,
    "Prefill": 0.5,
    "Decode": 0.2,
    "Mixed": 0.35,
}
"""By class of use; `Mixed` is a replica that does both prefill and decode."""


def throughput_share(
    cap_watts: float, *, idle_watts: float, draw_watts: float, exponent: float
) -> float:
    """The share of the throughput at `draw_watts` that is left under a cap, 0 to 1.

    A GPU that draws no more than the cap loses nothing; none is left at or below idle.
    """
    if cap_watts >= draw_watts:
        return 1.0
    if cap_watts <= idle_watts:
        return 0.0
    return ((cap_watts - idle_watts) / (draw_watts - idle_watts)) ** exponent


def watts_for_share(
    share: float, *, idle_watts: float, draw_watts: float, exponent: float
) -> float:
    """The least watts at which this share of the throughput, 0 to 1, is left."""
    return idle_watts + (max(draw_watts, idle_watts) - idle_watts) * share ** (1 / exponent)
