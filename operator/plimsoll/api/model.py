"""What all parts of our custom resources have in common.

Python reads snake_case, the wire camelCase; values are frozen; a field's docstring is its
description in the CRD.
"""

from pydantic import BaseModel, ConfigDict, JsonValue
from pydantic.alias_generators import to_camel


def wire_name(field_name: str) -> str:
    """Return a field's name on the wire: camelCase, with an inner `GPU` written as such."""
    return to_camel(field_name).replace("Gpu", "GPU")


class ApiModel(BaseModel):
    """A part of a custom resource.

    Fields that a newer CRD knows and this version does not are ignored on reading.
    """

    model_config = ConfigDict(
        alias_generator=wire_name,
        frozen=True,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    def wire(self) -> dict[str, JsonValue]:
        """Return the value as the API server takes it; fields without a value are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
