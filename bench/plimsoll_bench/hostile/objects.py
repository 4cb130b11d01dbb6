"""Custom resources with corrupted fields, drawn from the schemas of their kinds by a seed.

A sensible job is taken, and some of its fields are set to invalid values: another type, a number at
the limit or beyond it, text in another alphabet or of enormous length, deep nesting, long lists.
The fields are read from the schema, including those of pod templates; some that the schema does not
know are made up.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from itertools import pairwise
from random import Random
from typing import Any, Final, cast

from pydantic import ValidationError

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.schema.crd_schema import Schema, structural_schema
from plimsoll_devcluster.manifest import Manifest

Path = tuple[str | int, ...]
MOST_EDITS: Final = 6
SUBTLE: Final = 2 / 3
DEEPEST: Final = 400
ENDS_HERE, IS_UNKNOWN, IS_PRESENT, KEEPS_TYPE, HAS_SHAPE = 0.15, 0.2, 0.7, 0.6, 0.5
"""The probabilities that an edit ends above the leaves, that its field is made up, that it exists
already, that it gets a value of its type, or a list or an object."""

NUMBERS: Final[Sequence[Any]] = (
    0, -1, 1, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, -(2**63), 0.5, -0.0, 1e-9, 1e-300,
    1e-330, 1e15, 1e300, 10**400,
)  # fmt: skip
QUANTITIES: Final[Sequence[Any]] = (
    "1e1000", "1e-1000", "8Ei", "9E", "0.0000001", "-1", "1e330", "1E15", "+.5", "1n", "0x10",
    "much", "NaN", "Infinity", "½", "٣", "1 Gi", "1e", "9" * 5000, "",
)  # fmt: skip
TEXTS: Final[Sequence[Any]] = (
    "", " ", "high", "../../nodes", "\u202e gnp.exe", "тренировка", "\u0000", "🙂" * 100,
    "a" * 70_000, "'; drop table jobs", '"} or vector(1e9) or {a="', "-" * 253, "10m", "99999h",
    "2027-06-01T00:00:00Z", "0000-00-00", "9999-12-31T23:59:59Z", "plimsoll.dev/placed-at",
    "Always", "(a+)+$",
)  # fmt: skip
SHAPES: Final[Sequence[Callable[[Random], Any]]] = (
    lambda _: None,
    lambda _: True,
    lambda _: [],
    lambda _: {},
    lambda draw: [draw.choice(NUMBERS)] * draw.choice((1, 3, 5000)),
    lambda draw: {draw.choice(TEXTS)[:60]: draw.choice(NUMBERS)},
    lambda draw: nested(draw.randrange(1, DEEPEST)),
    lambda _: [nested(3)] * 40,
)
MADE_UP: Final[Sequence[str]] = (
    "priority", "schedulingGates", "resources", "env", "volumes", "volumeMounts", "overhead", "x",
    "resourceClaims", "hostNetwork", "ephemeralContainers", "topologySpreadConstraints", "affinity",
)  # fmt: skip


def nested(depth: int) -> Any:  # noqa: ANN401 - any JSON
    """An object in an object, this many levels deep."""
    value: Any = "bottom"
    for _ in range(depth):
        value = {"a": value}
    return value


class Fuzzer:
    """Draws objects by a seed; the same seed draws the same objects."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed)

    def spoiled(self, manifest: Manifest) -> Manifest:
        """The object with some fields of its spec corrupted.

        Two of three remain readable: what is caught on reading gets no further.
        """
        subtle = self._draw.random() < SUBTLE
        spoiled = deepcopy(manifest)
        for _ in range(self._draw.randint(1, MOST_EDITS)):
            edited = self._edited(spoiled)
            if not subtle or _is_readable(edited):
                spoiled = edited
        return spoiled

    def _edited(self, manifest: Manifest) -> Manifest:
        kind = manifest["kind"]
        edited = {**manifest, "spec": deepcopy(manifest["spec"])}
        path, field = self._field(_schema(kind)["properties"]["spec"], edited["spec"])
        _set(edited["spec"], path, self._value(field))
        return edited

    def number(self) -> float:
        """A number that a worker might report, which cannot be negative."""
        return abs(min(1e300, float(self._draw.choice(NUMBERS[:-1]))))

    def _field(self, schema: Schema, there: object) -> tuple[Path, Schema]:
        """A field that the schema knows, or makes room for, by its path; deep ones as often."""
        path: list[str | int] = []
        while True:
            inner = self._inner(schema, there)
            if inner is None or (path and self._draw.random() < ENDS_HERE):
                return tuple(path), schema
            step, schema, there = inner
            path.append(step)

    def _inner(self, schema: Schema, there: object) -> tuple[str | int, Schema, object] | None:
        fields = cast("Mapping[str, Schema]", schema.get("properties", {}))
        if isinstance(there, list) and there and "items" in schema:
            index = self._draw.randrange(len(cast("list[Any]", there)))
            return index, schema["items"], cast("list[Any]", there)[index]
        if not fields:
            return None
        known = cast("Mapping[str, Any]", there if isinstance(there, dict) else {})
        if "x-kubernetes-preserve-unknown-fields" in schema and self._draw.random() < IS_UNKNOWN:
            return self._draw.choice(MADE_UP), {}, None
        present = [name for name in fields if name in known]
        name = self._draw.choice(
            present if present and self._draw.random() < IS_PRESENT else [*fields]
        )
        return name, fields[name], known.get(name)

    def _value(self, schema: Schema) -> Any:  # noqa: ANN401 - any JSON
        """A value for a field: often of its type and extreme, otherwise of any other type."""
        draw, kind = self._draw, schema.get("type")
        if "x-kubernetes-int-or-string" in schema:
            return draw.choice((*QUANTITIES, *NUMBERS))
        if kind in ("integer", "number") and draw.random() < KEEPS_TYPE:
            return draw.choice(NUMBERS)
        if kind == "string" and draw.random() < KEEPS_TYPE:
            return draw.choice((*TEXTS, *QUANTITIES))
        if draw.random() < HAS_SHAPE:
            return draw.choice(SHAPES)(draw)
        return draw.choice((*NUMBERS, *TEXTS))


@cache
def _schema(kind: str) -> Schema:
    return structural_schema(KIND_BY_NAME[kind])


def _is_readable(manifest: Manifest) -> bool:
    try:
        KIND_BY_NAME[manifest["kind"]].model_validate(manifest)
    except (ValidationError, RecursionError):
        return False
    return True


def _set(root: Any, path: Path, value: Any) -> None:  # noqa: ANN401 - any JSON
    """Set the value at a path, creating what is missing on the way there.

    If an earlier edit has put something else in the way, it stays.
    """
    at = root
    for step, following in pairwise(path):
        if isinstance(step, int):
            at = at[step]
            continue
        if not isinstance(at, dict):
            return
        fields = cast("dict[str, Any]", at)
        wanted = list if isinstance(following, int) else dict
        if not isinstance(fields.get(step), wanted):
            fields[step] = [{}] if wanted is list else {}
        at = fields[step]
    _put(at, path[-1] if path else None, value)


def _put(at: Any, step: str | int | None, value: Any) -> None:  # noqa: ANN401 - any JSON
    if isinstance(step, int) and isinstance(at, list):
        cast("list[Any]", at)[step] = value
    elif isinstance(step, str) and isinstance(at, dict):
        cast("dict[str, Any]", at)[step] = value
