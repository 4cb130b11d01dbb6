"""Make room for a request by moving a few others to where they have room as things are.

A tenant yields its place to the request and takes another; if there is none for it, a further one
yields in turn. For whole devices, several on one node may leave, and for a gang on several nodes
those of several nodes. What fails is undone exactly.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from plimsoll_placement.model import Assignments, Job
from plimsoll_placement.placing.options import counts_alike
from plimsoll_placement.placing.place import Request, loss_alone, place
from plimsoll_placement.preemption.departures import Departure, Departures, Payable
from plimsoll_placement.preemption.tenants import Tenant
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.held import Held
from plimsoll_placement.state.ledger import Ledger

LONGEST_CHAIN = 2
"""How many may yield one after the other."""
MOST_NODES = 8
"""How many nodes are cleared for one gang at most, or tried for a pod, the cheapest first."""
MOST_DOMAINS = 3
"""How many topology domains are tried for a gang on several nodes."""
MOST_IN_VAIN, MOST_IN_VAIN_AT_ONCE = 24, 4
"""Give up after so many attempts that failed: for good, and for one request."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """What a job was given; or, if it `had` something, that with the devices of each pod.

    `tenant`: whose move that is part of, if it is.
    """

    job: Job
    assignments: Assignments
    tenant: Tenant | None = None
    had: tuple[tuple[Held, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """A place for a request, and who moved for it where."""

    assignments: Assignments
    moves: tuple[tuple[Tenant, Assignments], ...]


class Mover:
    """Makes room in a ledger. What has moved does not move again."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._departures = Departures(ledger)
        self._log: list[_Entry] = []
        self._has_room: dict[int, bool] = {}
        self._immovable: set[tuple[int, int]] = set()
        self._in_vain = self._stop_at = 0

    def room(self, requests: Sequence[Request], payable: Payable) -> Room | None:
        """Room for one of the requests, at no more than what is payable; the cheapest there is.

        None, and no change, if there is none.
        """
        self._log.clear()
        if self._in_vain >= MOST_IN_VAIN:
            return None
        self._stop_at = min(self._in_vain + MOST_IN_VAIN_AT_ONCE, MOST_IN_VAIN)
        found = self._where_some_leave(requests, payable)
        if found is None:
            found = self._in_place_of_one(requests, payable, LONGEST_CHAIN)
        if found is None:
            found = self._on_several_nodes(requests, payable)
        if found is None:
            self._in_vain += 1
            return None
        moves = ((e.tenant, e.assignments) for e in self._log if e.tenant and e.had is None)
        return Room(found, tuple((tenant, there) for tenant, there in moves if tenant))

    def undo(self) -> None:
        """Undo the last room that was made."""
        self._undo(0)

    def _in_place_of_one(
        self, requests: Sequence[Request], payable: Payable, chain: int
    ) -> Assignments | None:
        """Put a request in the place of a tenant, for which others may yield in a chain."""
        found = (
            each for request in requests for each in self._departures.one_each(request, payable)
        )
        for departure in sorted(found, key=lambda each: (each.loss, each.idle_milli)):
            [tenant] = departure.tenants
            is_hopeless = chain == 1 or (tenant.kind, chain) in self._immovable
            if is_hopeless and not self._can_move(tenant):
                continue
            if self._in_vain >= self._stop_at:
                break
            assignments = self._instead(_on_node(departure), departure, payable, chain)
            if assignments is not None:
                return assignments
            self._immovable.add((tenant.kind, chain))
        return None

    def _where_some_leave(
        self, requests: Sequence[Request], payable: Payable
    ) -> Assignments | None:
        """Put a request where one or several leave that have room elsewhere; the cheapest first."""
        departures, found = self._departures, list[Departure]()
        for request in requests:
            one = departures.one_each(request, payable)
            found += [each for each in one if self._can_move(each.tenants[0])]
            found += islice(departures.several(request, payable, self._can_move), MOST_NODES)
        for departure in sorted(found, key=lambda each: (each.loss, each.idle_milli)):
            if self._in_vain >= self._stop_at or departure.loss > payable.loss:
                break
            assignments = self._instead(_on_node(departure), departure, payable, 1)
            if assignments is not None:
                return assignments
        return None

    def _on_several_nodes(
        self, requests: Sequence[Request], payable: Payable
    ) -> Assignments | None:
        """Clear nodes for the pods of a gang that are still without one, a pod on each."""
        for request in requests:
            if request.pods == 1 or not request.job.gang:
                continue
            for departure in self._together(request, payable):
                if self._in_vain >= self._stop_at:
                    return None
                assignments = self._instead(request, departure, payable, 1)
                if assignments is not None:
                    return assignments
        return None

    def _together(self, request: Request, payable: Payable) -> list[Departure]:
        """Who would have to leave the nodes of each domain in which the gang may be."""
        one_pod = replace(request.role, pods_per_replica=1)
        alone = replace(request, role=one_pod, replicas=request.replicas[:1])
        room, level = self._room_by_row(request), request.job.required_level
        domains = np.zeros_like(room) if level is None else self.ledger.domains(level)
        lacking = request.pods - np.bincount(domains, weights=room).astype(np.int64)
        if lacking.min() > MOST_NODES:
            return []
        found, ready = defaultdict[int, list[Departure]](list), list[Departure]()
        for each in self._departures.several(alone, payable, self._can_move):
            domain = int(domains[each.row])
            if room[each.row] or not len(found[domain]) < lacking[domain] <= MOST_NODES:
                continue
            found[domain].append(each)
            if len(found[domain]) == lacking[domain]:
                ready.append(_joined(request, found[domain]))
                if len(ready) == MOST_DOMAINS or level is None:
                    break
        return [each for each in ready if each.loss <= payable.loss]

    def _room_by_row(self, request: Request) -> Ints:
        room = np.zeros(len(self.ledger.problem.nodes), dtype=np.int64)
        for pool in self.ledger.device_pools[request.gpu_type]:
            spot = request.job.spot_percent > 0
            room[pool.rows] += self.ledger.room(pool, request.role, spot=spot)
        return room

    def _instead(
        self, request: Request, departure: Departure, payable: Payable, chain: int
    ) -> Assignments | None:
        """Put a request where tenants leave, if there is another place for each of them."""
        mark = len(self._log)
        for tenant in departure.tenants:
            self._remove(tenant)
        assignments = self._take(request)
        left, largest = payable.less(departure.loss), sorted(departure.tenants, key=_largest_first)
        if assignments and all(self._moves(tenant, left, chain - 1) for tenant in largest):
            return assignments
        self._undo(mark)
        self._in_vain += 1
        return None

    def _moves(self, tenant: Tenant, payable: Payable, chain: int) -> bool:
        """Place a tenant elsewhere, if need be in the place of another."""
        requests = _requests_elsewhere(self.ledger, tenant)
        losses = [(loss_alone(self.ledger, each), each) for each in requests if self._fits(each)]
        for _, request in sorted(losses, key=lambda pair: pair[0]):
            if self._take(request, tenant):
                return True
        if not chain:
            return False
        mark = len(self._log)
        found = self._in_place_of_one(requests, payable, chain)
        if found is not None:
            self._log[mark:] = [
                replace(e, tenant=tenant) if e.assignments is found else e for e in self._log[mark:]
            ]
        return found is not None

    def _can_move(self, tenant: Tenant) -> bool:
        """Whether there is room for a tenant on any node but its own, as far as is known."""
        known = self._has_room.get(tenant.kind)
        if known is None:
            requests = _requests_elsewhere(self.ledger, tenant)
            known = self._has_room[tenant.kind] = any(self._fits(each) for each in requests)
        return known

    def _fits(self, request: Request) -> bool:
        """Whether there are enough devices, CPU and memory for all pods of a request."""
        ledger, spot = self.ledger, request.job.spot_percent > 0
        pools = ledger.device_pools[request.gpu_type]
        room = sum(int(ledger.room(pool, request.role, spot=spot).sum()) for pool in pools)
        return room >= request.pods

    def _take(self, request: Request, tenant: Tenant | None = None) -> Assignments | None:
        found = place(self.ledger, request)
        if found is not None:
            self._log.append(_Entry(request.job, found, tenant))
        return found

    def _remove(self, tenant: Tenant) -> None:
        job, assignments = tenant.job, tenant.assignments
        had = tuple(self.ledger.devices_of(job, each) for each in assignments)
        self.ledger.give_back(job, assignments)
        self._log.append(_Entry(job, assignments, tenant, had))
        self._departures.leave(tenant)

    def _undo(self, mark: int) -> None:
        while len(self._log) > mark:
            entry = self._log.pop()
            if entry.had is None:
                self.ledger.give_back(entry.job, entry.assignments)
                continue
            for assignment, had in zip(entry.assignments, entry.had, strict=True):
                self.ledger.restore(entry.job, assignment, had)
            if entry.tenant is not None:
                self._departures.come_back(entry.tenant)


