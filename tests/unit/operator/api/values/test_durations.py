"""Durations are those of the Gateway API."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from plimsoll.api.values.durations import (
    DURATION_PATTERN,
    DurationError,
    duration_text,
    parse_duration,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0s", 0), ("45s", 45), ("10m", 600), ("1h30m", 5400), ("1h1m1s", 3661), ("1500ms", 1.5)],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: float) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "10 m", "-5s", "1.5h", "1d", "ten", "1h2m3s4ms5h", "s"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(DurationError, match="write it like 45s, 10m or 1h30m"):
        parse_duration(text)


@given(st.integers(min_value=0, max_value=99_999 * 3_600_000))
def test_a_duration_survives_being_written_and_read(milliseconds: int) -> None:
    duration = timedelta(milliseconds=milliseconds)
    assert parse_duration(duration_text(duration)) == duration


def test_the_notation_is_the_shortest() -> None:
    assert duration_text(timedelta(hours=24)) == "24h"
    assert duration_text(timedelta()) == "0s"


@given(st.from_regex(DURATION_PATTERN, fullmatch=True))
@example("99999h99999h99999h99999m")
def test_whatever_can_be_read_can_be_written_and_read_again(text: str) -> None:
    duration = parse_duration(text)
    again = parse_duration(duration_text(duration))
    assert again <= duration
    assert duration - again < timedelta(hours=1)


def test_the_longest_durations_are_written_in_several_parts() -> None:
    assert duration_text(timedelta(hours=113_007, minutes=47)) == "99999h13008h47m"
    assert parse_duration(duration_text(timedelta.max)) == 4 * timedelta(hours=99_999)
