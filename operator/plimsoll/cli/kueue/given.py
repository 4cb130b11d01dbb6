"""Read Kueue's objects from files or a running cluster; one that is malformed costs itself."""

import argparse
import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

import msgspec

from plimsoll.cli.cluster.refusals import explained
from plimsoll.cli.inputs.core_objects import core_object
from plimsoll.cli.inputs.entries import pruned
from plimsoll.cli.inputs.manifests import Manifest, Origin, manifests
from plimsoll.cli.kueue.notes import Note
from plimsoll.cli.kueue.objects import (
    GROUP,
    KINDS,
    VERSIONS,
    ClusterQueue,
    Cohort,
    KueueObject,
    LocalQueue,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
    kueue_object,
)
from plimsoll.errors import BadInput, InvalidQuantity, NotFound
from plimsoll.kube.http.configured import configured
from plimsoll.kube.objects.objects import KubeObject, Node, PriorityClass
from plimsoll.kube.watching.kueue_listing import listed_kueue

T = TypeVar("T", bound=KueueObject | KubeObject)

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME: Final = 253
_ELSE: Final = "or read files with -f"
_OTHERS: Final[Mapping[str, type[KubeObject]]] = {"Node": Node, "PriorityClass": PriorityClass}
_STATE: Final = frozenset({"Workload"})
"""What Kueue keeps for itself, rather than what a user has set up."""


@dataclass(frozen=True, slots=True)
class Given:
    """Kueue's objects by name, the nodes that are known, and the PriorityClasses that exist."""

    cluster_queues: Mapping[str, ClusterQueue] = field(default_factory=dict[str, ClusterQueue])
    cohorts: Mapping[str, Cohort] = field(default_factory=dict[str, Cohort])
    local_queues: Sequence[LocalQueue] = ()
    flavors: Mapping[str, ResourceFlavor] = field(default_factory=dict[str, ResourceFlavor])
    topologies: Mapping[str, Topology] = field(default_factory=dict[str, Topology])
    priorities: Sequence[WorkloadPriorityClass] = ()
    nodes: Sequence[Node] = ()
    priority_classes: Mapping[str, int] = field(default_factory=dict[str, int])


def given(options: argparse.Namespace) -> tuple[Given, list[Note]]:
    """The objects that the options name, and why others are left out. Raises BadInput."""
    found, notes = _from_files(options.filename) if options.filename else _live(options)
    objects: dict[tuple[str, str, str], tuple[Manifest, KueueObject | KubeObject]] = {}
    for manifest in found:
        try:
            each = _read(manifest)
        except _LeftOutError as error:
            notes.append(_left_out(manifest, str(error)))
            continue
        if each is None:
            continue
        key = (type(each).__name__, each.metadata.namespace, each.metadata.name)
        first, before = objects.setdefault(key, (manifest, each))
        if before != each:
            notes.append(_left_out(manifest, f"differs from the one in {first.origin}: remove one"))
    known = _sorted(each for _, each in objects.values())
    if not notes and not any(isinstance(each, KueueObject) for _, each in objects.values()):
        raise BadInput([f"there is no object of {GROUP}: give Kueue's queues and flavors with -f"])
    return known, notes


def is_name(text: str) -> bool:
    """Whether the API server takes it as an object's name."""
    return len(text) <= _LONGEST_NAME and _NAME.fullmatch(text) is not None


class _LeftOutError(Exception):
    """Why an object is left out."""


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


def _live(options: argparse.Namespace) -> tuple[list[Manifest], list[Note]]:
    """What the cluster of the kubeconfig has. Raises BadInput."""
    with explained(_ELSE):
        server = configured(options.kubeconfig, options.context)
        try:
            listing = asyncio.run(listed_kueue(server, GROUP, VERSIONS, tuple(KINDS)))
        except NotFound as error:
            said = f"the cluster has no Kueue of {GROUP}/{' or '.join(VERSIONS)}: {error.message}"
            raise BadInput([f"{said}: choose another with --context, {_ELSE}"]) from error
    origin = Origin(server.server)
    missing = [Note(*each.split(": ", 1)) for each in listing.missing]
    return [Manifest(origin, raw) for raw in listing.manifests], missing


def _read(manifest: Manifest) -> KueueObject | KubeObject | None:
    """The object; None if it is of no interest. Raises _LeftOutError."""
    group, _, version = manifest.api_version.rpartition("/")
    core = _OTHERS.get(manifest.kind) if group in ("", "scheduling.k8s.io") else None
    if group != GROUP and core is None:
        return None
    if group == GROUP and manifest.kind in _STATE:
        return None
    name = manifest.metadata.get("name")
    if not isinstance(name, str) or not is_name(name):
        raise _LeftOutError("metadata.name: must be lower-case letters, digits, '-' and '.'")
    if core is None and manifest.kind not in KINDS:
        raise _LeftOutError("Plimsoll has nothing like this kind")
    if core is None and version not in VERSIONS:
        raise _LeftOutError(f"apiVersion: must be {GROUP}/{' or '.join(VERSIONS)}")
    return _decoded(manifest, core)


def _decoded(manifest: Manifest, core: type[KubeObject] | None) -> KueueObject | KubeObject:
    raw = pruned(manifest.raw)
    try:
        return core_object(core, raw) if core else kueue_object(KINDS[manifest.kind], raw)
    except msgspec.ValidationError as error:
        what, _, path = str(error).partition(" - at `$.")
        raise _LeftOutError(f"{path.rstrip('`') or 'object'}: {what}") from error
    except (InvalidQuantity, RecursionError) as error:
        raise _LeftOutError(str(error)) from error


def _sorted(objects: Iterable[KueueObject | KubeObject]) -> Given:
    found = sorted(objects, key=lambda each: (each.metadata.namespace, each.metadata.name))

    def named(kind: type[T]) -> dict[str, T]:
        return {each.metadata.name: each for each in found if isinstance(each, kind)}

    return Given(
        cluster_queues=named(ClusterQueue),
        cohorts=named(Cohort),
        local_queues=[each for each in found if isinstance(each, LocalQueue)],
        flavors=named(ResourceFlavor),
        topologies=named(Topology),
        priorities=[*named(WorkloadPriorityClass).values()],
        nodes=[*named(Node).values()],
        priority_classes={name: each.value for name, each in named(PriorityClass).items()},
    )
