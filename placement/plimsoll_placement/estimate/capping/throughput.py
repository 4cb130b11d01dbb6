"""The throughput that a GPU keeps under a power cap.

The part of a GPU's draw above idle grows with the clock times the square of the voltage, and the
voltage rises with the clock. So compute-bound work loses with the square to cube root of its watts;
memory-bound work loses less, since the memory's clock does not change. Hence

    share(cap) = ((cap - idle) / (draw - idle)) ** exponent, at most 1,

with an exponent for each class of use. Sources: Patel et al., "Characterizing Power Management
Opportunities for LLMs in the Cloud" (POLCA), ASPLOS 2024: the prompt phase is sensitive to the
clock of an A100, token sampling hardly is; Maliakel et al., arXiv 2501.08219: decode at the lowest
clock takes 1 to 6 % longer; Ma et al., arXiv 2605.11999: decode alone draws 137 to 300 W of an
H200's 700 W, so that few caps affect it at all; McDonald et al., "Great Power, Great
Responsibility", NAACL 2022: language models train 6.8 % longer on V100 at 150 of 250 W. The
exponents err on the side of more loss. Close to idle, clocks drop off sharply, which this leaves
out: the lowest cap of a pool should lie above that, as drivers' do.
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

    A GPU that draws no more than the cap loses nothing; at or below idle nothing is left.
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
