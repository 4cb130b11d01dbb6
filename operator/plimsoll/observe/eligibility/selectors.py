"""Match label selectors, and parse selectors written as text."""

import re
from collections.abc import Iterator, Mapping

from plimsoll.kube.objects.objects import LabelSelector, LabelSelectorRequirement

_SET = re.compile(r"(?P<key>\S+)\s+(?P<how>in|notin)\s*\((?P<values>[^)]*)\)")
_EQUAL = re.compile(r"(?P<key>[^=!\s]+)\s*(?P<how>==|=|!=)\s*(?P<value>\S*)")
_OPERATORS = {"in": "In", "notin": "NotIn", "=": "In", "==": "In", "!=": "NotIn"}


def selector_of(text: str) -> LabelSelector:
    """Parse a selector as `/scale` and kubectl write it: `app=web,tier in (a,b),!canary`."""
    parts = (part.strip() for part in _parts(text))
    return LabelSelector(match_expressions=tuple(map(_requirement, filter(None, parts))))


def _parts(text: str) -> Iterator[str]:
    """Split the text at commas outside brackets, in one pass."""
    pieces: list[str] = []
    for piece in text.split(","):
        pieces.append(piece)
        # Label values contain no brackets, so brackets do not nest.
        if "(" not in pieces[0] or ")" in piece:
            yield ",".join(pieces)
            pieces = []
    yield ",".join(pieces)


def _requirement(text: str) -> LabelSelectorRequirement:
    if found := _SET.fullmatch(text):
        values = tuple(value.strip() for value in found["values"].split(","))
        return LabelSelectorRequirement(found["key"], _OPERATORS[found["how"]], values)
    if found := _EQUAL.fullmatch(text):
        operator = _OPERATORS[found["how"]]
        return LabelSelectorRequirement(found["key"], operator, (found["value"],))
    if text.startswith("!"):
        return LabelSelectorRequirement(text[1:].strip(), "DoesNotExist")
    return LabelSelectorRequirement(text, "Exists")


def matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether an object with these labels is selected; an empty selector selects all."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        _holds(requirement, labels) for requirement in selector.match_expressions
    )


def _holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case _:
            return value is None
