"""The API reference as Markdown, from the same schemas as the CRDs.

python -m plimsoll.api.schema.reference > docs/reference/api.md
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from plimsoll.api.definition import API_VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crd_schema import Schema, structural_schema

_OPENING: Final = f"""# The API: `{API_VERSION}`

Generated from `plimsoll.api` by `make crds`; `kubectl explain` says the same. Examples of every
kind are in [`examples/`](../../examples).

- A **quantity** is a whole number, or a number in quotes that may have a fraction or a suffix: `8`,
  `"0.25"`, `"500m"`, `"40M"`.
- A **duration** is written like `45s`, `10m` or `1h30m`.
- Fields in **bold** are required. A `template` is a Kubernetes PodTemplateSpec.
- A job without a `queue` belongs to the queue `default`, which need not exist.
"""

_KNOWN: Final = {"template", "conditions"}
"""Fields that Kubernetes' own reference describes: a PodTemplateSpec, a list of Conditions."""

_NO_BOUND: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Field:
    """A field, by its path from the top of the spec or status."""

    path: str
    schema: Schema
    required: bool


def reference() -> str:
    """Return the whole page."""
    return "\n".join([_OPENING, *(_chapter(kind) for kind in KINDS)])


def _chapter(kind: type[Resource]) -> str:
    schema = structural_schema(kind)
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    rules = [*_rules(schema, ""), *_rules(spec, "spec")]
    return "\n".join(
        [
            f"## {kind.definition.kind}\n",
            f"{schema['description']} {_presentation(kind.definition)}\n",
            "### Spec\n",
            *_table(spec),
            "",
            *(["What must hold between fields:\n", *rules, ""] if rules else []),
            "### Status\n",
            *_table(status),
            "",
        ]
    )


def _presentation(definition: Definition) -> str:
    scope = "In a namespace" if definition.namespaced else "For the whole cluster"
    return f"{scope}; `kubectl get {definition.short_name}`."


def _table(schema: Schema) -> list[str]:
    rows = ["| field | type | default | meaning |", "| --- | --- | --- | --- |"]
    return rows + [_row(field) for field in _fields(schema, "")]


def _fields(schema: Schema, path: str) -> Iterator[_Field]:
    """Yield all fields below, each before its own fields."""
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        yield _Field(path + name, field, name in required)
        if name in _KNOWN:
            continue
        if field.get("type") == "array":
            yield from _fields(field["items"], f"{path}{name}[].")
        else:
            yield from _fields(field, f"{path}{name}.")


def _row(field: _Field) -> str:
    name = f"**`{field.path}`**" if field.required else f"`{field.path}`"
    default = field.schema.get("default")
    plain = default if isinstance(default, str) else str(default).lower()
    filled_in = "" if default is None or isinstance(default, dict | list) else f"`{plain}`"
    cells = [name, _type(field.schema), filled_in, field.schema["description"]]
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _type(schema: Schema) -> str:
    """Return a field's type in a word or two, with its bounds."""
    rules = str(schema.get("x-kubernetes-validations"))
    match schema:
        case {"enum": values}:
            words = " or ".join(f"`{value}`" for value in values)
        case {"x-kubernetes-int-or-string": True}:
            words = "integer or percentage" if "%" in rules else "quantity"
        case {"type": "array", "items": items}:
            words = f"list of {_type(items)}"
        case {"additionalProperties": values}:
            words = f"map to {_type(values)}"
        case {"type": "string"}:
            words = "duration" if "duration" in rules else schema.get("format", "string")
        case {"minimum": least, "maximum": most} if most < _NO_BOUND:
            words = f"{schema['type']}, {least} to {most}"
        case _:
            words = schema["type"]
    return words


def _rules(schema: Schema, path: str) -> list[str]:
    """Return a line for each rule of an object, those of single values left out."""
    own = schema.get("x-kubernetes-validations", ()) if schema.get("type") == "object" else ()
    lines = [_rule_line(path + rule.get("fieldPath", ""), rule["message"]) for rule in own]
    for name, field in schema.get("properties", {}).items():
        if path or name not in ("spec", "status"):
            lines += _rules(field, f"{path}.{name}")
    return lines + (_rules(schema["items"], f"{path}[]") if "items" in schema else [])


def _rule_line(path: str, message: str) -> str:
    return f"- `{path.lstrip('.')}` {message}" if path else f"- {message}"


if __name__ == "__main__":
    sys.stdout.write(reference())
