"""Why an object is refused, in words for people: each field by its path, with a remedy.

The models hold the same rules as the CRDs; this module turns pydantic's errors into sentences in
users' terms.
"""

from collections.abc import Iterator
from functools import cache
from typing import Final, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.schema.crd_schema import Schema, structural_schema
from plimsoll.naming import printable

Path = tuple[int | str, ...]
LONGEST: Final = 500
"""Characters of a whole refusal, which goes into a status."""
_LONGEST_VALUE: Final = 64
_MOST_NAMED: Final = 3
_ROOM: Final = LONGEST - len("; and 9,999,999 more")


def why_refused(error: ValidationError) -> str:
    """The first few problems, in one line of at most `LONGEST` characters."""
    details = _relevant(error)
    text = ""
    for number, detail in enumerate(details):
        sentence = printable(_sentence(error.title, detail))
        longer = f"{text}; {sentence}" if text else _shortened(sentence, _ROOM)
        if number == _MOST_NAMED or len(longer) > _ROOM:
            return f"{text}; and {len(details) - number:,} more"
        text = longer
    return text


def refusals(error: ValidationError) -> Iterator[str]:
    """A sentence for each field that breaks a rule."""
    return (_sentence(error.title, detail) for detail in _relevant(error))


def _relevant(error: ValidationError) -> list[ErrorDetails]:
    """The errors, except for lists that are too short only because of invalid items."""
    details = error.errors(include_url=False)
    inner = [each["loc"] for each in details]
    outer = {path[:length] for path in inner for length in range(len(path))}
    return [each for each in details if each["type"] != "too_short" or each["loc"] not in outer]


def _sentence(kind: str, error: ErrorDetails) -> str:
    path, text = field_path(error["loc"]), _said(kind, error)
    return f"{path}: {text}" if path else text


def field_path(path: Path) -> str:
    """A path as kubectl writes it: `spec.roles[0].template`, `requests[nvidia.com/gpu]`."""
    text = ""
    for step in path:
        plain = isinstance(step, str) and step.isidentifier()
        text += (f".{step}" if text else str(step)) if plain else f"[{step}]"
    return text


def _said(kind: str, error: ErrorDetails) -> str:
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "too_short":
        return f"needs at least {error['ctx']['min_length']}" if "ctx" in error else error["msg"]
    if error["type"] == "value_error":
        return error["msg"].removeprefix("Value error, ")
    if error["type"] == "string_pattern_mismatch":
        rules = _schema_at(kind, error["loc"]).get("x-kubernetes-validations", [])
        text = "; ".join(rule["message"] for rule in rules) or error["msg"]
    else:
        text = error["msg"].removeprefix("Input ")
    shown = _shown(error["input"])
    return f"{text}; it is {shown}" if shown else text


def _shown(given: object) -> str:
    """The given value, if it is short enough to show."""
    if isinstance(given, int) and given.bit_length() > _LONGEST_VALUE:
        return ""
    return _shortened(repr(given), _LONGEST_VALUE) if isinstance(given, str | int | float) else ""


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


@cache
def schema_of(kind: str) -> Schema:
    """The schema of one of our kinds; empty for any other."""
    return structural_schema(KIND_BY_NAME[kind]) if kind in KIND_BY_NAME else {}


def _schema_at(kind: str, path: Path) -> Schema:
    schema = schema_of(kind)
    for step in path:
        fields = schema.get("properties", {})
        inner = schema.get("items", {}) if isinstance(step, int) else fields.get(step, {})
        schema = cast("Schema", inner)
    return schema
