"""A usage report as comma-separated values."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from plimsoll_console.ledger.accounting.tally import Use
from plimsoll_console.reports.usage import HELD, NODE_TIME, Report

REMAINDER: Final = "(others)"
"""What the columns of a remainder say that may name nobody."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


def as_csv(report: Report, grams_per_kwh: float | None = None) -> str:
    """One line per row, with a heading."""
    heading = [
        *(each.value for each in report.query.by),
        "gpu_hours",
        *(f"{use.word}_gpu_hours" for use in Use),
        "dollars",
        "kwh",
        "grams_co2",
    ]
    return written([heading, *_lines(report, grams_per_kwh)])


def written(lines: Iterable[Sequence[object]]) -> str:
    """Lines as text; what a spreadsheet would run as a formula is quoted."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([_harmless(cell) for cell in line] for line in lines)
    return text.getvalue()


def _lines(report: Report, grams_per_kwh: float | None) -> Iterable[Sequence[object]]:
    for row in report.rows:
        total = row.amounts.of(*NODE_TIME)
        carbon = total.grams(grams_per_kwh)
        yield [
            *((key or REMAINDER for key in row.keys) if row.is_remainder else row.keys),
            row.amounts.of(*HELD).gpu_hours,
            *(row.amounts.of(use).gpu_hours for use in Use),
            total.dollars,
            total.kwh,
            "" if carbon is None else carbon,
        ]


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
