"""The root of every custom resource: its kind and metadata."""

from typing import ClassVar

from pydantic import Field

from plimsoll.api.definition import API_VERSION, Definition
from plimsoll.api.model import ApiModel
from plimsoll.api.values.scalars import Timestamp


class ObjectMeta(ApiModel):
    """The metadata that Plimsoll reads."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = Field(default_factory=dict[str, str])
    annotations: dict[str, str] = Field(default_factory=dict[str, str])


class Resource(ApiModel):
    """A custom resource; each kind adds its spec and status."""

    definition: ClassVar[Definition]

    api_version: str = API_VERSION
    metadata: ObjectMeta
