"""How a report of the console's ledger is shown to people."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from plimsoll.cli.output.document import Layout, as_text
from plimsoll.cli.views.usage import Usage, usage_document

UNTIL = datetime(2026, 1, 3, tzinfo=UTC)


def a_row(used: float, *, remainder: bool = False, dollars: float = 0, **keys: str) -> Any:  # noqa: ANN401
    """Half of it useful, and as much without a job."""
    uses = {"useful": used / 2, "starting": used / 2, "idle": used, "waiting": 7}
    sums = {"gpuHours": used, "gpuHoursByUse": uses, "dollars": dollars, "kWh": 1}
    return {"keys": keys, "remainder": remainder, "gramsCO2": None, **sums}


def shown(*rows: Any, by: str = "queue", known: bool = True) -> list[str]:  # noqa: ANN401
    message = {
        "since": "2026-01-01T00:00:00Z",
        "until": UNTIL.isoformat(),
        "accountedUntil": "2026-01-02T12:30:00Z" if known else None,
        "by": by.split(","),
        "rows": rows,
    }
    found = msgspec.convert(message, Usage, strict=False)
    return as_text(usage_document(found), Layout()).splitlines()


def test_it_says_until_when_all_is_known_and_what_all_cost() -> None:
    first, *_ = shown(a_row(1200, queue="a", dollars=2000), a_row(300, queue="b", dollars=1))
    assert first == (
        "From 2026-01-01 00:00 to 2026-01-02 12:30 UTC, jobs had 1,500.0 GPU-hours, "
        "50 % of them useful; no job had 1,500.0; all cost 2,001.00."
    )


def test_those_who_used_most_are_first_and_what_has_no_name_last() -> None:
    _, _, _, *rows = shown(
        a_row(9, remainder=True, queue=""), a_row(1, queue="a"), a_row(2, queue="")
    )
    assert [row.split()[0] for row in rows] == ["-", "a", "(others)"]


def test_days_stay_in_their_order() -> None:
    days = "2026-01-01", "2026-01-02"
    _, _, _, *rows = shown(*(a_row(n, day=day) for n, day in enumerate(days)), by="day")
    assert [row.split()[0] for row in rows] == [*days]


def test_names_do_nothing_to_a_terminal() -> None:
    *_, row = shown(a_row(1, user="\x1b[2Jx\u202ey\nz"), by="user")
    assert row.startswith("?[2Jx?y z ")


def test_a_ledger_that_knows_nothing_is_not_a_time_in_which_nothing_was_used() -> None:
    assert shown(known=False) == ["The ledger is empty: it begins when it is turned on."]
    assert shown()[0].endswith(" UTC, nothing that you may see was used.")
