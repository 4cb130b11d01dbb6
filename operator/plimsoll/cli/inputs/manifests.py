"""Read manifests from files: folders, multi-document YAML, JSON, lists, standard input.

What an object contains is not examined, only where it comes from.
"""

import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import msgspec
import yaml

STDIN = "-"
Raw = Mapping[str, Any]
_SUFFIXES = (".yaml", ".yml", ".json")
_MERGE = "tag:yaml.org,2002:merge"
_TIMESTAMP = "tag:yaml.org,2002:timestamp"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a manifest was found; `document` and `item` count from 1, or are 0 for a single one."""

    file: str
    document: int = 0
    item: int = 0

    def __str__(self) -> str:
        parts = [self.file]
        parts += [f"document {self.document}"] if self.document else []
        parts += [f"item {self.item}"] if self.item else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as written."""

    origin: Origin
    raw: Raw

    @property
    def kind(self) -> str:
        """The object's kind."""
        return self.raw["kind"]

    @property
    def api_version(self) -> str:
        """The object's group and version."""
        return self.raw["apiVersion"]

    @property
    def metadata(self) -> Raw:
        """The object's metadata; empty if it has none."""
        metadata = self.raw.get("metadata")
        return cast("Raw", metadata) if isinstance(metadata, dict) else {}

    @property
    def is_live(self) -> bool:
        """Whether it comes from an API server, which gave it a UID."""
        return bool(self.metadata.get("uid"))

    def __str__(self) -> str:
        name = self.metadata.get("name")
        return f"{self.kind} {name}" if name else self.kind

    def problem(self, what: str) -> "Problem":
        """A problem with it."""
        return Problem(self.origin, f"{self}: {what}")


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with the user's input, where, and what to do about it."""

    where: Origin
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class Unknown(Problem):
    """What cannot be planned from files, though nothing is wrong with it."""


def manifests(path: str) -> Iterator[Manifest | Problem]:
    """All manifests of a file, of a folder and its subfolders, or of `-`, standard input."""
    if path == STDIN:
        yield from _manifests_of(sys.stdin.read(), Origin("standard input"))
        return
    files = list(_files(Path(path)))
    if not files:
        yield Problem(Origin(path), f"has no file that ends in {', '.join(_SUFFIXES)}")
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "is not text in UTF-8"
            yield Problem(Origin(str(file)), f"cannot be read: {reason}")
        else:
            yield from _manifests_of(text, Origin(str(file)))


def _files(path: Path) -> Iterable[Path]:
    if not path.is_dir():
        return (path,)
    return sorted(file for file in path.rglob("*") if file.suffix in _SUFFIXES and file.is_file())


def _manifests_of(text: str, origin: Origin) -> Iterator[Manifest | Problem]:
    try:
        documents = _documents(text)
    except yaml.YAMLError as error:
        yield Problem(origin, _said(error))
        return
    alone = len(documents) == 1
    for number, document in enumerate(documents, start=1):
        if document is not None:
            yield from _objects(document, origin if alone else replace(origin, document=number))


def _documents(text: str) -> list[Any]:
    """The documents of a text; empty ones are None, and count too."""
    if text.lstrip().startswith("{"):
        # YAML takes JSON too, but a hundred times slower.
        with suppress(msgspec.DecodeError):
            return [msgspec.json.decode(text)]
    return list(yaml.load_all(text, _Loader))


def _objects(raw: Any, origin: Origin) -> Iterator[Manifest | Problem]:  # noqa: ANN401 - anything
    """The object, or the items of a list."""
    if not isinstance(raw, dict):
        yield Problem(origin, "is not a Kubernetes object: it needs apiVersion, kind and metadata")
        return
    document = cast("dict[str, Any]", raw)
    for name in ("apiVersion", "kind"):
        if not isinstance(document.get(name), str):
            yield Problem(origin, f"{name} is required, such as {_EXAMPLE[name]}")
            return
    if document["kind"].endswith("List") and isinstance(document.get("items"), list):
        for number, item in enumerate(_items(document), start=1):
            yield from _objects(item, replace(origin, item=number))
    else:
        yield Manifest(origin, document)


_EXAMPLE = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "TrainingJob"}


def _items(document: Raw) -> Iterator[Any]:
    """The items of a list; those of a NodeList and the like may omit their kind."""
    kind = document["kind"].removesuffix("List")
    head = {"apiVersion": document["apiVersion"], "kind": kind} if kind else {}
    for item in document["items"]:
        yield {**head, **item} if isinstance(item, dict) else item


def _said(error: yaml.YAMLError) -> str:
    """Why a text is not YAML, with line and column."""
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return f"is not YAML: {error}"
    mark = error.problem_mark
    return f"is not YAML: line {mark.line + 1}, column {mark.column + 1}: {error.problem}"


class _Loader(yaml.CSafeLoader):
    """YAML as kubectl reads it: dates stay text, so do keys, and duplicate ones are errors."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own way to say it
        first: [each for each in resolvers if each[0] != _TIMESTAMP]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002 - the signature is PyYAML's
        """Read a mapping, unless it has a duplicate key or one that JSON cannot have."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in seen:
                problem = f"duplicate key {key.value}: remove one"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            seen.add(key.value)
        found = super().construct_mapping(node, deep)
        return {_key(key, node.start_mark): value for key, value in found.items()}


def _key(key: Hashable, mark: yaml.Mark | None) -> str:
    """A key as it is in JSON, for which numbers and truth values are written out."""
    match key:
        case str():
            return key
        case bool():
            return str(key).lower()
        case int():
            return str(key)
        case _:
            written = "null" if key is None else key
            problem = f"the key {written}: must be a text, such as '{written}'"
            raise yaml.constructor.ConstructorError(None, None, problem, mark)
