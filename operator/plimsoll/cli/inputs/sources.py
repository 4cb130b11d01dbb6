"""The cluster that files describe: what it holds, with and without what is applied to it.

Objects of kinds that no plan depends on are skipped and counted. With a Job that asks to be planned
comes the TrainingJob that the operator would create for it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.resource import Resource
from plimsoll.cli.inputs.entries import Entry, Key, entries, is_read
from plimsoll.cli.inputs.manifests import Manifest, Problem, Unknown, manifests
from plimsoll.cli.inputs.stand_ins import as_applied, pod_as_applied, stand_ins
from plimsoll.errors import BadInput
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reading, Workload, reading_of
from plimsoll.observe.measured.prices import NodePrices
from plimsoll.observe.observer import Objects
from plimsoll.observe.targets.claims import reference_of

T = TypeVar("T", bound=Resource | KubeObject)


@dataclass(frozen=True, slots=True)
class Described:
    """The objects in files; `ignored` counts objects of kinds that no plan depends on.

    `applied` are the jobs among those applied; `unknown` says of others why they are left out.
    """

    objects: Objects
    ignored: Mapping[str, int]
    applied: tuple[Key, ...] = ()
    unknown: tuple[str, ...] = ()


def described(
    cluster: Sequence[str], files: Sequence[str], now: datetime, *, may_be_empty: bool = False
) -> Described:
    """The cluster with the files applied to it.

    A cluster without nodes is taken for a mistake unless it `may_be_empty`. Raises BadInput with
    all problems.
    """
    return before_and_after(cluster, files, now, may_be_empty=may_be_empty)[1]


def before_and_after(
    cluster: Sequence[str],
    files: Sequence[str],
    now: datetime,
    *,
    live: Iterable[Entry | Manifest] = (),
    may_be_empty: bool = False,
) -> tuple[Described, Described]:
    """The cluster, from files or `live`, as it is, and with the files applied to it.

    Everything is read once. See `described` for the rest.
    """
    reading = _Reading(now)
    held = _applied({}, {**reading.take(live), **reading.read(cluster)})
    # For a Job that an API server holds, the operator has done what is to be done.
    held |= reading.stand_ins([each for each in held.values() if not each.manifest.is_live], held)
    reading.unknown.clear()
    applied = _applied(held, reading.read(files))
    applied |= reading.stand_ins(applied.values(), {**held, **applied})
    after = {**held, **applied}
    has_nodes = may_be_empty or any(isinstance(each.content, Node) for each in after.values())
    if not reading.problems and not has_nodes:
        reading.problems.append(_NO_NODES)
    jobs = tuple(key for key, each in applied.items() if isinstance(each.content, Job))
    if files and not jobs:
        reading.problems += reading.unknown
    if reading.problems:
        raise BadInput(reading.problems)
    return (
        Described(_objects(held), reading.ignored),
        Described(_objects(after), reading.ignored, jobs, tuple(reading.unknown)),
    )


_NO_NODES = (
    "there is no Node in the files: add the cluster's with --cluster, such as the output of"
    " kubectl get nodes -o yaml"
)


class _Reading:
    """Collects problems, so that the user sees all of them at once."""

    def __init__(self, now: datetime) -> None:
        self._now = now
        self.problems: list[str] = []
        self.unknown: list[str] = []
        self.ignored: Counter[str] = Counter()

    def read(self, paths: Iterable[str]) -> dict[Key, Entry]:
        """The objects in the files, each once."""
        found: dict[Key, Entry] = {}
        for path in paths:
            for manifest in manifests(path):
                for entry in self._entries(manifest):
                    first = found.setdefault(entry.key, entry)
                    if first.content != entry.content:
                        self.problems.append(str(_differs(first, entry)))
        return found

    def take(self, live: Iterable[Entry | Manifest]) -> dict[Key, Entry]:
        """The objects an API server has listed."""
        found: dict[Key, Entry] = {}
        for each in live:
            entries = (each,) if isinstance(each, Entry) else self._entries(each)
            found.update((entry.key, entry) for entry in entries)
        return found

    def stand_ins(self, given: Iterable[Entry], there: Mapping[Key, Entry]) -> dict[Key, Entry]:
        """What stands for the workloads among what is given, over what is there."""
        found: dict[Key, Entry] = {}
        for each in stand_ins(given, there, self._now):
            if isinstance(each, Entry):
                found[each.key] = each
            elif isinstance(each, Unknown):
                self.unknown.append(str(each))
            else:
                self.problems.append(str(each))
        return _applied(there, found)

    def _entries(self, manifest: Manifest | Problem) -> Iterable[Entry]:
        if isinstance(manifest, Manifest) and not is_read(manifest):
            self.ignored[manifest.kind] += 1
            return
        found = entries(manifest, self._now) if isinstance(manifest, Manifest) else (manifest,)
        for each in found:
            if isinstance(each, Entry):
                yield each
            else:
                self.problems.append(str(each))


def _differs(first: Entry, other: Entry) -> Problem:
    return other.manifest.problem(
        f"differs from the one in {first.manifest.origin}: remove one of them"
    )


def _applied(held: Mapping[Key, Entry], given: Mapping[Key, Entry]) -> dict[Key, Entry]:
    return {key: _over(held.get(key), entry) for key, entry in given.items()}


def _over(old: Entry | None, new: Entry) -> Entry:
    """The new entry; a hand-written one keeps the UID and status of the old one."""
    if new.manifest.is_live:
        return new
    if isinstance(new.content, WorkloadObject):
        there = old.content if old is not None else None
        there = there if isinstance(there, WorkloadObject) else None
        return Entry(new.key, new.manifest, as_applied(new.content, there))
    if isinstance(new.content, Pod):
        there = old.content if old is not None else None
        return Entry(new.key, new.manifest, pod_as_applied(new.content, there))
    if old is None or not isinstance(new.content, Resource):
        return new
    kept = {"metadata": old.content.metadata, "status": getattr(old.content, "status", None)}
    return Entry(new.key, new.manifest, new.content.model_copy(update=kept))


def _objects(entries: Mapping[Key, Entry]) -> Objects:
    contents = [each.content for each in entries.values()]
    return Objects(
        nodes=_of(contents, Node),
        pods=_of(contents, Pod),
        resources=[each for each in contents if isinstance(each, Resource)],
        priority_classes=_of(contents, PriorityClass),
        budgets=_of(contents, PodDisruptionBudget),
        namespaces=_of(contents, Namespace),
        volumes=_of(contents, PersistentVolume),
        targets=_targets(contents),
        workloads=_of(contents, WorkloadObject),
        node_claims=_of(contents, NodeClaim),
        prices=NodePrices(complete=False),
    )


def _targets(contents: Iterable[Resource | KubeObject]) -> list[Reading]:
    """The workloads that jobs target; one that was not given is reported as missing."""
    contents = list(contents)
    there = {each.reference: each for each in map(reading_of, _of(contents, Workload))}
    wanted = (reference_of(job) for job in _of(contents, InferenceJob))
    return [
        there.get(reference) or Reading(reference, problem=f"{reference} {_NOT_GIVEN}")
        for reference in wanted
        if reference is not None
    ]


_NOT_GIVEN = "was not given: add its manifest, or correct spec.targetRef"


def _of(contents: Iterable[Resource | KubeObject], kind: type[T]) -> list[T]:
    return [each for each in contents if isinstance(each, kind)]
