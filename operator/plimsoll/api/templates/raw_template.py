"""Checks on a raw pod template before anything reads it: its depth, and Kubernetes' own schema.

An API server checks the same through the CRD, but not what was stored before the CRD had the rule.
"""

from itertools import islice
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from plimsoll.api.templates.kubernetes_schema import kubernetes_schema
from plimsoll.api.templates.misfits import Misfit, misfits
from plimsoll.api.values.json_tree import is_deeper_than, without_nulls

_TYPE: Final = "PodTemplateSpec"
_DEEPEST: Final = 64
"""Kubernetes' own fields are at most 14 levels deep."""
_MOST_REPORTED: Final = 100


def readable(template: Any) -> Any:  # noqa: ANN401 - whatever a user wrote
    """Return a template without nulls. Raises ValueError, or ValidationError with the paths."""
    if is_deeper_than(_DEEPEST, template):
        raise ValueError(
            f"is nested more than {_DEEPEST} levels deep: remove what Kubernetes does not read"
        )
    plain = without_nulls(template)
    wrong = list(islice(misfits(plain, kubernetes_schema(_TYPE)), _MOST_REPORTED))
    if wrong:
        raise ValidationError.from_exception_data(_TYPE, [_detail(each) for each in wrong])
    return plain


def _detail(misfit: Misfit) -> InitErrorDetails:
    wanted = PydanticCustomError("misfit", "{wanted}", {"wanted": misfit.wanted})
    return InitErrorDetails(type=wanted, loc=misfit.path, input=misfit.found)
