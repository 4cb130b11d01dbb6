"""Text tables: columns as wide as their cells, with a wrapped text beside or below each row."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_GAP = "  "
_INDENT = "    "
_GLUED = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}"
_LEAST_BESIDE = 48
"""With fewer characters left beside the rows, texts go below them."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's heading, and whether it holds numbers."""

    title: str
    is_number: bool = False

    def filled(self, cells: Sequence[str]) -> list[str]:
        """The heading and the cells, all as wide as the widest."""
        width = max(map(len, (self.title, *cells)))
        pad = str.rjust if self.is_number else str.ljust
        return [pad(cell, width) for cell in (self.title, *cells)]


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """The headings and rows with their cells in columns; there is at least one row."""
    filled = map(Column.filled, columns, zip(*rows, strict=True))
    return [_GAP.join(row).rstrip() for row in zip(*filled, strict=True)]


def annotated(lines: Sequence[str], texts: Sequence[str], width: int | None) -> Iterator[str]:
    """The lines, each with a text, no wider than `width` unless a word is."""
    taken = max(map(len, lines)) + len(_GAP)
    if width is not None and width - taken < _LEAST_BESIDE:
        for line, text in zip(lines, texts, strict=True):
            yield line
            yield from (_INDENT + part for part in _wrapped(text, width - len(_INDENT)))
        return
    for line, text in zip(lines, texts, strict=True):
        first, *others = _wrapped(text, None if width is None else width - taken) or [""]
        yield f"{line.ljust(taken)}{first}".rstrip()
        yield from (" " * taken + part for part in others)


def _wrapped(text: str, width: int | None) -> list[str]:
    """The text wrapped into lines; node names stay whole, and so does `8 × NVIDIA-L4`."""
    if width is None:
        return [text]
    glued = text.replace(" × ", _GLUED)
    lines = textwrap.wrap(glued, width, break_long_words=False, break_on_hyphens=False)
    return [line.replace(_GLUED, " × ") for line in lines]
