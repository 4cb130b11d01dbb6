"""Text tables: columns as wide as their cells, with a wrapped text beside or below each row."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from plimsoll.cli.output.colour import Paint, heading

_GAP = "  "
_INDENT = "    "
_GLUED = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}"
_LEAST_BESIDE = 48
"""With fewer characters left beside the rows, texts go below them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether it holds numbers, or states that have colours.

    One that `is_wide` is left out of tables unless all is asked for.
    """

    title: str
    is_number: bool = False
    is_state: bool = False
    is_wide: bool = False

    def filled(self, cells: Sequence[str]) -> list[str]:
        """The heading and the cells, all as wide as the widest."""
        width = max(map(cell_len, (self.title, *cells)))
        return [self._padded(cell, width) for cell in (self.title, *cells)]

    def _padded(self, cell: str, width: int) -> str:
        space = " " * (width - cell_len(cell))
        return space + cell if self.is_number else cell + space


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells; `texts` are sentences, one for each row, under a heading of their own."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    text_title: str = ""
    texts: tuple[str, ...] = ()


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The headings and rows with their cells in columns; there is at least one row."""
    filled = map(Column.filled, columns, zip(*rows, strict=True))
    return [_GAP.join(row).rstrip() for row in zip(*filled, strict=True)]


def laid_out(table: Table, width: int | None, paint: Paint) -> Iterator[str]:
    """The lines of a table for a terminal of this width; None allows lines of any length."""
    plain = aligned(table.columns, table.rows)
    filled = map(Column.filled, table.columns, zip(*table.rows, strict=True))
    columns = [
        [column[0], *(_painted(cell, paint) for cell in column[1:])] if of.is_state else column
        for of, column in zip(table.columns, filled, strict=True)
    ]
    cells = [_GAP.join(row).rstrip() for row in zip(*columns, strict=True)]
    lines = [heading(cells[0], paint), *cells[1:]]
    if not table.text_title:
        yield from lines
        return
    yield from annotated(plain, [table.text_title, *table.texts], width, shown=lines)


def _painted(cell: str, paint: Paint) -> str:
    """The cell with its word painted, but not the spaces that fill it."""
    word = cell.rstrip()
    return paint(word) + cell[len(word) :]


def annotated(
    lines: Sequence[str],
    texts: Sequence[str],
    width: int | None,
    *,
    shown: Sequence[str] | None = None,
) -> Iterator[str]:
    """The lines, each with a text, no wider than `width` unless a word is.

    `shown`: the same lines with colours, which take no room.
    """
    taken = max(map(cell_len, lines)) + len(_GAP)
    lengths = map(cell_len, lines)
    lines = lines if shown is None else shown
    if width is not None and width - taken < _LEAST_BESIDE:
        for line, text in zip(lines, texts, strict=True):
            yield line
            yield from (_INDENT + part for part in _wrapped(text, width - len(_INDENT)))
        return
    for line, length, text in zip(lines, lengths, texts, strict=True):
        first, *others = _wrapped(text, None if width is None else width - taken) or [""]
        yield f"{line}{' ' * (taken - length)}{first}".rstrip()
        yield from (" " * taken + part for part in others)


def _wrapped(text: str, width: int | None) -> list[str]:
    """The text wrapped into lines; node names stay whole, and so does `8 × NVIDIA-L4`."""
    if width is None:
        return [text]
    glued = text.replace(" × ", _GLUED)
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_GLUED, " × ") for line in lines]
