"""Prune JSON beyond a nesting depth, for decoders that recurse and fail somewhere.

The API server accepts objects nested thousands of levels deep, of which Python's decoders manage
fewer than a thousand; of a list with one such object they read nothing at all.
"""

import re
from collections.abc import Iterator
from typing import Final

MOST_DEPTH: Final = 400
"""Deeper than any schema of ours, or pydantic, accepts: an object pruned here is refused there."""
_TEXT_OR_BRACKET: Final = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"


def shallow(body: bytes, most_depth: int = MOST_DEPTH) -> bytes:
    """The same JSON with null in place of every deeper list and object."""
    return b"null".join(_kept(body, most_depth))


def _kept(body: bytes, most_depth: int) -> Iterator[bytes]:
    """The parts that are kept, without recursion: between two of them something is left out."""
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
