"""Make room for a pod that fits nowhere by moving a few others, if that pays.

A tenant yields its place to the pod and takes another; if there is none for it, a smaller tenant
yields one in turn, up to a number of moves. A move throws work away: what the tenant has done since
it last saved, and its restart. Moves are made if the pod, by running, makes up for that soon
enough.
"""

from dataclasses import dataclass, replace
from typing import Protocol

from plimsoll_bench.packing.tenants import Tenant, Tenants
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.node_arrays import Cluster, Placement


class Placer(Protocol):
    """Says where a pod would best go now; None if it fits nowhere."""

    def best_placement(self, pod: PodKind) -> Placement | None:
        """The place, without counting the pod as an arrival."""
        ...


@dataclass(frozen=True, slots=True)
class MoveTerms:
    """When moves are made: how many at most, and for what.

    A move throws away `restart_seconds` of each GPU that the tenant holds. The pod that gets room
    must make up for all of it within `payback_seconds`.
    """

    most_moves: int
    restart_seconds: int = 300
    payback_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Move:
    """One tenant's change of place."""

    pod: PodKind
    old: Placement
    new: Placement


@dataclass(frozen=True, slots=True)
class Room:
    """A place that became free for a pod, and what it took.

    Each move but the last goes to the place of the next; so the last is carried out first.
    """

    pod: PodKind
    placement: Placement
    moves: tuple[Move, ...]

    def break_even_seconds(self, restart_seconds: int) -> float:
        """How long the pod must run to make up for the work that the moves throw away."""
        moved_milli = sum(move.pod.total_gpu_milli for move in self.moves)
        return moved_milli * restart_seconds / self.pod.total_gpu_milli


@dataclass(frozen=True, slots=True)
class _Search:
    """The moves and milli-GPUs that may still move, and which pods found no room with how many."""

    moves: int
    payable_milli: int
    inadmissible: set[tuple[PodKind, int]]

    def deeper(self, pod: PodKind) -> "_Search":
        """What is left once this pod is moved."""
        return replace(
            self, moves=self.moves - 1, payable_milli=self.payable_milli - pod.total_gpu_milli
        )


class Mover:
    """Makes room in one cluster, whose tenants it knows, with places chosen by a policy.

    It remembers which pods found no room until the cluster changes.
    """

    def __init__(
        self, cluster: Cluster, tenants: Tenants, placer: Placer, terms: MoveTerms
    ) -> None:
        self._cluster = cluster
        self._tenants = tenants
        self._placer = placer
        self._terms = terms
        self._without_room: set[PodKind] = set()
        self._changes_then = 0

    def room(self, pod: PodKind) -> Room | None:
        """Place a pod that fits nowhere by moves that pay; None, and no change, if none do."""
        if not pod.total_gpu_milli or not self._terms.most_moves:
            return None
        if self._changes_then < len(self._cluster.changes):
            self._without_room.clear()
        room = None if pod in self._without_room else self._search(pod)
        if room is None:
            self._without_room.add(pod)
            self._changes_then = len(self._cluster.changes)
        return room

    def _search(self, pod: PodKind) -> Room | None:
        restart = self._terms.restart_seconds
        payable = self._terms.payback_seconds * pod.total_gpu_milli // max(1, restart)
        return self._make_room(pod, _Search(self._terms.most_moves, payable, set()))

    def _make_room(self, pod: PodKind, search: _Search) -> Room | None:
        for tenant in self._tenants.in_the_way(pod):
            if tenant.pod.total_gpu_milli > search.payable_milli:
                break
            deeper = search.deeper(tenant.pod)
            fits = self._placer.best_placement(tenant.pod) is not None
            if not fits and (not deeper.moves or (tenant.pod, deeper.moves) in search.inadmissible):
                continue
            if room := self._in_place_of(tenant, pod, deeper):
                return room
            search.inadmissible.add((tenant.pod, deeper.moves))
        return None

    def _in_place_of(self, tenant: Tenant, pod: PodKind, deeper: _Search) -> Room | None:
        self._tenants.leave(tenant)
        placement = self._placement_on(tenant, pod)
        newcomer = self._tenants.settle(pod, placement)
        elsewhere = self._placer.best_placement(tenant.pod)
        if elsewhere:
            self._tenants.settle(tenant.pod, elsewhere)
            return Room(pod, placement, (Move(tenant.pod, tenant.placement, elsewhere),))
        chain = self._make_room(tenant.pod, deeper) if deeper.moves else None
        if chain:
            return Room(
                pod, placement, (Move(tenant.pod, tenant.placement, chain.placement), *chain.moves)
            )
        self._tenants.leave(newcomer)
        self._tenants.settle(tenant.pod, tenant.placement)
        return None

    def _placement_on(self, tenant: Tenant, pod: PodKind) -> Placement:
        """The pod's place where the tenant was."""
        if pod.gpus == 1:
            return tenant.placement
        node = tenant.placement.node
        return Placement(node, self._cluster.whole_devices(node, pod.gpus))
