"""The measured energy signal. How it is queried is in `signals`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """The value of a policy's `energySignal`; finite, and negative while the price of energy is.

    None if it was not measured; `problem` then says why, for people. `query` is the one measured.
    """

    measured_at: datetime
    query: str = ""
    value: float | None = None
    problem: str = ""
