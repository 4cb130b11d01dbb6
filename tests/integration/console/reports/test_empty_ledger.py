"""A ledger that has just begun."""

from sqlalchemy import Engine

from plimsoll_console.ledger.database.schema import migrate
from plimsoll_console.reports.query import Fields, Query
from plimsoll_console.reports.usage import usage
from support.ledger.billed import NOW, a_ledger


def test_an_empty_ledger_has_no_rows(engine: Engine) -> None:
    a_ledger(engine, 0)
    report = usage(engine, Query.parsed(Fields(), NOW))
    assert (report.rows, report.accounted_until) == ((), NOW)


def test_a_ledger_that_has_not_begun_knows_nothing(engine: Engine) -> None:
    migrate(engine)
    report = usage(engine, Query.parsed(Fields(), NOW))
    assert (report.rows, report.accounted_until) == ((), None)
