"""Report in a policy's status how much energy counts, and why."""

from plimsoll.acting.conditions.conditions import Fact
from plimsoll.api.placement_policy import EnergyCount, PlacementPolicy
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.power.energy_signal import PLAIN, energy_count, measured_value
from plimsoll.vocabulary.reasons import Reason

ENERGY_SIGNAL_MEASURED = "EnergySignalMeasured"


def energy_status(
    policy: PlacementPolicy, snapshot: Snapshot
) -> tuple[EnergyCount | None, tuple[Fact, ...]]:
    """How much energy counts and what is known of it; neither for a policy without a signal."""
    if policy.spec.objective.energy_signal is None:
        return None, ()
    count = energy_count(policy, snapshot.energy, snapshot.now)
    return count, (_fact(policy, snapshot, count),)


def _fact(policy: PlacementPolicy, snapshot: Snapshot, count: EnergyCount | None) -> Fact:
    signal, reading = policy.spec.objective.energy_signal, snapshot.energy
    factor = count.factor if count else PLAIN
    counts = f"energy counts {factor.normalize():f} times its weight"
    value = measured_value(signal, reading)
    if signal is not None and value is not None:
        usual = float(signal.usual)
        text = f"{value:.3g}, usually {usual:.3g}: {counts}"
        return Fact.true(ENERGY_SIGNAL_MEASURED, Reason.SIGNAL_MEASURED, text)
    if reading is None:
        text = f"Prometheus is not configured: {counts}"
        return Fact.false(ENERGY_SIGNAL_MEASURED, Reason.PROMETHEUS_NOT_SET, text)
    problem = reading.problem or "the new query has not been answered yet"
    return Fact.false(ENERGY_SIGNAL_MEASURED, Reason.SIGNAL_UNKNOWN, f"{problem}; {counts}")
