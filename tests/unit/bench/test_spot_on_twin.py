"""Jobs with deadlines under the operator's own path, in small windows of made-up series."""

import pytest

from plimsoll_bench.spot.on_twin import PAST_TICKS, outcomes_on_twin
from plimsoll_bench.spot.series import ON_DEMAND_PRICE, SPOT_PRICE, Outcome, Window

pytestmark = pytest.mark.slow

WORK = 2 * 3600.0
HOURS = 4
"""An operator needs some seconds to place a job, and some to notice that it has ended."""
FEW_DOLLARS = 0.1


def lived(up: list[bool]) -> dict[float, Outcome]:
    """What became of each job, by the length of its start in hours."""
    past = [not up[0]] * PAST_TICKS
    window = Window(PAST_TICKS, PAST_TICKS + len(up))
    found = outcomes_on_twin([*past, *up], window, deadlines=(HOURS,), work_seconds=WORK)
    outcomes = {overhead: outcome for hours, overhead, outcome in found if hours == HOURS}
    assert sorted(outcomes) == [0.02, 0.2, 0.4]
    assert not any(each.late for each in outcomes.values())
    return outcomes


def test_where_spot_is_there_jobs_run_on_it() -> None:
    for overhead, outcome in lived([True] * 24).items():
        assert outcome.dollars == pytest.approx(SPOT_PRICE * (2 + overhead), abs=FEW_DOLLARS)


def test_where_spot_never_comes_they_end_in_time_off_it() -> None:
    for overhead, outcome in lived([False] * 24).items():
        assert outcome.dollars == pytest.approx(ON_DEMAND_PRICE * (2 + overhead), abs=FEW_DOLLARS)


def test_they_wait_for_spot_that_comes_soon() -> None:
    for overhead, outcome in lived([False] * 3 + [True] * 21).items():
        assert outcome.dollars == pytest.approx(SPOT_PRICE * (2 + overhead), abs=FEW_DOLLARS)
