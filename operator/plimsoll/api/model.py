"""The base of all parts of the custom resources.

Python uses snake_case, the wire camelCase; values are frozen; a field's docstring becomes its
description in the CRD.
"""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel

from plimsoll.remembered import once_for_each


def _say_nothing_of_others(schema: dict[str, JsonValue]) -> None:
    del schema["additionalProperties"]


KEEPS_UNKNOWN: Final = ConfigDict(extra="allow", json_schema_extra=_say_nothing_of_others)
"""For statuses that are replaced as a whole: what a newer version wrote into one stays in it."""


def wire_name(field_name: str) -> str:
    """Return a field's name on the wire: camelCase, with an inner `GPU` in capitals."""
    return to_camel(field_name).replace("Gpu", "GPU")


class ApiModel(BaseModel):
    """A part of a custom resource.

    Unknown fields, as from a newer CRD, are ignored on reading, except with `KEEPS_UNKNOWN`.
    """

    model_config = ConfigDict(
        alias_generator=wire_name,
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    def wire(self) -> dict[str, JsonValue]:
        """Return the value as the API server takes it, without unset fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@once_for_each
def wire_of(value: ApiModel) -> Mapping[str, JsonValue]:
    """The same, for callers who only read it."""
    return value.wire()


@once_for_each
def status_wire_of(status: ApiModel) -> Mapping[str, JsonValue]:
    """A status as it is written: without fields that have nothing to say."""
    return {name: value for name, value in status.wire().items() if value not in ("", [])}
