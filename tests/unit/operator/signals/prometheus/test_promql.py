import re

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.signals.prometheus.promql import filled, pattern, text


def test_names_stay_as_they_are() -> None:
    assert text("team-a.x_1") == "team-a.x_1"
    assert pattern("chat-2") == "chat-2"


def test_a_dot_in_a_pattern_is_a_dot() -> None:
    assert re.fullmatch(pattern("v1.2"), "v1.2")
    assert not re.fullmatch(pattern("v1.2"), "v1x2")


@given(st.text())
def test_nothing_ends_a_string_however_it_is_quoted(value: str) -> None:
    for written in (text(value), pattern(value)):
        assert not set(written) & set("\"'`\n{}()")


def test_placeholders_are_filled_in_and_others_are_left() -> None:
    values = {"job": "chat", "pods": "chat-server-[0-9]+"}
    asked = 'sum(rate(x{job="$job", pod=~"$pods", a="$jobs", b="$__rate_interval"}[1m]))'
    assert filled(asked, values) == (
        'sum(rate(x{job="chat", pod=~"chat-server-[0-9]+", a="$jobs", b="$__rate_interval"}[1m]))'
    )


def test_what_is_filled_in_is_not_filled_again() -> None:
    assert filled("$job", {"job": "$role", "role": "x"}) == "$role"
