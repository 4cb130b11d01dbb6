"""A condition changes in its place, and its time only with its status."""

from datetime import UTC, datetime
from typing import Literal

from plimsoll.api.parts.conditions import Condition, condition, is_true, with_condition

MORNING = datetime(2026, 11, 21, 8, tzinfo=UTC)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def admitted(status: Literal["True", "False"], since: datetime, reason: str = "Why") -> Condition:
    return Condition(type="Admitted", status=status, reason=reason, last_transition_time=since)


RUNNING = Condition(type="Running", status="True", reason="Ready", last_transition_time=MORNING)


def test_a_new_condition_comes_last() -> None:
    assert with_condition([RUNNING], admitted("True", NOON)) == (RUNNING, admitted("True", NOON))


def test_a_changed_status_has_a_new_time_and_the_old_place() -> None:
    changed = with_condition([admitted("False", MORNING), RUNNING], admitted("True", NOON))
    assert changed == (admitted("True", NOON), RUNNING)


def test_a_new_reason_alone_keeps_the_time() -> None:
    [changed] = with_condition([admitted("True", MORNING)], admitted("True", NOON, "Other"))
    assert changed == admitted("True", MORNING, "Other")


def test_what_is_not_said_is_not_true() -> None:
    assert condition([RUNNING], "Admitted") is None
    assert is_true([RUNNING], "Running")
    assert not is_true([admitted("False", MORNING)], "Admitted")
    assert not is_true([], "Admitted")
