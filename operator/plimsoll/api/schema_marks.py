"""What a CRD says of a field that pydantic has no word for.

Marks stand in a field's annotation; `cel_rules` stands in a model's configuration. Leaves out how
the schema is put together, which `crd_schema` does.
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
    """A CEL expression that must hold, and what a user reads when it does not."""

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
    """Keywords that are added to the JSON schema of the annotated field."""

    keywords: Mapping[str, JsonValue]

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Add the keywords beside what the field's type says."""
        return {**handler(core_schema), **self.keywords}


ATOMIC = Mark({"x-kubernetes-list-type": "atomic"})


@dataclass(frozen=True, slots=True)
class Distinct:
    """Marks a list in which no two objects agree in these fields, or no two values are the same.

    A `whole` list is one value to the API server, which does not merge it: whoever applies it owns
    all of it. Keeping an owner of each item would make a large object twice as large, and a rule
    over all pairs of items would cost more than that. So only the operator refuses duplicates.
    """

    fields: tuple[str, ...] = ()
    whole: bool = False

    def __get_pydantic_core_schema__(
        self,
        source: Any,  # noqa: ANN401 - the signature is pydantic's
        handler: GetCoreSchemaHandler,
    ) -> CoreSchema:
        """Refuse lists in which something stands twice."""
        return no_info_after_validator_function(self._without_duplicates, handler(source))

    def __get_pydantic_json_schema__(
        self, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Tell the API server so."""
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
            raise ValueError(f"duplicate value {twice!r}: leave one of them out")
        return items

    def _key(self, item: Any) -> Any:  # noqa: ANN401 - whatever the list holds
        return {name: getattr(item, name) for name in self.fields} if self.fields else item


SET = Distinct()


def keyed_by(*fields: str) -> Distinct:
    """Mark a list as a map with these fields for its key, whose names are one word each."""
    return Distinct(fields)


def whole_by(*fields: str) -> Distinct:
    """Mark a list as one value in which these fields, named by a word each, tell items apart."""
    return Distinct(fields, whole=True)


def checked(schema: Mapping[str, JsonValue], *rules: Rule) -> dict[str, JsonValue]:
    """Return the schema of a value that must satisfy the rules."""
    return {**schema, "x-kubernetes-validations": [rule.as_json() for rule in rules]}


def cel_rules(*rules: Rule) -> ConfigDict:
    """Return the configuration of a model whose objects must satisfy the rules."""
    return ConfigDict(json_schema_extra=checked({}, *rules))
