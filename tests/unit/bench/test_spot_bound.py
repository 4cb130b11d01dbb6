"""The best policy that knows the process of spot, in processes that leave nothing or much open."""

import numpy as np
import pytest

from plimsoll_bench.spot.clairvoyant import least_dollars
from plimsoll_bench.spot.known_process import Knowing, best_choices
from plimsoll_bench.spot.process import Draw, Process, fitted
from plimsoll_bench.spot.series import ON_DEMAND_PRICE, Outcome, outcome, terms_of

pytestmark = pytest.mark.slow
HOURS, OVERHEAD_HOURS = 52, 0.2
TICKS = HOURS * 6
TERMS = terms_of(OVERHEAD_HOURS)
COIN = Process(np.array([False, True]), np.array([[0.7, 0.3], [0.1, 0.9]]))


def cycle(up: int, down: int) -> Process:
    """Spot that is up for so many ticks, then down for so many."""
    return Process(np.array([True] * up + [False] * down), np.roll(np.eye(up + down), 1, axis=1))


def lived(process: Process, states: Draw) -> tuple[Outcome, float]:
    """What a run cost, and what it could have cost."""
    up = process.up[states].tolist()
    knowing = Knowing(best_choices(process, TERMS, TICKS), TERMS, states)
    return outcome(up, HOURS, TERMS, knowing), least_dollars(up, [HOURS], TERMS)[HOURS]


def test_where_nothing_is_left_to_chance_it_does_what_can_be_done_at_best() -> None:
    process = cycle(up=9, down=4)
    found, least = lived(process, process.drawn(TICKS, np.random.default_rng(3)))
    assert not found.late
    assert found.dollars == pytest.approx(least, rel=1e-4)


def test_where_each_tick_is_left_to_chance_it_costs_more_and_is_not_late() -> None:
    found, least = lived(COIN, COIN.drawn(TICKS, np.random.default_rng(3)))
    assert not found.late
    assert least < found.dollars < (48 + OVERHEAD_HOURS) * ON_DEMAND_PRICE


@pytest.mark.parametrize("source", [COIN, cycle(up=2, down=1)], ids=["coin", "cycle"])
def test_a_process_is_up_as_often_as_its_series_and_ends_runs_as_often(source: Process) -> None:
    recorded = source.up[source.drawn(20_000, np.random.default_rng(5))]
    process = fitted(recorded.tolist())
    assert process.moves.sum(axis=1) == pytest.approx(np.ones(len(process.up)))
    drawn = process.up[process.drawn(20_000, np.random.default_rng(7))]
    assert drawn.mean() == pytest.approx(recorded.mean(), abs=0.05)
    changes = [(each[1:] != each[:-1]).mean() for each in (drawn, recorded)]
    assert changes[0] == pytest.approx(changes[1], rel=0.15)
