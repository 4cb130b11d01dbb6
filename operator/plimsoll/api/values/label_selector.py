"""A label selector, in the form that Kubernetes uses everywhere."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules
from plimsoll.api.values.scalars import LabelKey

_COMPARING: Final = ("In", "NotIn")
_VALUES_TO_COMPARE: Final = Rule(
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0"
    " : !has(self.values) || size(self.values) == 0",
    "must be set for In and NotIn, and omitted for Exists and DoesNotExist",
    ".values",
)
_Value = Annotated[str, Field(max_length=63)]


class LabelRequirement(ApiModel):
    """A requirement on a label."""

    model_config = cel_rules(_VALUES_TO_COMPARE)

    key: LabelKey
    """Label key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared with `values`."""
    values: Annotated[tuple[_Value, ...], Field(max_length=256), ATOMIC] = ()
    """Values to compare with."""

    @model_validator(mode="after")
    def _has_values_to_compare(self) -> Self:
        _VALUES_TO_COMPARE.require(holds=bool(self.values) == (self.operator in _COMPARING))
        return self


class LabelSelector(ApiModel):
    """Selects objects by their labels; all requirements must hold. An empty one selects all."""

    match_labels: Annotated[dict[str, _Value], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Required labels and their values."""
    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Requirements on labels."""
