"""How many times its weight energy counts, from a measurement to the weights of plans."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from plimsoll.api.placement_policy import PlacementPolicy
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.planning.power.energy_signal import KEPT, energy_count, energy_factor
from plimsoll.planning.problem.weights import MOST_OF_PRESET, solver_weights
from plimsoll_placement.model import Weights
from support.clusters.seen import NOW
from support.objects.job_manifests import a_policy

SIGNAL = {"query": "grid", "usual": 400}
MINUTE = timedelta(minutes=1)


def policy(factor: str | None = None, **objective: Any) -> PlacementPolicy:  # noqa: ANN401 - fields of a spec
    """A policy with a signal, and so much in force by its status."""
    manifest = a_policy(objective={"energySignal": SIGNAL, **objective})
    if factor is not None:
        energy = {"factor": factor, "observedTime": (NOW - 2 * MINUTE).isoformat()}
        manifest["status"] = {"energy": energy}
    return PlacementPolicy.model_validate(manifest)


def measured(value: float | None, query: str = "grid") -> EnergyReading:
    """What Prometheus has just answered."""
    return EnergyReading(NOW, query, value)


def factor_after(value: float, before: str | None = None) -> float:
    """What is in force once so much was measured."""
    count = energy_count(policy(before), measured(value), NOW)
    assert count is not None
    assert count.observed_time == NOW
    return float(count.factor)


@pytest.mark.parametrize(
    ("value", "factor"),
    [(400, 1), (800, 2), (200, 0.5), (650, 1.58), (4000, 10), (90_000, 10), (40, 0.1), (0, 0.1)],
)
def test_energy_counts_as_many_times_as_the_usual_is_measured(value: float, factor: float) -> None:
    assert factor_after(value) == factor


def test_where_energy_has_a_price_below_zero_it_counts_least() -> None:
    assert factor_after(-30) == 0.1


def test_a_wiggle_about_the_border_of_two_steps_changes_nothing() -> None:
    up = factor_after(460)
    assert up == 1.0
    assert factor_after(480, "1") == 1.26
    assert {factor_after(value, "1.26") for value in (430, 450, 480, 590)} == {1.26}
    assert factor_after(415, "1.26") == 1


@pytest.mark.parametrize(
    "reading", [None, measured(None), measured(4000, "another")], ids=["none", "no value", "other"]
)
def test_without_a_measurement_the_last_holds_for_a_while_and_then_the_usual(
    reading: EnergyReading | None,
) -> None:
    before = policy("2").status.energy
    assert before is not None
    late = before.observed_time + KEPT
    assert energy_count(policy("2"), reading, late) == before
    count = energy_count(policy("2"), reading, late + MINUTE)
    assert count is not None
    assert (count.factor, count.observed_time) == (1, before.observed_time)
    assert energy_count(policy(), reading, NOW) is None


def test_a_measurement_that_changes_nothing_is_written_down_once_a_minute() -> None:
    written = policy("2")
    before = written.status.energy
    assert before is not None
    soon = EnergyReading(before.observed_time + MINUTE / 2, "grid", 810)
    assert energy_count(written, soon, NOW) is before
    news = EnergyReading(before.observed_time + MINUTE / 2, "grid", 8000)
    changed = energy_count(written, news, NOW)
    assert changed is not None
    assert changed.factor == 10


def test_plans_go_by_the_status_of_a_policy_that_has_a_signal() -> None:
    plain = Weights().gpu_seconds_per_kilowatt_hour
    assert solver_weights(policy()) == Weights()
    assert solver_weights(policy("2.5")).gpu_seconds_per_kilowatt_hour == 2.5 * plain
    assert solver_weights(policy("0.1", preset="Energy")).gpu_seconds_per_kilowatt_hour == plain
    without = PlacementPolicy.model_validate(
        {**policy("2.5").wire(), "spec": {"objective": {"preset": "Balanced"}}}
    )
    assert (energy_factor(without), solver_weights(without)) == (Decimal(1), Weights())
    assert energy_count(without, measured(4000), NOW) is None


def test_a_signal_lifts_the_weight_of_a_preset_no_further_than_leaves_work_its_worth() -> None:
    by_preset = solver_weights(policy("10", preset="Energy"))
    assert by_preset.gpu_seconds_per_kilowatt_hour == MOST_OF_PRESET
    own = solver_weights(policy("10", weights={"usefulWork": 1, "energy": 10}))
    assert own.gpu_seconds_per_kilowatt_hour == 2 * MOST_OF_PRESET
