"""What a policy says of how much energy counts, and why."""

from plimsoll.acting.conditions.conditions import whole_second
from plimsoll.api.parts.conditions import Condition, Conditions, with_condition
from plimsoll.api.placement_policy import EnergyCount, PlacementPolicy
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.power.energy_signal import PLAIN, energy_count, measured_value
from plimsoll.telemetry import Reason

ENERGY_SIGNAL_MEASURED = "EnergySignalMeasured"
_Fact = tuple[bool, Reason, str]


def energy_status(
    policy: PlacementPolicy, conditions: Conditions, snapshot: Snapshot
) -> tuple[EnergyCount | None, Conditions]:
    """How much energy counts, and the conditions with what is known of it.

    A policy without a signal says nothing of it.
    """
    if policy.spec.objective.energy_signal is None:
        return None, tuple(each for each in conditions if each.type != ENERGY_SIGNAL_MEASURED)
    count = energy_count(policy, snapshot.energy, snapshot.now)
    holds, reason, message = _fact(policy, snapshot, count)
    news = Condition(
        type=ENERGY_SIGNAL_MEASURED,
        status="True" if holds else "False",
        reason=reason,
        message=message[:1024],
        last_transition_time=whole_second(snapshot.now),
        observed_generation=policy.metadata.generation,
    )
    return count, with_condition(conditions, news)


def _fact(policy: PlacementPolicy, snapshot: Snapshot, count: EnergyCount | None) -> _Fact:
    signal, reading = policy.spec.objective.energy_signal, snapshot.energy
    factor = count.factor if count else PLAIN
    counts = f"energy counts {factor.normalize():f} times its weight"
    value = measured_value(signal, reading)
    if signal is not None and value is not None:
        usual = float(signal.usual)
        return True, Reason.SIGNAL_MEASURED, f"{value:.3g} where {usual:.3g} is usual: {counts}"
    if reading is None:
        return False, Reason.PROMETHEUS_NOT_SET, f"there is no Prometheus to ask: {counts}"
    problem = reading.problem or "the new query is not answered yet"
    return False, Reason.SIGNAL_UNKNOWN, f"{problem}; {counts}"
