"""CRD schema keywords that pydantic has no equivalent for.

Marks go into a field's annotation, `cel_rules` into a model's configuration. `crd_schema` assembles
the schema.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function


@dataclass(frozen=True, slots=True)
class Rule:
    """A CEL expression that must hold, and the message shown when it does not."""

    expression: str
    message: str
    field: str = ""

    def require(self, *, holds: bool) -> None:
        """Raise ValueError with the rule's message unless it holds."""
        if not holds:
            raise ValueError(f"{self.field.lstrip('.')} {self.message}".strip())

    def as_json(self) -> dict[str, JsonValue]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry: dict[str, JsonValue] = {"rule": self.expression, "message": self.message}
        return entry | ({"fieldPath": self.field} if self.field else {})


@dataclass(frozen=True, slots=True, eq=False)
class Mark:
    """Keywords added to the JSON schema of the annotated field."""

    keywords: Mapping[str, JsonValue]

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the keywords to those of the field's type."""
        return {**handler(core_schema), **self.keywords}


ATOMIC = Mark({"x-kubernetes-list-type": "atomic"})


@dataclass(frozen=True, slots=True)
class Distinct:
    """Marks a list in which no two objects agree in these fields, or no two values are equal.

    A `whole` list is a single value to the API server, which does not merge it: whoever applies it
    owns all of it. Tracking an owner of each item would double the size of a large object, and a
    rule over all pairs of items would cost even more. So only the operator refuses duplicates.
    """

    fields: tuple[str, ...] = ()
    whole: bool = False

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - the signature is pydantic's
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Refuse lists with duplicates."""
        return no_info_after_validator_function(self._without_duplicates, handler(source))

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the list type for the API server."""
        if not self.fields:
            return handler(core_schema) | {"x-kubernetes-list-type": "set"}
        if self.whole:
            return {**handler(core_schema), **ATOMIC.keywords}
        keys = {"x-kubernetes-list-map-keys": [*self.fields]}
        return handler(core_schema) | {"x-kubernetes-list-type": "map"} | keys

    def _without_duplicates(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        keys = [self._key(item) for item in items]
        twice = next((key for key in keys if keys.count(key) > 1), None)
        if twice is not None:
            raise ValueError(f"duplicate value {twice!r}: remove one of them")
        return items

    def _key(self, item: Any) -> Any:  # noqa: ANN401 - whatever the list holds
        return {name: getattr(item, name) for name in self.fields} if self.fields else item


SET = Distinct()


def keyed_by(*fields: str) -> Distinct:
    """Mark a list as a map keyed by these fields, whose names are one word each."""
    return Distinct(fields)


def whole_by(*fields: str) -> Distinct:
    """Mark a list as a single value whose items these fields, one word each, tell apart."""
    return Distinct(fields, whole=True)


def checked(schema: Mapping[str, JsonValue], *rules: Rule) -> dict[str, JsonValue]:
    """Return the schema of a value that must satisfy the rules."""
    return {**schema, "x-kubernetes-validations": [rule.as_json() for rule in rules]}


def cel_rules(*rules: Rule) -> ConfigDict:
    """Return the configuration of a model whose objects must satisfy the rules."""
    return ConfigDict(json_schema_extra=checked({}, *rules))
