"""The API reference as Markdown, from the same schemas as the CRDs.

python -m plimsoll.api.schema.reference > docs/reference/api.md
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from plimsoll.api.definition import API_VERSION, Definition
from plimsoll.api.kinds import KINDS
from plimsoll.api.resource import Resource
from plimsoll.api.schema.crd_schema import Schema, structural_schema

_OPENING: Final = f"""# The API: `{API_VERSION}`

Generated from `plimsoll.api` by `make crds`; `kubectl explain` shows the same. There are
[`examples/`](../../examples) of every kind.

- A **quantity** is a whole number, or a quoted number with a fraction or suffix: `8`, `"0.25"`,
  `"500m"`, `"40M"`.
- A **duration** is written like `45s`, `10m` or `1h30m`.
- Fields in **bold** are required. A `template` is a Kubernetes PodTemplateSpec.
- A job without a `queue` belongs to the queue `default`, which need not exist.
"""

_KNOWN: Final = {"template", "conditions"}
"""Fields that Kubernetes' own reference describes: a PodTemplateSpec, a list of Conditions."""

_NO_BOUND: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Field:
    """A field, by its path from the root of the spec or status."""

    path: str
    schema: Schema
    required: bool


def reference() -> str:
    """Return the whole page."""
    return "\n".join([_OPENING, *(_chapter(kind) for kind in KINDS)])


def _chapter(kind: type[Resource]) -> str:
    schema = structural_schema(kind)
    spec, status = schema["properties"]["spec"], schema["properties"]["status"]
    rules = _rule_lines([*_rules(schema, ""), *_rules(spec, "spec")])
    return "\n".join(
        [
            f"## {kind.definition.kind}\n",
            f"{schema['description']} {_presentation(kind.definition)}\n",
            "### Spec\n",
            *_table(spec, with_defaults=True),
            "",
            *(["Rules:\n", *rules, ""] if rules else []),
            "### Status\n",
            *_table(status, with_defaults=False),
            "",
        ]
    )


def _presentation(definition: Definition) -> str:
    scope = "Namespaced" if definition.namespaced else "Cluster-scoped"
    return f"{scope}; `kubectl get {definition.short_name}`."


def _table(schema: Schema, *, with_defaults: bool) -> list[str]:
    """Return a row for each field; fields of a status have no defaults."""
    titles = ["field", "type", *(["default"] if with_defaults else []), "meaning"]
    rows = [_line(titles), _line("---" for _ in titles)]
    return rows + [
        _line(_cells(field, with_default=with_defaults)) for field in _fields(schema, "")
    ]


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


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


def _plain(default: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return a default as it is written in YAML."""
    if isinstance(default, list):
        return f"[{', '.join(map(_plain, cast('list[Any]', default)))}]"
    if isinstance(default, dict):
        fields = cast("Schema", default).items()
        return f"{{{', '.join(f'{name}: {_plain(value)}' for name, value in fields)}}}"
    return default if isinstance(default, str) else str(default).lower()


def _cells(field: _Field, *, with_default: bool) -> list[str]:
    name = f"**`{field.path}`**" if field.required else f"`{field.path}`"
    default = field.schema.get("default")
    filled_in = "" if default is None or isinstance(default, dict) else f"`{_plain(default)}`"
    defaults = [filled_in] if with_default else []
    return [name, _type(field.schema), *defaults, field.schema["description"]]


def _type(schema: Schema) -> str:
    """Return a field's type in a word or two, with its bounds."""
    rules = str(schema.get("x-kubernetes-validations"))
    match schema:
        case {"enum": values}:
            words = ", ".join(f"`{value}`" for value in values)
        case {"x-kubernetes-int-or-string": True}:
            words = "integer or percentage" if "%" in rules else "quantity"
        case {"type": "array", "items": {"type": "object"}}:
            words = "list"
        case {"type": "array", "items": items}:
            words = f"list of {_type(items)}"
        case {"additionalProperties": values}:
            words = f"map to {_type(values)}"
        case {"type": "string"}:
            words = "duration" if "duration" in rules else schema.get("format", "string")
        case {"minimum": least, "maximum": most} if most < _NO_BOUND:
            words = f"{schema['type']}, {least}–{most}"  # noqa: RUF001 - a dash between bounds
        case _:
            words = schema["type"]
    return words


def _rules(schema: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Yield path and message of each rule on an object; rules on single values are omitted."""
    for rule in schema.get("x-kubernetes-validations", ()):
        if schema.get("type") == "object":
            yield f"{path}{rule.get('fieldPath', '')}".lstrip("."), rule["message"]
    for name, field in schema.get("properties", {}).items():
        if path or name not in ("spec", "status"):
            yield from _rules(field, f"{path}.{name}")
    if "items" in schema:
        yield from _rules(schema["items"], f"{path}[]")


def _rule_lines(rules: Iterable[tuple[str, str]]) -> list[str]:
    """Return a line for each message, with all paths that it applies to."""
    paths: dict[str, list[str]] = {}
    for path, message in rules:
        paths.setdefault(message, []).extend([f"`{path}`"] if path else [])
    return ["- " + " ".join(filter(None, [", ".join(of), text])) for text, of in paths.items()]


if __name__ == "__main__":
    sys.stdout.write(reference())
