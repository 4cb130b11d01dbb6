"""Turn a pydantic model into the structural schema that a CRD requires.

A structural schema inlines all references, gives each field one type, and has neither titles nor
null. `crds` adds the rest of the CRD.
"""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any, Final, cast

from pydantic.json_schema import GenerateJsonSchema

from plimsoll.api.resource import Resource
from plimsoll.api.templates.kubernetes_schema import TYPE, Schema, kubernetes_schema, laid_over
from plimsoll.api.values.durations import duration_text
from plimsoll.api.values.quantities import quantity_text

_UNKNOWN_TO_CRDS: Final = {"title", "$ref", "additionalProperties", "default", "const", "anyOf"}


class _WireSchema(GenerateJsonSchema):
    """Writes defaults in wire notation."""

    def encode_default(self, dft: Any) -> Any:  # noqa: ANN401 - the signature is pydantic's
        """Return a default as the API server takes it."""
        match dft:
            case timedelta():
                return duration_text(dft)
            case Decimal():
                return quantity_text(dft)
            case _:
                return super().encode_default(dft)


def structural_schema(kind: type[Resource]) -> Schema:
    """Return the schema of a kind: its spec with defaults, its status without."""
    generated = kind.model_json_schema(schema_generator=_WireSchema)
    definitions = generated["$defs"]
    spec = _structural(generated["properties"]["spec"], definitions)
    status = _structural(generated["properties"]["status"], definitions)
    required = [name for name in ("spec",) if name in generated["required"]]
    return {
        "type": "object",
        "description": generated["description"],
        "properties": {**_ROOT_FIELDS, "spec": spec, "status": _without_defaults(status)},
        **({"required": required} if required else {}),
        **_rules(generated),
    }


_ROOT_FIELDS: Final[Schema] = {
    "apiVersion": {
        "type": "string",
        "description": "The API version that the object is written in.",
    },
    "kind": {"type": "string", "description": "The kind of the object."},
    "metadata": {"type": "object"},
}


def _rules(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key == "x-kubernetes-validations"}


def _structural(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema with all references, nulls and JSON Schema idioms resolved."""
    schema = _resolved(schema, definitions)
    result = {key: value for key, value in schema.items() if key not in _UNKNOWN_TO_CRDS}
    if "description" in schema:
        result["description"] = " ".join(schema["description"].split())
    if "const" in schema:
        result["enum"] = [schema["const"]]
    if "properties" in schema:
        result["properties"] = {
            name: _structural(each, definitions) for name, each in schema["properties"].items()
        }
    if "items" in schema:
        result["items"] = _structural(schema["items"], definitions)
    result |= _open_ended(schema, definitions) | _default(schema)
    theirs = result.pop(TYPE, None)
    return laid_over(result, kubernetes_schema(theirs)) if theirs else result


def _resolved(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return the schema that a reference or an optional value stands for.

    Keywords beside the reference, such as the field's description, take precedence.
    """
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/$defs/")
        return _resolved(definitions[name], definitions) | beside
    match schema.get("anyOf"):
        case [value, {"type": "null"}]:
            del beside["anyOf"]
            return _resolved(value, definitions) | beside
        case _:
            return schema


def _open_ended(schema: Schema, definitions: Mapping[str, Schema]) -> Schema:
    """Return what the schema says about fields that it does not name."""
    if "additionalProperties" not in schema:
        return {}
    allowed = schema["additionalProperties"]
    values = {} if allowed is True else _structural(allowed, definitions)
    if not values:
        return {"x-kubernetes-preserve-unknown-fields": True}
    return {"additionalProperties": values}


def _default(schema: Schema) -> Schema:
    """Return the field's default unless it is empty."""
    default = _said(schema.get("default"))
    return {} if default in (None, [], {}, "") else {"default": default}


def _said(default: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a default without its empty fields.

    An object's default is spelled out, since the API server applies the object's rules to it before
    the defaults of its fields.
    """
    if isinstance(default, list):
        return [_said(each) for each in cast("list[Any]", default)]
    if not isinstance(default, dict):
        return default
    fields = {name: _said(value) for name, value in cast("Schema", default).items()}
    return {name: value for name, value in fields.items() if value not in (None, [], {}, "")}


def _without_defaults(schema: Schema) -> Schema:
    """Return the schema without defaults: a status holds only what its owner wrote."""
    result = {key: value for key, value in schema.items() if key != "default"}
    if "properties" in result:
        fields = cast("dict[str, Schema]", result["properties"])
        result["properties"] = {name: _without_defaults(each) for name, each in fields.items()}
    if "items" in result:
        result["items"] = _without_defaults(result["items"])
    return result
