"""What could not be carried over: one line for each object and field, with the remedy."""

from dataclasses import dataclass

from plimsoll.cli.kueue.objects import KueueObject
from plimsoll.naming import one_line


@dataclass(frozen=True, slots=True)
class Note:
    """What is not carried over of an object's field, or why, and what to do."""

    subject: str
    what: str

    def __str__(self) -> str:
        return one_line(f"{self.subject}: {self.what}")


def note(of: KueueObject, what: str) -> Note:
    """A note on an object."""
    return Note(title(of), what)


def title(of: KueueObject) -> str:
    """The kind of an object and its name, with its namespace if it has one."""
    meta = of.metadata
    return f"{type(of).__name__} {f'{meta.namespace}/' if meta.namespace else ''}{meta.name}"
