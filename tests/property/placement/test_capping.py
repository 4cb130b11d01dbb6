"""What holds for the caps of any servers under any budget."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from plimsoll_placement.estimate.capping.control import wanted_caps
from plimsoll_placement.estimate.capping.domain import MEASURED, Server
from support.problems.capping_cases import a_server, drawn, under

TURNS = 6


@st.composite
def server(draw: st.DrawFn, name: str) -> Server:
    """One that is capped, perhaps, if it can be."""
    lowest = draw(st.sampled_from((None, 100, 205, 300)))
    cap = draw(st.one_of(st.none(), st.integers(min_value=300, max_value=690)))
    return a_server(
        name,
        draw(st.integers(min_value=0, max_value=2)),
        gpus=draw(st.integers(min_value=0, max_value=8)),
        draw_watts=draw(st.integers(min_value=70, max_value=700)),
        exponent=draw(st.sampled_from((0.2, 0.35, 0.5))),
        min_cap_watts=lowest,
        cap_watts=None if lowest is None else cap,
    )


@st.composite
def servers(draw: st.DrawFn) -> list[Server]:
    """Up to eight."""
    return [draw(server(str(place))) for place in range(draw(st.integers(1, 8)))]


def cappable(row: list[Server]) -> list[Server]:
    return [each for each in row if each.min_cap_watts is not None and each.gpus]


def at_their_lowest(row: list[Server]) -> bool:
    return all(each.cap_watts == each.min_cap_watts for each in cappable(row))


@given(servers(), st.integers(min_value=1, max_value=20_000), st.integers(0, 3_000))
def test_the_budget_is_kept_or_nothing_is_left_to_save(
    row: list[Server], budget: int, beside: int
) -> None:
    answer = wanted_caps(budget, drawn(row) + beside, row)
    after = under(answer.by_server, row)
    left = drawn(after) + beside
    assert left <= MEASURED.cap_above * budget + 1 or at_their_lowest(after)
    if drawn(row) + beside > MEASURED.cap_above * budget:
        assert left <= MEASURED.target * budget + 1 or at_their_lowest(after)
        assert abs(answer.shortfall_watts - max(0, left - budget)) <= 1


@given(servers(), st.integers(min_value=1, max_value=20_000), st.sampled_from((0, 60)))
def test_a_rank_is_capped_only_while_all_lower_ones_are_at_their_lowest(
    row: list[Server], budget: int, calm: int
) -> None:
    answer = wanted_caps(budget, drawn(row), row, calm_seconds=calm)
    after = under(answer.by_server, row)
    capped = [each.rank for each in after if each.cap_watts is not None]
    spared = [each.rank for each in cappable(after) if each.cap_watts != each.min_cap_watts]
    assert not capped or not spared or max(capped) <= min(spared)


@given(servers(), st.integers(min_value=1, max_value=20_000), st.integers(0, 5_000))
def test_a_lower_budget_never_raises_a_cap(row: list[Server], budget: int, less: int) -> None:
    if drawn(row) <= MEASURED.cap_above * budget:
        return
    higher = wanted_caps(budget, drawn(row), row).by_server
    lower = wanted_caps(max(1, budget - less), drawn(row), row).by_server
    for name, cap in higher.items():
        now = lower[name]
        assert cap is None or (now is not None and now <= cap)


@given(servers(), st.integers(min_value=1, max_value=20_000), st.sampled_from((0, 60)))
def test_at_rest_caps_stay(row: list[Server], budget: int, calm: int) -> None:
    first = wanted_caps(budget, drawn(row), row, calm_seconds=calm)
    after = under(first.by_server, row)
    again = wanted_caps(budget, drawn(after), after)
    assert again.by_server == first.by_server


ERRORS = st.lists(st.floats(min_value=0.6, max_value=1.4), min_size=8, max_size=8)


def really(expected: list[Server], errors: list[float]) -> list[Server]:
    """Servers that draw so much more or less than was expected."""
    return [
        replace(each, draw_watts=min(700, max(70, round(each.draw_watts * error))))
        for each, error in zip(expected, errors, strict=False)
    ]


def seen(expected: list[Server], row: list[Server]) -> list[Server]:
    """What is known of them when each is measured."""
    return [
        replace(each, cap_watts=real.cap_watts, measured_watts=drawn([real]))
        for each, real in zip(expected, row, strict=True)
    ]


@given(servers(), st.integers(min_value=1, max_value=20_000), ERRORS)
def test_one_reading_of_each_server_is_enough_although_expectations_are_wrong(
    expected: list[Server], budget: int, errors: list[float]
) -> None:
    row = [replace(each, cap_watts=None) for each in really(expected, errors)]
    row = under(wanted_caps(budget, drawn(row), seen(expected, row)).by_server, row)
    assert drawn(row) <= MEASURED.cap_above * budget + 1 or at_their_lowest(row)


@given(servers(), st.integers(min_value=1, max_value=20_000), ERRORS)
def test_readings_of_the_whole_find_the_budget_although_expectations_are_wrong(
    expected: list[Server], budget: int, errors: list[float]
) -> None:
    row = really(expected, errors)
    for _ in range(TURNS):
        known = [
            replace(each, cap_watts=real.cap_watts)
            for each, real in zip(expected, row, strict=True)
        ]
        row = under(wanted_caps(budget, drawn(row), known).by_server, row)
    assert drawn(row) <= MEASURED.cap_above * budget + 1 or at_their_lowest(row)


@given(servers(), st.integers(min_value=1, max_value=20_000))
def test_caps_are_within_what_gpus_take(row: list[Server], budget: int) -> None:
    caps = wanted_caps(budget, drawn(row), row).by_server
    for each in row:
        cap = caps[each.name]
        if cap is not None:
            assert each.min_cap_watts is not None
            assert each.min_cap_watts <= cap < each.limit_watts


@given(servers(), st.integers(min_value=1, max_value=20_000))
def test_after_a_long_calm_no_cap_is_left_that_is_not_needed(
    row: list[Server], budget: int
) -> None:
    for _ in range(500):
        answer = wanted_caps(budget, drawn(row), row, calm_seconds=60)
        after = under(answer.by_server, row)
        if after == row:
            break
        row = after
    free = [each for each in row if each.cap_watts is not None]
    uncapped = drawn(under(dict.fromkeys(each.name for each in row), row))
    assert not free or uncapped > MEASURED.release_below * budget