def _on_node(departure: Departure) -> Request:
    """The request, bound to the node that tenants leave."""
    role = departure.request.role
    bound = replace(role, eligible=role.eligible & 1 << departure.row)
    return replace(departure.request, role=bound)


def _joined(request: Request, departures: Sequence[Departure]) -> Departure:
    tenants = tuple(tenant for each in departures for tenant in each.tenants)
    return Departure(request, departures[0].row, tenants, sum(each.loss for each in departures))


def _largest_first(tenant: Tenant) -> int:
    return -tenant.gpu_milli


def _requests_elsewhere(ledger: Ledger, tenant: Tenant) -> list[Request]:
    """What a tenant could have instead: as much on other nodes, on any type that yields as much."""
    role, count = tenant.role, len(tenant.assignments)
    if not role.mixable and count not in role.counts:
        return []
    at = 0 if role.mixable else role.counts.index(count)
    other = replace(role, eligible=role.eligible & ~(1 << tenant.row))
    replicas = tuple(each.replica for each in tenant.assignments)
    least = role.yields.get(tenant.gpu_type, (0,) * (at + 1))[at]
    return [
        Request(tenant.job, other, kind, replicas)
        for kind, milli in role.yields.items()
        if kind in ledger.device_pools
        and milli[at] >= least
        and counts_alike(ledger, tenant.job, tenant.gpu_type, kind)
    ]
