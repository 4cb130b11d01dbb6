"""Everything that Kueue's objects become."""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from plimsoll.cli.importing.imported import Document, Imported, valid
from plimsoll.cli.importing.kueue.capacity import Key, quotas_of, shares, with_gpus
from plimsoll.cli.importing.kueue.given import Given, given
from plimsoll.cli.importing.kueue.gpu_types import Counted, GpuTypes
from plimsoll.cli.importing.kueue.objects import ClusterQueue, LocalQueue
from plimsoll.cli.importing.kueue.policies import local_queue_notes, policy_notes
from plimsoll.cli.importing.kueue.pools import gpu_pool, overlap_notes, pool_notes
from plimsoll.cli.importing.kueue.priorities import priority_class, priority_note
from plimsoll.cli.importing.kueue.queues import access_notes, job_queue, weights
from plimsoll.cli.importing.kueue.tree import Member, tree
from plimsoll.cli.importing.notes import Note, note, title
from plimsoll.observe.nodes.gpus import is_gpu_resource

_WHOSE: Final = "Kueue"


def of_queues(options: argparse.Namespace) -> Imported:
    """What the objects that the options name become. Raises BadInput."""
    objects, notes = given(options)
    found = converted(objects, dict(options.gpu_type or ()))
    return Imported(found.documents, (*notes, *found.notes), _WHOSE)


def converted(objects: Given, gpu_types: Mapping[str, str]) -> Imported:
    """What Kueue's objects become; `gpu_types` are those of flavors, as far as the user says."""
    trunk = tree(objects)
    members = with_gpus(trunk.members)
    uses = sorted({key for member in members for key, _ in quotas_of(member)})
    types = GpuTypes(gpu_types, objects.nodes)
    counted = {key: _counted(key, objects, types) for key in uses if is_gpu_resource(key[1])}
    queues, queue_notes = _queues(objects, members, counted)
    queue_notes = [*_without_gpus(trunk.members, members), *queue_notes]
    pools, of_pools = _pools(objects, counted)
    classes, of_classes = _classes(objects)
    said = (*trunk.notes, *queue_notes, *of_pools, *of_classes)
    kept, refused = valid([*pools, *classes, *queues])
    return Imported(tuple(kept), (*said, *refused), _WHOSE)


def _without_gpus(members: Sequence[Member], planned: Sequence[Member]) -> Iterator[Note]:
    kept = {each.name for each in planned}
    for member in members:
        if member.source is not None and member.name not in kept:
            text = "spec.resourceGroups: have no GPUs, and JobQueues have nothing else: leave"
            yield note(member.source, f"{text} its jobs to Kueue")


def _counted(key: Key, objects: Given, types: GpuTypes) -> Counted:
    flavor = objects.flavors.get(key[0])
    if flavor is None:
        # Kueue admits nothing to such a queue either.
        return Counted()
    return types.of(key[0], flavor.spec.node_labels, key[1])


def _queues(
    objects: Given, members: Sequence[Member], counted: Mapping[Key, Counted]
) -> tuple[list[Document], list[Note]]:
    users: defaultdict[str, list[LocalQueue]] = defaultdict(list)
    notes: list[Note] = []
    planned = {each.name for each in members}
    for each in objects.local_queues:
        users[each.spec.cluster_queue].append(each)
        if (
            each.spec.cluster_queue in planned
            or each.spec.cluster_queue not in objects.cluster_queues
        ):
            notes += local_queue_notes(each, objects.cluster_queues)
    weight, of_weights = weights(members)
    notes += of_weights
    share = shares(members, counted)
    documents: list[Document] = []
    for member in members:
        is_queue = isinstance(member.source, ClusterQueue)
        those = users[member.name] if is_queue else []
        keys = (key for key, _ in quotas_of(member))
        is_closed = any(key in counted and not counted[key].types for key in keys)
        raw = job_queue(member, share, weight[member.name], those, is_closed=is_closed)
        documents.append((_comment(member, those), raw))
        notes += _member_notes(member, objects, counted, those)
    return documents, notes


