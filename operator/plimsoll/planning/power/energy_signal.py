"""Derive the factor on the weight of energy from a policy's energy signal.

It changes in coarse steps with hysteresis, so that plans do not change with every fluctuation. The
factor in force is written to the policy's status first, and plans read only that.
"""

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final

from plimsoll.api.placement_policy import EnergyCount, EnergySignal, PlacementPolicy
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.measured.energy import EnergyReading

PLAIN: Final = Decimal(1)
STEPS_PER_DECADE: Final = 10
"""Each step is a quarter more than the one before, as in the series R10 of ISO 3."""
STAY_STEPS: Final = 0.75
"""Within this distance, in steps, the factor in force stays; half a step would be the nearest."""
KEPT: Final = timedelta(minutes=15)
"""For how long the last measurement remains valid; grids change by the hour."""
INTERVAL: Final = timedelta(minutes=1)
"""How often a measurement is recorded if nothing else is new."""


def energy_factor(policy: PlacementPolicy) -> Decimal:
    """The factor on energy's weight, by the policy's status."""
    count = policy.status.energy
    if policy.spec.objective.energy_signal is None or count is None:
        return PLAIN
    return count.factor


def energy_count(
    policy: PlacementPolicy, reading: EnergyReading | None, now: datetime
) -> EnergyCount | None:
    """What the policy's status should say; None until something was measured."""
    signal, before = policy.spec.objective.energy_signal, policy.status.energy
    value = measured_value(signal, reading)
    if signal is None:
        return None
    if reading is None or value is None:
        return _kept(before, now)
    factor = _stepped(value / float(signal.usual), before.factor if before else PLAIN)
    at = reading.measured_at.replace(microsecond=0)
    if before is not None and before.factor == factor and at - before.observed_time < INTERVAL:
        return before
    return EnergyCount(factor=factor, observed_time=at)


def measured_value(signal: EnergySignal | None, reading: EnergyReading | None) -> float | None:
    """The measured value, unless it belongs to another query."""
    if signal is None or reading is None or reading.query != signal.query:
        return None
    return reading.value


def _kept(before: EnergyCount | None, now: datetime) -> EnergyCount | None:
    """What remains valid while nothing is measured."""
    if before is None or now - before.observed_time <= KEPT:
        return before
    return before.model_copy(update={"factor": PLAIN})


def _stepped(ratio: float, before: Decimal) -> Decimal:
    """The factor for a multiple of the usual value, from a tenth to ten."""
    wanted = STEPS_PER_DECADE * math.log10(min(max(ratio, 0.1), 10))
    known = round(STEPS_PER_DECADE * math.log10(before)) if before else 0
    step = known if abs(wanted - known) <= STAY_STEPS else round(wanted)
    return to_decimal(10 ** (step / STEPS_PER_DECADE), 2)
