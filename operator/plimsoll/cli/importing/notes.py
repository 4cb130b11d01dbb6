"""What could not be carried over: one line for each object and field, with the remedy."""

from dataclasses import dataclass
from typing import Protocol

from plimsoll.kube.objects.objects import ObjectMeta
from plimsoll.naming import one_line


class Named(Protocol):
    """An object of Kubernetes, whose class is called as its kind is."""

    @property
    def metadata(self) -> ObjectMeta:
        """Its name."""
        ...


@dataclass(frozen=True, slots=True)
class Note:
    """What is not carried over of an object's field, or why, and what to do."""

    subject: str
    what: str

    def __str__(self) -> str:
        return one_line(f"{self.subject}: {self.what}")


def note(of: Named, what: str) -> Note:
    """A note on an object."""
    return Note(title(of), what)


def title(of: Named) -> str:
    """The kind of an object and its name, with its namespace if it has one."""
    meta = of.metadata
    return f"{type(of).__name__} {f'{meta.namespace}/' if meta.namespace else ''}{meta.name}"
