"""What a CRD says of a field that pydantic has no word for.

Marks stand in a field's annotation; `cel_rules` stands in a model's configuration. Leaves out how
the schema is put together, which `crd_schema` does.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ConfigDict, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that must hold, and what a user reads when it does not."""

    expression: str
    message: str
    field: str = ""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry: dict[str, JsonValue] = {"rule": self.expression, "message": self.message}
        return entry | ({"fieldPath": self.field} if self.field else {})


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Keywords that are added to the JSON schema of the annotated field."""

    keywords: Mapping[str, JsonValue]

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the keywords beside what the field's type says."""
        return {**handler(core_schema), **self.keywords}


SET = Mark({"x-kubernetes-list-type": "set"})
ATOMIC = Mark({"x-kubernetes-list-type": "atomic"})
UNTYPED = Mark({"type": "object", "x-kubernetes-preserve-unknown-fields": True})


def keyed_by(*fields: str) -> Mark:
    """Mark a list as a map with these fields (as on the wire) for its key."""
    return Mark({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*fields]})


def checked_by(*rules: Rule) -> Mark:
    """Mark a field with rules that hold for its value."""
    return Mark({"x-kubernetes-validations": [rule.as_json() for rule in rules]})


def cel_rules(*rules: Rule) -> ConfigDict:
    """Return the configuration of a model whose objects must satisfy the rules."""
    return ConfigDict(
        json_schema_extra={"x-kubernetes-validations": [rule.as_json() for rule in rules]}
    )
