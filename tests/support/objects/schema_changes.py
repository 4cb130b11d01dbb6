"""What does a newer schema refuse, or forget, of that which an older one took?

Rules in CEL are not compared: an API server applies them to objects (e2e/test_upgrade.py).
"""

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

UPPER = ("maximum", "maxLength", "maxItems", "maxProperties")
LOWER = ("minimum", "minLength", "minItems", "minProperties")
SAME = ("type", "pattern", "format", "x-kubernetes-int-or-string", "nullable")
KEEPS = "x-kubernetes-preserve-unknown-fields"
NONE: Schema = {}


def narrowings(old: Schema, new: Schema, path: str = "") -> Iterator[str]:
    """Yield what was narrowed, each as the path of a field and how."""
    yield from (f"{path}: {how}" for how in _of_a_value(old, new))
    yield from (f"{path}.{name}: is required" for name in _newly_required(old, new))
    yield from (f"{path}.{name}: takes not all" for name in _newly_typed(old, new))
    for name, field in old.get("properties", NONE).items():
        if name in new.get("properties", NONE):
            yield from narrowings(field, new["properties"][name], f"{path}.{name}")
        else:
            yield f"{path}.{name}: is gone"
    for inner in ("items", "additionalProperties"):
        if inner in old:
            yield from narrowings(old[inner], new.get(inner, NONE), f"{path}[]")


def _of_a_value(old: Schema, new: Schema) -> Iterator[str]:
    yield from (f"{key} changes" for key in SAME if new.get(key) not in (None, old.get(key)))
    yield from (f"{key} is lower" for key in UPPER if key in new and new[key] < _most(old, key))
    yield from (f"{key} is higher" for key in LOWER if key in new and new[key] > old.get(key, 0))
    if "enum" in new:
        kept = set(new["enum"])
        yield from (
            f"{value} is no value" for value in old.get("enum", ["any"]) if value not in kept
        )
    if old.get(KEEPS) and not new.get(KEEPS):
        yield "unknown fields are dropped"


def _most(schema: Schema, key: str) -> float:
    return schema.get(key, float("inf"))


def _newly_required(old: Schema, new: Schema) -> Iterator[str]:
    """The fields that must be there now, and get there by no default."""
    for name in new.get("required", ()):
        default = "default" in new.get("properties", NONE).get(name, NONE)
        if name not in old.get("required", ()) and not default:
            yield name


def _newly_typed(old: Schema, new: Schema) -> Iterator[str]:
    """The fields of an object that took whatever it did not know, and knows them now."""
    if old.get(KEEPS):
        yield from new.get("properties", NONE).keys() - old.get("properties", NONE).keys()
