from dataclasses import replace
from itertools import product

import pytest

from plimsoll_placement.estimate.capping.control import savable_watts, wanted_caps
from plimsoll_placement.estimate.capping.domain import MEASURED, PLANNED
from support.problems.capping_cases import a_server, drawn, lost, under

TWO_RANKS = [a_server("low"), a_server("high", rank=10)]


def test_nothing_is_capped_within_the_margin() -> None:
    caps = wanted_caps(10_000, 9_700, TWO_RANKS)
    assert caps.by_server == {"low": None, "high": None}
    assert (caps.saved_watts, caps.shortfall_watts) == (0, 0)


def test_the_lowest_rank_is_capped_first() -> None:
    caps = wanted_caps(9_000, 9_600, TWO_RANKS).by_server
    assert caps["low"] is not None
    assert caps["high"] is None


def test_a_higher_rank_is_capped_when_the_lower_one_is_at_its_lowest() -> None:
    caps = wanted_caps(6_000, 9_600, TWO_RANKS).by_server
    assert caps["low"] == 200
    assert caps["high"] is not None
    assert 200 < caps["high"] < 600


def test_what_caps_cannot_save_is_reported() -> None:
    caps = wanted_caps(3_000, 9_600, TWO_RANKS)
    assert caps.by_server == {"low": 200, "high": 200}
    assert caps.shortfall_watts == 200


def test_a_draw_beside_the_servers_counts() -> None:
    caps = wanted_caps(3_000, 9_600 + 500, TWO_RANKS)
    assert caps.shortfall_watts == 700


def test_a_server_without_gpus_in_use_or_without_a_lowest_cap_is_never_capped() -> None:
    servers = [a_server("fixed", min_cap_watts=None), a_server("unused", gpus=0)]
    assert wanted_caps(1_000, 4_800, servers).by_server == {"fixed": None, "unused": None}


def test_a_cap_stays_where_it_cannot_be_changed() -> None:
    stuck = a_server("stuck", min_cap_watts=None, cap_watts=300)
    answer = wanted_caps(6_000, 2_400 + 4_800, [stuck, a_server("low")])
    assert answer.by_server["stuck"] == 300
    assert answer.shortfall_watts == 0


def test_a_small_domain_is_released_step_by_step() -> None:
    capped = [a_server(cap_watts=400)]
    caps = wanted_caps(5_600, 3_200, capped, calm_seconds=60).by_server["a"]
    assert caps == 410


def test_what_loses_least_by_a_watt_less_is_capped_first() -> None:
    decode, training = a_server("decode", exponent=0.2), a_server("training", exponent=0.5)
    caps = wanted_caps(9_500, 9_600, [decode, training]).by_server
    assert caps["training"] is None
    assert caps["decode"] is not None


@pytest.mark.slow
@pytest.mark.parametrize("budget", [9_000, 7_500, 6_000, 5_000])
def test_no_other_caps_of_that_saving_lose_less(budget: int) -> None:
    servers = [
        a_server("decode", exponent=0.2, gpus=4),
        a_server("training", exponent=0.5, draw_watts=680),
        a_server("mixed", gpus=6),
    ]
    chosen = under(wanted_caps(budget, drawn(servers), servers).by_server, servers)
    grid = [None, *range(200, 690, 20)]
    others = (
        under(dict(zip(("decode", "training", "mixed"), caps, strict=True)), servers)
        for caps in product(grid, repeat=3)
    )
    best = min(lost(other) for other in others if drawn(other) <= drawn(chosen))
    assert lost(chosen) <= best + 1e-9


def test_a_late_reading_caps_nothing_twice() -> None:
    first = wanted_caps(9_000, 9_600, TWO_RANKS)
    again = wanted_caps(9_000, 9_600, TWO_RANKS)
    assert again == first


def test_caps_that_save_less_than_thought_are_tightened() -> None:
    first = wanted_caps(9_000, 9_600, TWO_RANKS)
    then = wanted_caps(9_000, 9_300, under(first.by_server, TWO_RANKS))
    before, after = first.by_server["low"], then.by_server["low"]
    assert before is not None
    assert after is not None
    assert after < before


def test_who_draws_little_now_saves_nothing() -> None:
    quiet = a_server("quiet", measured_watts=8 * 150)
    loud = a_server("loud", measured_watts=8 * 600)
    caps = wanted_caps(5_800, 6_000, [quiet, loud])
    assert caps.by_server["loud"] is not None
    assert caps.saved_watts == 8 * (600 - caps.by_server["loud"]) >= 6_000 - MEASURED.target * 5_800


def test_without_measurements_by_server_all_are_taken_to_draw_in_proportion() -> None:
    caps = wanted_caps(7_000, 7_000, TWO_RANKS).by_server["low"]
    assert caps is not None
    assert caps < 7_000 / 16


def test_caps_are_kept_until_it_has_been_calm_for_long_enough() -> None:
    capped = under({"low": 400, "high": None}, TWO_RANKS)
    early = wanted_caps(12_000, drawn(capped), capped, calm_seconds=59)
    assert early.is_calm
    assert early.by_server["low"] == 400
    later = wanted_caps(12_000, drawn(capped), capped, calm_seconds=60).by_server["low"]
    assert later is not None
    assert later > 400


def test_caps_are_released_in_parts() -> None:
    capped = under({"low": 400, "high": None}, TWO_RANKS)
    freed = under(wanted_caps(12_000, drawn(capped), capped, calm_seconds=60).by_server, capped)
    assert drawn(freed) - drawn(capped) <= MEASURED.release_share * 12_000


def test_no_cap_is_released_that_would_fill_the_margin() -> None:
    capped = under({"low": 400, "high": None}, TWO_RANKS)
    budget = int(drawn(capped) / MEASURED.release_below)
    answer = wanted_caps(budget, drawn(capped), capped, calm_seconds=600)
    assert not answer.is_calm
    assert answer.by_server["low"] == 400


def test_the_highest_rank_is_released_first() -> None:
    capped = under({"low": 200, "high": 300}, TWO_RANKS)
    caps = wanted_caps(12_000, drawn(capped), capped, calm_seconds=60).by_server
    assert caps["low"] == 200
    assert caps["high"] is not None
    assert caps["high"] > 300


def test_who_has_become_important_passes_its_cap_on() -> None:
    capped = under({"low": None, "high": 400}, TWO_RANKS)
    caps = wanted_caps(8_400, drawn(capped), capped).by_server
    assert caps["high"] is None
    assert caps["low"] == 400


def test_caps_by_plan_follow_the_plan_at_once() -> None:
    tight = wanted_caps(9_000, 9_600, TWO_RANKS, margins=PLANNED)
    capped = under(tight.by_server, TWO_RANKS)
    assert drawn(capped) <= 9_000
    eased = wanted_caps(9_600, drawn(capped), capped, margins=PLANNED)
    assert eased.by_server == {"low": None, "high": None}


def test_caps_can_still_save_what_lies_above_the_lowest() -> None:
    capped = under({"low": 400, "high": None}, TWO_RANKS)
    assert savable_watts(drawn(capped), capped) == 8 * 200 + 8 * 400


def test_an_exponent_that_caps_cost_nothing_by_is_refused() -> None:
    with pytest.raises(ValueError, match="exponent of a"):
        replace(a_server(), exponent=0)
