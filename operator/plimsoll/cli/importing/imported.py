"""Manifests made of others' objects, as YAML that `kubectl apply` takes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import yaml
from pydantic import ValidationError

from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.refusal_text import refusals
from plimsoll.cli.importing.notes import Note
from plimsoll.naming import one_line

Raw = dict[str, Any]
Document = tuple[str, Raw]
"""A manifest, and what it was made from."""
_LEFT: Final = "Not carried over, one a line: object: field: why, and what to do"
_ALL: Final = "Everything was carried over."


@dataclass(frozen=True, slots=True)
class Imported:
    """Manifests, each with a comment, what was not carried over, and whose objects they were."""

    documents: tuple[Document, ...]
    notes: tuple[Note, ...]
    whose: str = ""

    @property
    def text(self) -> str:
        """As YAML, with the notes at its head."""
        made = f"Made from {self.whose}'s objects by: plimsoll import {self.whose.lower()}"
        head = [made, "", *([_LEFT, *map(str, self.notes)] if self.notes else [_ALL])]
        parts = ["".join(f"# {line}".rstrip() + "\n" for line in head)]
        for comment, raw in self.documents:
            parts += ["---\n", f"# {comment}\n" if comment else "", _yaml(raw)]
        return "".join(parts)


def valid(documents: Iterable[Document]) -> tuple[list[Document], list[Note]]:
    """The manifests that the API accepts, and why others are left out."""
    kept: list[Document] = []
    notes: list[Note] = []
    for comment, raw in documents:
        kind = KIND_BY_NAME.get(raw["kind"])
        try:
            if kind is not None:
                kind.model_validate(raw)
        except ValidationError as error:
            name = f"{raw['kind']} {raw['metadata']['name']}"
            notes += [Note(name, f"left out: {each}") for each in refusals(error)]
        else:
            kept.append((one_line(f"From {comment}"), raw))
    return kept, notes


def _yaml(raw: Raw) -> str:
    return yaml.safe_dump(raw, sort_keys=False, width=100)
