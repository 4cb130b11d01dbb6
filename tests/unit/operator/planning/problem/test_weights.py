import pytest

from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.planning.problem.weights import solver_weights
from plimsoll_placement.model import Weights
from support.objects.job_manifests import a_policy


def weights(**objective: object) -> Weights:
    return solver_weights(PlacementPolicy.model_validate(a_policy(objective=objective)))


def test_without_a_policy_the_aim_is_balanced() -> None:
    assert solver_weights(None) == weights(preset="Balanced") == Weights()


@pytest.mark.parametrize(
    ("preset", "money", "energy"),
    [("Throughput", 0.1, 0.1), ("Economy", 4, 1), ("Energy", 1, 10)],
)
def test_a_preset_weighs_money_and_energy_against_work(
    preset: str, money: float, energy: float
) -> None:
    plain, chosen = Weights(), weights(preset=preset)
    assert chosen.gpu_seconds_per_dollar == plain.gpu_seconds_per_dollar * money
    assert chosen.gpu_seconds_per_kilowatt_hour == plain.gpu_seconds_per_kilowatt_hour * energy


def test_a_policy_says_what_changes_must_gain_and_for_how_long() -> None:
    price = {"breakEven": "1.5", "horizon": "30m"}
    found = solver_weights(PlacementPolicy.model_validate(a_policy(disruptionPrice=price)))
    assert (found.break_even_percent, found.gain_seconds) == (150, 1800)


def test_only_the_proportion_of_own_weights_counts() -> None:
    one = weights(weights={"usefulWork": 1, "money": 2, "energy": "0.5"})
    ten = weights(weights={"usefulWork": 10, "money": 20, "energy": 5})
    assert one == ten
    assert one.gpu_seconds_per_dollar == 2 * Weights().gpu_seconds_per_dollar


def test_work_without_weight_leaves_money_and_energy_to_decide() -> None:
    thrifty = weights(weights={"usefulWork": 0, "money": 1, "energy": 0})
    assert thrifty.gpu_seconds_per_dollar == 1000 * Weights().gpu_seconds_per_dollar
    assert thrifty.gpu_seconds_per_kilowatt_hour == 0
