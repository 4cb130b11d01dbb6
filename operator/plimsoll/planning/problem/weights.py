"""Translate a policy's presets and weights into the solver's weights."""

from decimal import Decimal
from typing import Final

from plimsoll.api.placement_policy import PlacementPolicy, PlacementPolicySpec, Preset
from plimsoll.api.placement_policy import Weights as PolicyWeights
from plimsoll.planning.power.energy_signal import PLAIN, energy_factor
from plimsoll_placement.model import Weights
from plimsoll_placement.score.worth import WHOLE_PERCENT

_PRESETS: dict[Preset, PolicyWeights] = {
    "Balanced": PolicyWeights(),
    "Throughput": PolicyWeights(money=Decimal("0.1"), energy=Decimal("0.1")),
    "Completion": PolicyWeights(money=Decimal("0.1"), energy=Decimal("0.1")),
    "Economy": PolicyWeights(money=Decimal(4)),
    "Energy": PolicyWeights(energy=Decimal(10)),
}


_WHOLE_PRICE: Final = 8
"""The weight of money, in that of `Balanced`, with which a dollar counts as what it buys. Then no
job would grow that becomes any less efficient by it: it is twice that of `Economy`."""
MOST = 10**6
"""A weight above this drowns all others."""
MOST_OF_PRESET: Final = 1000
"""In GPU-seconds per kWh, whatever is measured. A GPU of 1.5 kW then costs less than half of what
its work is worth: under a preset no signal keeps jobs from growing, as those with a deadline
must."""


def solver_weights(
    policy: PlacementPolicy | None, gpu_seconds_bought: float | None = None
) -> Weights:
    """The weights of the policy, or of `Balanced` without one.

    Only their ratios count: useful work is the unit, and money and energy are scaled against it.
    Where a dollar buys so many useful GPU-seconds, it counts half of that under `Economy`, and
    under others in proportion; but never less than where nothing can be bought.
    """
    plain = Weights()
    chosen, factor = _PRESETS["Balanced"], PLAIN
    if policy is not None:
        objective = policy.spec.objective
        chosen = objective.weights or _PRESETS[objective.preset]
        factor = energy_factor(policy)
    work = chosen.useful_work or Decimal("0.001")
    energy = _scaled(plain.gpu_seconds_per_kilowatt_hour, chosen.energy / work * factor)
    if policy is None or policy.spec.objective.weights is None:
        energy = min(energy, MOST_OF_PRESET)
    money = max(float(plain.gpu_seconds_per_dollar), (gpu_seconds_bought or 0) / _WHOLE_PRICE)
    price = (PlacementPolicySpec() if policy is None else policy.spec).disruption_price
    return Weights(
        horizon_seconds=plain.horizon_seconds,
        gpu_seconds_per_dollar=_scaled(int(money), chosen.money / work),
        gpu_seconds_per_kilowatt_hour=energy,
        topology_percent=plain.topology_percent,
        break_even_percent=_scaled(WHOLE_PERCENT, price.break_even),
        gain_seconds=max(int(price.horizon.total_seconds()), 1),
    )


def counts_completion(policy: PlacementPolicy | None) -> bool:
    """Whether plans minimise the mean time to completion."""
    return policy is not None and policy.spec.objective.preset == "Completion"


def _scaled(weight: int, factor: Decimal) -> int:
    return min(int(weight * factor), MOST)
