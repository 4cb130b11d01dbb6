"""JSON without what lies too deep in it, for decoders that recurse and give up somewhere.

The API server takes objects nested thousands of levels deep, of which Python's decoders read fewer
than a thousand, and of a list with one such object nothing at all.
"""

import re
from collections.abc import Iterator
from typing import Final

MOST_DEPTH: Final = 400
"""Deeper than any schema of ours, or pydantic, takes: what has lost something is refused there."""
_TEXT_OR_BRACKET: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def shallow(body: bytes, most_depth: int = MOST_DEPTH) -> bytes:
    """The same JSON with null in the place of every list and object that lies deeper."""
    return b"null".join(_kept(body, most_depth))


def _kept(body: bytes, most_depth: int) -> Iterator[bytes]:
    """What is kept, piece by piece, without recursion: between two pieces something is left out."""
    depth, start = 0, 0
    for match in _TEXT_OR_BRACKET.finditer(body):
        bracket = match[0]
        if bracket in _OPENING:
            depth += 1
            if depth == most_depth + 1:
                yield body[start : match.start()]
        elif bracket in _CLOSING:
            if depth == most_depth + 1:
                start = match.end()
            depth -= 1
    yield body[start:] if depth <= most_depth else b""
