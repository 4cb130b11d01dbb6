"""The definition of a kind apart from its schema: names, printer columns and `/scale`."""

from dataclasses import dataclass
from typing import Final, Literal

GROUP: Final = "plimsoll.dev"
VERSION: Final = "v1alpha1"
API_VERSION: Final = f"{GROUP}/{VERSION}"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of `kubectl get`; a priority above 0 requires `-o wide`."""

    name: str
    path: str
    type: Literal["string", "integer", "number", "date"] = "string"
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Scale:
    """The paths that the `/scale` subresource reads and writes."""

    spec_path: str
    status_path: str
    selector_path: str


@dataclass(frozen=True, slots=True)
class Definition:
    """Everything in a kind's CRD except its schema."""

    kind: str
    plural: str
    short_name: str
    columns: tuple[Column, ...]
    namespaced: bool = False
    categories: tuple[str, ...] = ("plimsoll",)
    scale: Scale | None = None
    selectable: tuple[str, ...] = ()
    """Paths that field selectors may use."""

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition."""
        return f"{self.plural}.{GROUP}"


AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
