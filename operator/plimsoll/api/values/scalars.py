"""The types of words, names and plain counts in the custom resources.

Each is a Python type that carries a schema for the CRD.
"""

from typing import Annotated, Final

from pydantic import AwareDatetime, Field, WithJsonSchema

from plimsoll.api.schema_marks import Rule, checked

LABEL_VALUE_PATTERN: Final = "^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
_LABEL_KEY: Final = (
    "^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$"
)
_RESOURCE_NAME: Final = "^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"
_KIND: Final = "^[A-Za-z]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?$"
_API_VERSION: Final = (
    "^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?([.][a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*/)?"
    "[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
)
_SHORT_NAME: Final = "^[a-z]([-a-z0-9]{0,28}[a-z0-9])?$"


def _text(pattern: str, longest: int, message: str) -> WithJsonSchema:
    """Return the schema of a string with a rule that it matches the pattern."""
    rule = Rule(f"self.matches('{pattern}')", message)
    return WithJsonSchema(checked({"type": "string", "maxLength": longest}, rule))


Timestamp = AwareDatetime
"""A point in time, RFC 3339."""

Percent = Annotated[int, Field(ge=0, le=100)]
MOST_COUNTED: Final = 2**31 - 1
Count = Annotated[int, Field(ge=0, le=MOST_COUNTED)]
MOST_WATTS: Final = 1_000_000_000
Watts = Annotated[int, Field(ge=0, le=MOST_WATTS)]

LabelValue = Annotated[
    str,
    Field(pattern=LABEL_VALUE_PATTERN),
    _text(
        LABEL_VALUE_PATTERN,
        63,
        "must be a node label value, such as NVIDIA-H100-80GB-HBM3: letters, digits, '-',"
        " '_' and '.'",
    ),
]
"""The value of a node label, such as a GPU type."""

LabelKey = Annotated[
    str,
    Field(pattern=_LABEL_KEY),
    _text(_LABEL_KEY, 317, "must be a node label key, such as topology.kubernetes.io/zone"),
]
"""The key of a node label, or a short name for one."""

ResourceName = Annotated[
    str,
    Field(pattern=_RESOURCE_NAME),
    _text(
        _RESOURCE_NAME,
        253,
        "must be an object name of lower-case letters, digits, '-' and '.'",
    ),
]
"""The name of another Kubernetes object."""

ShortName = Annotated[
    str,
    Field(pattern=_SHORT_NAME),
    _text(
        _SHORT_NAME,
        30,
        "must be at most 30 lower-case letters, digits and '-', and start with a letter",
    ),
]
"""A name that becomes part of pod names, or that people often type."""

ApiVersion = Annotated[
    str,
    Field(pattern=_API_VERSION, max_length=317),
    _text(_API_VERSION, 317, "must be an API version, such as apps/v1"),
]
"""An API group and its version; the version alone for the core group."""

KindName = Annotated[
    str,
    Field(pattern=_KIND),
    _text(_KIND, 63, "must be a kind, such as Deployment"),
]
"""The kind of an object, as in manifests."""

PromQL = Annotated[str, Field(min_length=1, max_length=2048)]
Message = Annotated[str, Field(max_length=4096)]
Word = Annotated[str, Field(max_length=253)]
"""A short text in a status."""
