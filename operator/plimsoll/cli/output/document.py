"""What a command shows: paragraphs and tables, for people or as CSV."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from plimsoll.cli.output.colour import Paint, plain
from plimsoll.cli.output.table import Table, laid_out
from plimsoll.naming import one_line, printable


@dataclass(frozen=True, slots=True)
class Drawing:
    """Lines whose spaces matter."""

    lines: tuple[str, ...]


Document = Sequence[Table | Drawing | str]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a document is shown; `width` is None where lines may be of any length."""

    width: int | None = None
    wide: bool = False
    paint: Paint = plain


def as_text(document: Document, layout: Layout) -> str:
    """The document, with an empty line between tables; a table without rows is left out."""
    parts = [part for each in document if (part := "\n".join(_lines(each, layout)))]
    return "\n\n".join(parts) + "\n"


def as_csv(table: Table) -> str:
    """All columns of a table, and its texts."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    titles = [column.title for column in table.columns]
    writer.writerow([*titles, table.text_title] if table.text_title else titles)
    for index, row in enumerate(table.rows):
        cells = [*row, table.texts[index]] if table.text_title else row
        writer.writerow(map(one_line, cells))
    return text.getvalue()


def _lines(part: Table | Drawing | str, layout: Layout) -> Iterator[str]:
    if isinstance(part, str):
        yield from map(one_line, part.splitlines())
    elif isinstance(part, Drawing):
        yield from map(printable, part.lines)
    elif part.rows:
        yield from laid_out(_shown(part, layout), layout.width, layout.paint)


def _shown(table: Table, layout: Layout) -> Table:
    """The columns that are asked for, with nothing in them that a terminal would obey."""
    kept = [index for index, each in enumerate(table.columns) if layout.wide or not each.is_wide]
    return replace(
        table,
        columns=tuple(table.columns[index] for index in kept),
        rows=tuple(tuple(one_line(row[index]) for index in kept) for row in table.rows),
        texts=tuple(map(one_line, table.texts)),
    )
