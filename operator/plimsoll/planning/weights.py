"""What do plans aim at? A policy's presets and weights as the solver's numbers."""

from decimal import Decimal

from plimsoll.api.placement_policy import PlacementPolicy, Preset
from plimsoll.api.placement_policy import Weights as PolicyWeights
from plimsoll.planning.completion import TERMS
from plimsoll_placement.problem import Weights

_PRESETS: dict[Preset, PolicyWeights] = {
    "Balanced": PolicyWeights(),
    "Throughput": PolicyWeights(money=Decimal("0.1"), energy=Decimal("0.1")),
    "Completion": PolicyWeights(money=Decimal("0.1"), energy=Decimal("0.1")),
    "Economy": PolicyWeights(money=Decimal(4)),
    "Energy": PolicyWeights(energy=Decimal(10)),
}


MOST = 10**6
"""Beyond it a weight already drowns all others."""


def solver_weights(policy: PlacementPolicy | None) -> Weights:
    """The weights of the policy, or of `Balanced` where there is none.

    Only their proportion counts: useful work is the unit, money and energy are scaled against it.
    """
    plain = Weights()
    chosen = _PRESETS["Balanced"]
    if policy is not None:
        objective = policy.spec.objective
        chosen = objective.weights or _PRESETS[objective.preset]
    work = chosen.useful_work or Decimal("0.001")
    return Weights(
        horizon_seconds=round(TERMS.horizon_seconds)
        if counts_completion(policy)
        else plain.horizon_seconds,
        gpu_seconds_per_dollar=_scaled(plain.gpu_seconds_per_dollar, chosen.money / work),
        gpu_seconds_per_kilowatt_hour=_scaled(
            plain.gpu_seconds_per_kilowatt_hour, chosen.energy / work
        ),
        topology_percent=plain.topology_percent,
    )


def counts_completion(policy: PlacementPolicy | None) -> bool:
    """Whether plans aim at the mean time to completion."""
    return policy is not None and policy.spec.objective.preset == "Completion"


def _scaled(weight: int, factor: Decimal) -> int:
    return min(int(weight * factor), MOST)
