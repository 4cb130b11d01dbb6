"""Show names and texts of others: many in one sentence, a long one shortened, all on one line."""

import hashlib
import re
from collections.abc import Sequence


def first_few(names: Sequence[str], most: int = 3) -> str:
    """The first few names and the number of the others: `a, b, c and 2 more`."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def one_line(text: str) -> str:
    """The text on one line and printable, whatever it contains.

    Neither escape sequences nor marks that turn the direction of writing are left of it.
    """
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """The text without anything that a terminal would obey; its spaces stay."""
    return "".join(each if each.isprintable() else "?" for each in text)


def shortened(name: str, longest: int) -> str:
    """A name of at most `longest` lower-case letters, digits and '-' that stands for another.

    It begins like it, and ends with ten digits of its hash, since several may begin alike.
    """
    digits = hashlib.sha256(name.encode()).hexdigest()[:10]
    plain = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    return f"{plain[: longest - len(digits) - 1].rstrip('-')}-{digits}".lstrip("-")
