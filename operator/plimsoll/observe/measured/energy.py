"""How much does energy matter just now, as measured? How it is asked for stands in `signals`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class EnergyReading:
    """What a policy's `energySignal` says; finite, and below 0 where the price of energy is.

    None where it was not measured: `problem` says for people why. `query` is what was asked.
    """

    measured_at: datetime
    query: str = ""
    value: float | None = None
    problem: str = ""