def _comment(member: Member, users: Sequence[LocalQueue]) -> str:
    """Where a JobQueue comes from, and for which LocalQueues' jobs it is."""
    if member.source is None:
        return f"Cohort {member.name}, which exists only by name"
    named = ", ".join(f"{each.metadata.namespace}/{each.metadata.name}" for each in users)
    return f"{title(member.source)}{f', for jobs of LocalQueue {named}' if named else ''}"


def _member_notes(
    member: Member, objects: Given, counted: Mapping[Key, Counted], users: Sequence[LocalQueue]
) -> Iterator[Note]:
    source = member.source
    if source is None:
        return
    keys = [key for key, _ in quotas_of(member)]
    others = sorted({resource for _, resource in keys if not is_gpu_resource(resource)})
    if others:
        yield note(
            source,
            f"spec.resourceGroups: {', '.join(others)}: JobQueues count GPUs only: limit these by"
            " a ResourceQuota in each namespace",
        )
    for flavor in sorted({flavor for flavor, resource in keys if is_gpu_resource(resource)}):
        if flavor not in objects.flavors:
            text = f"there is no ResourceFlavor {flavor}, and maxJobs is 0 for now: add it"
            yield note(source, f"spec.resourceGroups: {text}")
    lent = {key[0] for key, quota in quotas_of(member) if quota.lending_limit is not None}
    for flavor in sorted(lent & {key[0] for key in keys if key in counted}):
        yield note(
            source,
            f"spec.resourceGroups: lendingLimit of {flavor}: lowers each other queue's limit, but"
            " several together may still borrow what is idle: it comes back when needed",
        )
    yield from _same_type_notes(member, counted)
    if isinstance(source, ClusterQueue):
        yield from access_notes(source, users)
        yield from policy_notes(source, len({key[0] for key in keys if key in counted}))


def _same_type_notes(member: Member, counted: Mapping[Key, Counted]) -> Iterator[Note]:
    """Flavors of one GPU type, whose quotas are added up."""
    flavors: defaultdict[str, set[str]] = defaultdict(set)
    for key, _ in quotas_of(member):
        for kind in counted[key].types if key in counted else ():
            flavors[kind].add(key[0])
    for kind, names in sorted(flavors.items()):
        if len(names) > 1 and member.source is not None:
            yield note(
                member.source,
                f"spec.resourceGroups: flavors {', '.join(sorted(names))} are all {kind}, and their"
                " quotas are added up: name the pools' types apart with --gpu-type, if they must"
                " not be",
            )


def _pools(objects: Given, counted: Mapping[Key, Counted]) -> tuple[list[Document], list[Note]]:
    documents: list[Document] = []
    notes: list[Note] = []
    of_flavor = {key[0]: each for key, each in sorted(counted.items(), reverse=True)}
    made = [each for name, each in objects.flavors.items() if name in of_flavor]
    for flavor in made:
        each = of_flavor[flavor.metadata.name]
        notes += pool_notes(flavor, each, objects.topologies)
        if flavor.spec.node_labels and len(each.types) <= 1:
            topology = objects.topologies.get(flavor.spec.topology_name)
            documents.append((title(flavor), gpu_pool(flavor, each, topology)))
    notes += overlap_notes(made)
    used = {each.spec.topology_name for each in made}
    for name, topology in objects.topologies.items():
        if name not in used:
            text = "spec.levels: no ResourceFlavor with GPUs names it: write its levels into"
            notes.append(note(topology, f"{text} topologyKeys of a GPUPool if jobs need them"))
    return documents, notes


def _classes(objects: Given) -> tuple[list[Document], list[Note]]:
    notes = {
        each.metadata.name: priority_note(each, objects.priority_classes)
        for each in objects.priorities
    }
    made = [
        (title(each), priority_class(each))
        for each in objects.priorities
        if notes[each.metadata.name] is None and each.metadata.name not in objects.priority_classes
    ]
    return made, [each for each in notes.values() if each is not None]
