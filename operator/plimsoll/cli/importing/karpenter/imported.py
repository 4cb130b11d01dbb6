"""Everything that Karpenter's NodePools become."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from plimsoll.cli.importing.given import Family, given
from plimsoll.cli.importing.imported import Document, Imported, valid
from plimsoll.cli.importing.karpenter.choices import Choice, capacity_types, choices, zones_of
from plimsoll.cli.importing.karpenter.gpu_pools import UNLIMITED, gpu_pool, most_nodes
from plimsoll.cli.importing.karpenter.machines import Machine, Machines
from plimsoll.cli.importing.karpenter.node_pools import (
    GROUP,
    INSTANCE_TYPE,
    KINDS,
    VERSIONS,
    NodePool,
    node_pool,
)
from plimsoll.cli.importing.notes import Note, note, title
from plimsoll.kube.objects.objects import Node
from plimsoll.naming import first_few

MOST: Final = 64
"""GPUPools of one NodePool: more are hardly meant."""
_WHOSE: Final = "Karpenter"
_KARPENTER: Final = Family(
    _WHOSE,
    GROUP,
    VERSIONS,
    KINDS,
    node_pool,
    core=("Node",),
    remedy="give Karpenter's NodePools with -f",
    state=frozenset({"NodeClaim", "NodeOverlay"}),
)
_USUAL_DELAY: Final = "0s"
_USUAL_BUDGET: Final = {"nodes": "10%"}


def of_node_pools(options: argparse.Namespace) -> Imported:
    """What the NodePools that the options name become. Raises BadInput."""
    read = given(_KARPENTER, options)
    nodes = [each for each in read.core if isinstance(each, Node)]
    said = {name: Machine(kind, count) for name, kind, count in options.gpu_type or ()}
    found = converted(read.theirs, nodes, said)
    return Imported(found.documents, (*read.notes, *found.notes), _WHOSE)


def converted(
    pools: Sequence[NodePool], nodes: Sequence[Node], said: Mapping[str, Machine]
) -> Imported:
    """What NodePools become; `said` are instance types' GPUs, as far as the user says."""
    machines = Machines(said, nodes)
    documents: list[Document] = []
    notes: list[Note] = []
    taken: set[str] = set()
    for pool in pools:
        those, unknown = machines.of(pool), machines.unknown(pool)
        made = [*choices(pool, those, taken)]
        if unknown:
            notes.append(_unknown(pool, unknown))
        elif not those:
            notes.append(_without_gpus(pool))
        if len(made) > MOST:
            notes.append(_too_many(pool, len(made)))
        elif made:
            taken |= {each.name for each in made}
            documents += [(f"{title(pool)}: {each.title}", gpu_pool(pool, each)) for each in made]
            notes += _notes(pool, made)
    kept, refused = valid(documents)
    return Imported(tuple(kept), (*notes, *refused), _WHOSE)


def _unknown(pool: NodePool, unknown: Sequence[str]) -> Note:
    names = first_few(unknown)
    return note(
        pool,
        f"spec.template.spec.requirements: nothing is known of the GPUs of {names}: say it with"
        f" --gpu-type {unknown[0]}=TYPE:COUNT, or leave it if it has none",
    )


def _without_gpus(pool: NodePool) -> Note:
    return note(
        pool,
        f"spec.template.spec.requirements: allow no {INSTANCE_TYPE} that is known to have GPUs:"
        " leave the pool to Karpenter if none has; else name them there",
    )


def _too_many(pool: NodePool, count: int) -> Note:
    return note(
        pool,
        f"spec.template.spec.requirements: allow {count} kinds of nodes by instance type, zone and"
        f" capacity type, and {MOST} at most are carried over: allow fewer",
    )


def _notes(pool: NodePool, made: Sequence[Choice]) -> Iterator[Note]:
    """What of a NodePool is not carried over, or has to be looked at."""
    if not capacity_types(pool):
        yield note(
            pool,
            "spec.template.spec.requirements: name no karpenter.sh/capacity-type: only on-demand"
            " nodes are bought: add spot to it if they may be",
        )
    if not zones_of(pool):
        yield note(
            pool,
            "spec.template.spec.requirements: name no topology.kubernetes.io/zone: what is short in"
            " one zone is taken to be short in all: name the zones",
        )
    if any(each.min_values is not None for each in pool.requirements):
        yield note(
            pool, "spec.template.spec.requirements: minValues: each GPUPool is of one kind: none"
        )
    yield from _limit_notes(pool, made)
    yield from _disruption_notes(pool)


def _limit_notes(pool: NodePool, made: Sequence[Choice]) -> Iterator[Note]:
    if any(most_nodes(pool, each.machine.gpus) is None for each in made):
        yield note(
            pool,
            f"spec.limits: limit neither nodes nor GPUs, and provisioning.max is {UNLIMITED} for"
            " now: write what you would have at most",
        )
    elif len(made) > 1:
        yield note(
            pool,
            f"spec.limits: each of the {len(made)} GPUPools may have as many nodes: lower their"
            " provisioning.max, or limit all by the PlacementPolicy's purchasing.mostPerHour",
        )
    if pool.spec.replicas:
        yield note(
            pool,
            f"spec.replicas: {pool.spec.replicas} nodes are not kept: set provisioning.min of a"
            " GPUPool",
        )


def _disruption_notes(pool: NodePool) -> Iterator[Note]:
    disruption = pool.spec.disruption
    if disruption.consolidate_after not in (None, _USUAL_DELAY):
        yield note(
            pool,
            f"spec.disruption.consolidateAfter: {disruption.consolidate_after}: idle nodes go by"
            " their price and start time: set provisioning.idleTime if it must be this",
        )
    if any(each != _USUAL_BUDGET for each in disruption.budgets):
        yield note(
            pool,
            "spec.disruption.budgets: hold for the NodePool's own nodes: limit moves by the"
            " PlacementPolicy's disruptionBudgets",
        )
    if pool.spec.weight:
        yield note(
            pool, "spec.weight: plans choose by price and by what jobs do on each type: none needed"
        )
