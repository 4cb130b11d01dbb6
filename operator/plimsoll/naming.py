"""List many names in one sentence."""

from collections.abc import Sequence


def first_few(names: Sequence[str], most: int = 3) -> str:
    """The first few names and the number of the others: `a, b, c and 2 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")
