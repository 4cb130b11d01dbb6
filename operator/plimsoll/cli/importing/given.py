"""Read others' objects from files or a running cluster; one that is malformed costs itself."""

import argparse
import asyncio
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import msgspec

from plimsoll.cli.cluster.refusals import explained
from plimsoll.cli.importing.notes import Named, Note
from plimsoll.cli.inputs.core_objects import core_object
from plimsoll.cli.inputs.entries import pruned
from plimsoll.cli.inputs.manifests import Manifest, Origin, manifests
from plimsoll.errors import BadInput, InvalidQuantity, NotFound
from plimsoll.kube.http.configured import configured
from plimsoll.kube.http.resources import NODES, PRIORITY_CLASSES, Resource
from plimsoll.kube.objects.objects import KubeObject, Node, PriorityClass
from plimsoll.kube.watching.group_listing import Group, listed

T = TypeVar("T", bound=Named)

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_ELSE: Final = "or read files with -f"
_CORE_GROUPS: Final = ("", "scheduling.k8s.io")
_RESOURCES: Final[Mapping[str, Resource]] = {"Node": NODES, "PriorityClass": PRIORITY_CLASSES}
_CORE: Final[Mapping[str, type[KubeObject]]] = {"Node": Node, "PriorityClass": PriorityClass}


@dataclass(frozen=True, slots=True)
class Family(Generic[T]):
    """What is read of somebody's objects.

    `owner` made the kinds. `state` are those that it keeps for itself, rather than what a user has
    set up. `core` are Kubernetes' own that are read as well. `decoded` raises
    msgspec.ValidationError, which names the field. `remedy` says what to give if there is none.
    """

    owner: str
    group: str
    versions: Sequence[str]
    kinds: Mapping[str, type[T]]
    decoded: Callable[[type[T], Mapping[str, Any]], T]
    core: Sequence[str]
    remedy: str
    state: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Given(Generic[T]):
    """The objects by namespace and name, Kubernetes' own, and why others are left out."""

    theirs: tuple[T, ...]
    core: tuple[KubeObject, ...]
    notes: tuple[Note, ...]


def given(family: Family[T], options: argparse.Namespace) -> Given[T]:
    """The objects that the options name, and why others are left out. Raises BadInput."""
    found, notes = _from_files(options.filename) if options.filename else _live(family, options)
    theirs, core = _Read[T](notes), _Read[KubeObject](notes)
    for manifest in found:
        try:
            if (own := _own(family, manifest)) is not None:
                theirs.add(manifest, own)
            elif (other := _other(family, manifest)) is not None:
                core.add(manifest, other)
        except _LeftOutError as error:
            notes.append(_left_out(manifest, str(error)))
    if not notes and not theirs.objects:
        raise BadInput([f"there is no object of {family.group}: {family.remedy}"])
    return Given(theirs.sorted(), core.sorted(), tuple(notes))


def is_name(text: str) -> bool:
    """Whether the API server takes it as an object's name."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


class _LeftOutError(Exception):
    """Why an object is left out."""


U = TypeVar("U", bound=Named)


class _Read(Generic[U]):
    """Objects, each of which may be given more than once, if it is the same."""

    def __init__(self, notes: list[Note]) -> None:
        self.objects: dict[tuple[str, str, str], tuple[Manifest, U]] = {}
        self._notes = notes

    def add(self, manifest: Manifest, each: U) -> None:
        key = (type(each).__name__, each.metadata.namespace, each.metadata.name)
        first, before = self.objects.setdefault(key, (manifest, each))
        if before != each:
            what = f"differs from the one in {first.origin}: remove one"
            self._notes.append(_left_out(manifest, what))

    def sorted(self) -> tuple[U, ...]:
        found = (each for _, each in self.objects.values())
        return tuple(sorted(found, key=lambda each: (each.metadata.namespace, each.metadata.name)))


def _left_out(manifest: Manifest, why: str) -> Note:
    return Note(f"{manifest} ({manifest.origin})", f"left out: {why}")


def _from_files(paths: Iterable[str]) -> tuple[list[Manifest], list[Note]]:
    """The manifests in files; a file that cannot be read at all is an error. Raises BadInput."""
    found: list[Manifest] = []
    notes: list[Note] = []
    unreadable: list[str] = []
    for path in paths:
        for each in manifests(path):
            if isinstance(each, Manifest):
                found.append(each)
            elif each.where.document or each.where.item:
                notes.append(Note(str(each.where), f"left out: {each.what}"))
            else:
                unreadable.append(str(each))
    if unreadable:
        raise BadInput(unreadable)
    return found, notes


def _live(family: Family[T], options: argparse.Namespace) -> tuple[list[Manifest], list[Note]]:
    """What the cluster of the kubeconfig has. Raises BadInput."""
    group = Group(family.group, family.versions, tuple(family.kinds))
    core = {kind: _RESOURCES[kind] for kind in family.core}
    with explained(_ELSE):
        server = configured(options.kubeconfig, options.context)
        try:
            listing = asyncio.run(listed(server, group, core))
        except NotFound as error:
            versions = " or ".join(family.versions)
            said = f"the cluster has no {family.owner} of {family.group}/{versions}"
            remedy = f"choose another with --context, {_ELSE}"
            raise BadInput([f"{said}: {error.message}: {remedy}"]) from error
    origin = Origin(server.server)
    missing = [Note(*each.split(": ", 1)) for each in listing.missing]
    return [Manifest(origin, raw) for raw in listing.manifests], missing


def _own(family: Family[T], manifest: Manifest) -> T | None:
    """The object; None if it is not of these kinds. Raises _LeftOutError."""
    group, _, version = manifest.api_version.rpartition("/")
    if group != family.group or manifest.kind in family.state:
        return None
    _require_name(manifest)
    if manifest.kind not in family.kinds:
        raise _LeftOutError("Plimsoll has nothing like this kind")
    if version not in family.versions:
        versions = " or ".join(family.versions)
        raise _LeftOutError(f"apiVersion: must be {family.group}/{versions}")
    kind = family.kinds[manifest.kind]
    return _converted(lambda raw: family.decoded(kind, raw), manifest)


def _other(family: Family[T], manifest: Manifest) -> KubeObject | None:
    """One of Kubernetes' own; None if it is of no interest. Raises _LeftOutError."""
    group = manifest.api_version.rpartition("/")[0]
    if group not in _CORE_GROUPS or manifest.kind not in family.core:
        return None
    _require_name(manifest)
    kind = _CORE[manifest.kind]
    return _converted(lambda raw: core_object(kind, raw), manifest)


def _require_name(manifest: Manifest) -> None:
    name = manifest.metadata.get("name")
    if not isinstance(name, str) or not is_name(name):
        raise _LeftOutError("metadata.name: must be lower-case letters, digits, '-' and '.'")


def _converted(convert: Callable[[Mapping[str, Any]], U], manifest: Manifest) -> U:
    try:
        return convert(pruned(manifest.raw))
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        raise _LeftOutError(f"{path.rstrip('`') or 'object'}: {what}") from error
    except (InvalidQuantity, RecursionError) as error:
        raise _LeftOutError(str(error)) from error
