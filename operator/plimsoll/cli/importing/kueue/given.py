"""Read Kueue's objects from files or a running cluster."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from plimsoll.cli.importing import given as reading
from plimsoll.cli.importing.given import Family
from plimsoll.cli.importing.kueue.objects import (
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
from plimsoll.cli.importing.notes import Note
from plimsoll.kube.objects.objects import KubeObject, Node, PriorityClass

T = TypeVar("T", bound=KueueObject | KubeObject)

_KUEUE: Final = Family(
    "Kueue",
    GROUP,
    VERSIONS,
    KINDS,
    kueue_object,
    core=("Node", "PriorityClass"),
    remedy="give Kueue's queues and flavors with -f",
    state=frozenset({"Workload"}),
)


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


def given(options: argparse.Namespace) -> tuple[Given, tuple[Note, ...]]:
    """The objects that the options name, and why others are left out. Raises BadInput."""
    read = reading.given(_KUEUE, options)
    found: tuple[KueueObject | KubeObject, ...] = (*read.theirs, *read.core)

    def named(kind: type[T]) -> dict[str, T]:
        return {each.metadata.name: each for each in found if isinstance(each, kind)}

    objects = Given(
        cluster_queues=named(ClusterQueue),
        cohorts=named(Cohort),
        local_queues=[each for each in found if isinstance(each, LocalQueue)],
        flavors=named(ResourceFlavor),
        topologies=named(Topology),
        priorities=[*named(WorkloadPriorityClass).values()],
        nodes=[*named(Node).values()],
        priority_classes={name: each.value for name, each in named(PriorityClass).items()},
    )
    return objects, read.notes
