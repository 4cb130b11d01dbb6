"""What commands show is plain text that no name can break, in colour only on a terminal."""

from datetime import UTC, datetime, timedelta

import pytest

from plimsoll.cli.output.ages import age
from plimsoll.cli.output.colour import coloured, paint_for, plain
from plimsoll.cli.output.document import Layout, as_csv, as_text
from plimsoll.cli.output.progress import slow
from plimsoll.cli.output.table import Column, Table

NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = (Column("NAME"), Column("STATE", is_state=True), Column("UNIT", is_wide=True))
TABLE = Table(COLUMNS, (("a", "Running", "steps"), ("b", "Failed", "-")), "WHY", ("", "broken"))


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (-5, "0s"),
        (0, "0s"),
        (59, "59s"),
        (60, "1m"),
        (250, "4m10s"),
        (605, "10m"),
        (3600, "1h"),
        (5400, "1h30m"),
        (3605, "1h"),
        (90000, "1d1h"),
        (864000 + 3600, "10d"),
    ],
)
def test_ages_are_short(seconds: int, said: str) -> None:
    assert age(NOW - timedelta(seconds=seconds), NOW) == said


def test_an_unknown_age_is_a_dash() -> None:
    assert age(None, NOW) == "-"


def test_a_table_has_a_text_beside_each_row_and_more_columns_if_all_are_asked_for() -> None:
    assert as_text([TABLE], Layout()) == (
        "NAME  STATE    WHY\na     Running\nb     Failed   broken\n"
    )
    assert as_text([TABLE], Layout(wide=True)).startswith("NAME  STATE    UNIT   WHY\n")


def test_tables_are_parted_and_empty_ones_left_out() -> None:
    empty = Table((Column("NOTHING"),), ())
    assert as_text(["One.\nTwo.", empty, TABLE, "End."], Layout()).split("\n\n") == [
        "One.\nTwo.",
        as_text([TABLE], Layout()).rstrip(),
        "End.\n",
    ]


def test_colours_move_nothing() -> None:
    painted = as_text([TABLE], Layout(paint=coloured))
    for code in ("\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[0m"):
        assert code in painted
        painted = painted.replace(code, "")
    assert painted == as_text([TABLE], Layout())


def test_names_that_a_terminal_would_obey_are_text() -> None:
    hostile = "\x1b]0;owned\x07\u202eevil\nrow"
    shown = as_text([Table((Column("NAME"),), ((hostile,),), "WHY", (hostile,))], Layout())
    heading, row = shown.splitlines()
    assert heading.split() == ["NAME", "WHY"]
    assert row == "?]0;owned??evil row  ?]0;owned??evil row"


def test_csv_has_all_columns_and_quotes_what_must_be() -> None:
    table = Table(COLUMNS, (("a,b", 'say "x"', "-"),), "WHY", ("two\nlines",))
    assert as_csv(table) == 'NAME,STATE,UNIT,WHY\n"a,b","say ""x""",-,two lines\n'


def test_colours_are_only_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert paint_for(no_color=False) is plain
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert paint_for(no_color=False) is coloured
    assert paint_for(no_color=True) is plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint_for(no_color=False) is plain


def test_what_is_done_at_once_is_not_announced(capsys: pytest.CaptureFixture[str]) -> None:
    with slow("reading"):
        pass
    assert capsys.readouterr().err == ""
