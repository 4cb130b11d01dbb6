"""A selector of objects by their labels, as Kubernetes writes it everywhere."""

from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC, Rule, cel_rules
from plimsoll.api.values.scalars import LabelKey

_COMPARING: Final = ("In", "NotIn")
_VALUES_TO_COMPARE: Final = Rule(
    "self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0"
    " : !has(self.values) || size(self.values) == 0",
    "must be there for In and NotIn, and left out for Exists and DoesNotExist",
    ".values",
)
_Value = Annotated[str, Field(max_length=63)]


class LabelRequirement(ApiModel):
    """A comparison with a label."""

    model_config = cel_rules(_VALUES_TO_COMPARE)

    key: LabelKey
    """The label's key."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared with the values."""
    values: Annotated[tuple[_Value, ...], Field(max_length=256), ATOMIC] = ()
    """What it is compared with."""

    @model_validator(mode="after")
    def _has_values_to_compare(self) -> Self:
        _VALUES_TO_COMPARE.require(holds=bool(self.values) == (self.operator in _COMPARING))
        return self


class LabelSelector(ApiModel):
    """Objects by their labels; all of it must hold. An empty one selects all."""

    match_labels: Annotated[dict[str, _Value], Field(max_length=64)] = Field(
        default_factory=dict[str, str]
    )
    """Labels and their values."""
    match_expressions: Annotated[tuple[LabelRequirement, ...], Field(max_length=64), ATOMIC] = ()
    """Comparisons with labels."""
