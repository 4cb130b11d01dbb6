"""Quote names for PromQL, so that none can become more than a name.

In a Kubernetes name nothing needs escaping. Everything else is written in hexadecimal, which cannot
end a string, however it is quoted.
"""

import re
from collections.abc import Callable, Mapping

_PLAIN = re.compile(r"[A-Za-z0-9_-]")
_PLACEHOLDER = re.compile(r"\$([a-z]+)(?![A-Za-z0-9_])")


def text(value: str) -> str:
    """A value as written inside a PromQL string."""
    return _written(value, {".": "."}, lambda byte: f"\\x{byte:02x}")


def pattern(value: str) -> str:
    """A regular expression that matches only this value, as written inside a string."""
    return _written(value, {".": "[.]"}, lambda byte: f"\\x5cx{byte:02x}")


def filled(query: str, values: Mapping[str, str]) -> str:
    """A query with placeholders such as `$namespace` filled in; unknown ones are left."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), query)


def _written(value: str, known: Mapping[str, str], in_hexadecimal: Callable[[int], str]) -> str:
    return "".join(
        each
        if _PLAIN.fullmatch(each)
        else known.get(each) or "".join(map(in_hexadecimal, each.encode(errors="replace")))
        for each in value
    )
