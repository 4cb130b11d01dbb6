"""Choose nodes for the pods of a gang or replica, in one domain where that matters.

Of the nodes with room, the cheapest come first, then those that leave most to the pods to come
(`state/fragmentation.py`), so that large gaps stay for large jobs and idle GPUs keep their CPU.
Everything is taken from the ledger as it is found, and given back if the whole does not fit.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from plimsoll_placement.model import (
    NO_GPUS,
    Assignment,
    Assignments,
    GpuType,
    Job,
    NodeName,
    Role,
)
from plimsoll_placement.placing.domains import Field, parts
from plimsoll_placement.state.device_pool import DevicePool, Ints
from plimsoll_placement.state.fragmentation import MIB
from plimsoll_placement.state.ledger import Ledger
from plimsoll_placement.state.node_arrays import Floats, States

MOST_COMPARED = 64
"""How many of the tightest nodes are compared; beyond them there is seldom a better one."""
AGAINST_ROUNDING = 1e-6
"""Losses that differ by less than this, in milli-GPUs, count as equal."""


@dataclass(frozen=True, slots=True)
class Request:
    """Pods of one role on one GPU type: `replicas` are the indices to place.

    `inside`: only within one domain of the level that the gang prefers, not across several.
    """

    job: Job
    role: Role
    gpu_type: GpuType
    replicas: tuple[int, ...]
    inside: bool = False

    @property
    def pods(self) -> int:
        """The number of pods."""
        return len(self.replicas) * self.role.pods_per_replica

    @property
    def gpu_milli(self) -> int:
        """The milli-GPUs they ask for together."""
        return self.pods * self.role.shape.gpu_milli


def hardest_first(job: Job, role: Role, replicas: int) -> tuple[bool, int, int, int, str]:
    """Jobs bound to a domain first, then large pods, then large gangs, then the important."""
    milli = role.shape.gpu_milli
    total = milli * replicas * role.pods_per_replica
    return job.required_level is None, -milli, -total, -job.priority, job.name


def companions(ledger: Ledger, job: Job) -> tuple[tuple[Request, ...], ...]:
    """What the companions of a gang still lack at its present size, each on every type it has.

    Empty if that is no size of the gang, as while its first role is placed in parts.
    """
    placed = ledger.placed.get(job.name, ())
    counts, size = job.roles[0].counts, job.size(placed)
    if size not in counts:
        return ()
    lacking: list[tuple[Request, ...]] = []
    for role in sorted(job.companions, key=lambda role: -role.shape.gpu_milli):
        held = sum(assignment.role == role.name for assignment in placed)
        replicas = tuple(range(held, role.counts[counts.index(size)]))
        if replicas:
            lacking.append(companion_requests(job, role, replicas, placed))
    return tuple(lacking)


def companion_requests(
    job: Job, role: Role, replicas: tuple[int, ...], placed: Assignments = ()
) -> tuple[Request, ...]:
    """Requests for replicas of a companion: on the type that it is on, otherwise on any."""
    kinds = [a.gpu_type for a in placed if a.role == role.name][:1] or sorted(role.yields)
    return tuple(Request(role_view(job, role), role, kind, replicas) for kind in kinds)


def role_view(job: Job, role: Role) -> Job:
    """A job as one of its roles is placed: a companion within what limits that role alone."""
    if not job.gang or role.name == job.roles[0].name:
        return job
    return replace(
        job,
        required_level=role.required_level,
        preferred_level=None,
        spot_percent=role.spot_percent,
    )


def place(ledger: Ledger, request: Request) -> Assignments | None:
    """Assignments for all the replicas, taken from the ledger; None if any does not fit.

    With None nothing is taken. A gang's replicas are placed together, and with them what its
    companions lack at the size that it then has. Others are placed together if they have one pod
    each, for then no domain matters; if that fails, and in all other cases, they are placed one by
    one.
    """
    assignments = place_alone(ledger, request)
    if assignments is None or not request.job.companions:
        return assignments
    found = list(assignments)
    for requests in companions(ledger, request.job):
        some = next(filter(None, (place_alone(ledger, each) for each in requests)), None)
        if some is None:
            ledger.give_back(request.job, found)
            return None
        found += some
    return tuple(found)


def place_alone(ledger: Ledger, request: Request) -> Assignments | None:
    """The same, without a gang's companions."""
    role, spot = request.role, request.job.spot_percent > 0
    room = ledger.queue_room(request.job.queue, request.gpu_type)
    if room is not None and request.gpu_milli > room:
        return None
    key = "most pods", request.gpu_type, role.shape, role.eligible, spot
    most = ledger.numbers.get(key)
    if most is not None and most < request.pods:
        return None
    found = _somehow(ledger, request)
    if found is None:
        ledger.numbers[key] = ledger.most_pods(request.gpu_type, role, spot=spot)
    return found


def _somehow(ledger: Ledger, request: Request) -> Assignments | None:
    """All replicas together if that can be, otherwise one by one if they are no gang."""
    if request.job.gang:
        return _place_together(ledger, request)
    if len(request.replicas) > 1 and request.role.pods_per_replica == 1:
        together = _place_together(ledger, request)
        if together is not None:
            return together
    placed: list[Assignment] = []
    for replica in request.replicas:
        one = Request(request.job, request.role, request.gpu_type, (replica,))
        found = _place_together(ledger, one)
        if found is None:
            ledger.give_back(request.job, placed)
            return None
        placed.extend(found)
    return tuple(placed)


def _place_together(ledger: Ledger, request: Request) -> Assignments | None:
    for spot_pods in _spot_allowances(ledger, request):
        field = _field(ledger, request, spot=spot_pods > 0)
        if spot_pods >= request.pods > int(field.room.sum()):
            return None  # with spot nodes there is too little, without them there is less
        placed = _of_role(ledger, request)
        for part in parts(
            ledger, request.job, field, placed, pods=request.pods, inside=request.inside
        ):
            found = _fill(ledger, request, part, spot_pods)
            if found is not None:
                return found
    return None


def _of_role(ledger: Ledger, request: Request) -> Assignments:
    """What a job already has that bounds where the request may be: of a gang, the same role."""
    placed = ledger.placed.get(request.job.name, ())
    if not request.job.companions:
        return placed
    return tuple(each for each in placed if each.role == request.role.name)


def _spot_allowances(ledger: Ledger, request: Request) -> Iterator[int]:
    """How many pods may be on spot nodes: first what the share allows, then none."""
    job = request.job
    placed = _of_role(ledger, request)
    on_spot = sum(any(ledger.spot[ledger.problem.node_index[n]] for n in a.nodes) for a in placed)
    total = len(placed) + len(request.replicas)
    allowed = total * job.spot_percent // 100 - on_spot
    if allowed >= len(request.replicas):
        yield request.pods
    elif allowed > 0:
        # A pod on spot makes its whole replica count: this many pods touch no more replicas than
        # that.
        yield allowed
    yield 0


def _field(ledger: Ledger, request: Request, *, spot: bool) -> Field:
    pools, role = ledger.pools_of(request.gpu_type), request.role
    room = _joined([ledger.room(pool, role, spot=spot) for pool in pools])
    places = np.flatnonzero(room)
    rows = _joined([pool.rows for pool in pools])[places]
    free = _joined([pool.milli for pool in pools])[places]
    return Field(rows, room[places], free, ledger.prices.of(request.job, role)[rows], places)


def _joined(parts: Sequence[Ints]) -> Ints:
    """The parts one after the other; most GPU types have a single pool."""
    if len(parts) == 1:
        return parts[0]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def _fill(ledger: Ledger, request: Request, field: Field, spot_pods: int) -> Assignments | None:
    """Assign pods node by node; None, and nothing taken, if the field runs out."""
    if ledger.power.names:
        room = np.minimum(field.room, ledger.power.rooms(field.rows, request.role.shape))
        powered = Field(field.rows, room, field.free, field.prices, field.places)
        field = powered.within(room > 0)
    at = _alone(ledger, field, request)
    row = None if at is None else int(field.rows[at])
    if row is not None and (spot_pods >= request.pods or not ledger.spot[row]):
        nodes = [ledger.problem.nodes[row].name] * request.pods
    else:
        nodes = list(_walk(ledger, field, request, spot_pods))
    if len(nodes) < request.pods:
        return None
    taken = _assignments(request, nodes)
    return taken if ledger.take(request.job, taken) else None


def loss_alone(ledger: Ledger, request: Request) -> float:
    """What the pods to come would lose if the request went to its best node, in milli-GPUs.

    This includes the price of a GPU type that some of them are bound to. Infinite if no node has
    room for all of it.
    """
    spot_pods = next(_spot_allowances(ledger, request))
    field = _field(ledger, request, spot=spot_pods >= request.pods)
    whole = _whole(field, request)
    if not len(whole):
        return math.inf
    if request.gpu_type == NO_GPUS:
        return _least_loss(ledger, field, whole, request, request.pods)[1]
    price = ledger.fragmentation.price(request.gpu_type, ledger.device_pools)
    return _least_loss(ledger, field, whole, request, request.pods)[1] + price * request.gpu_milli


def _alone(ledger: Ledger, field: Field, request: Request) -> int | None:
    """The position of the best of the cheapest nodes, if one has room for all pods."""
    whole = _whole(field, request)
    return _least_loss(ledger, field, whole, request, request.pods)[0] if len(whole) else None


def _whole(field: Field, request: Request) -> Ints:
    """The positions of the cheapest nodes, if they have room for all pods."""
    if not len(field.rows):
        return field.rows
    return np.flatnonzero((field.prices == field.prices.min()) & (field.room >= request.pods))


def _least_loss(
    ledger: Ledger, field: Field, at: Ints, request: Request, pods: int
) -> tuple[int, float]:
    """The position with room for all the pods where others lose least by them, and that loss.

    Only the tightest are compared.
    """
    at = _tightest(ledger, field, at)
    losses, first = np.zeros(len(at)), 0
    if request.gpu_type == NO_GPUS:
        losses = _losses_of_hosts(ledger, field.rows[at], request, pods)
    for device_pool in ledger.device_pools.get(request.gpu_type, ()):
        places = field.places[at] - first
        first += len(device_pool.rows)
        mine = (places >= 0) & (places < len(device_pool.rows))
        if mine.any():
            states = _states(ledger, device_pool, places[mine])
            losses[mine] = ledger.fragmentation.losses(
                device_pool, states, request.role.shape, pods
            )
    best = np.flatnonzero(losses <= losses.min() + AGAINST_ROUNDING)[0]
    return int(at[best]), float(losses[best])


def _tightest(ledger: Ledger, field: Field, at: Ints) -> Ints:
    """Of some positions those with least free, of equals the first by name."""
    order = field.free[at] * len(ledger.rank) + ledger.rank[field.rows[at]]
    if len(at) > MOST_COMPARED:
        found = np.argpartition(order, MOST_COMPARED)[:MOST_COMPARED]
        at, order = at[found], order[found]
    return at[np.argsort(order)]


def _losses_of_hosts(ledger: Ledger, rows: Ints, request: Request, pods: int) -> Floats:
    """What pods with GPUs lose on nodes whose CPU and memory others take, in milli-GPUs."""
    losses, shape = np.zeros(len(rows)), request.role.shape
    for device_pool in chain.from_iterable(ledger.device_pools.values()):
        there = np.isin(rows, device_pool.rows)
        if there.any():
            places = np.searchsorted(device_pool.rows, rows[there])
            states = _states(ledger, device_pool, places)
            losses[there] += ledger.fragmentation.losses(device_pool, states, shape, pods)
    return losses


def _states(ledger: Ledger, device_pool: DevicePool, places: Ints) -> States:
    rows = device_pool.rows[places]
    free = np.maximum(device_pool.free[places], 0)
    return States(rows, ledger.cpu[rows], ledger.memory[rows] // MIB, free)


def _walk(ledger: Ledger, field: Field, request: Request, spot_pods: int) -> Iterator[NodeName]:
    """A node for each pod, as long as there are any."""
    power, shape, missing = ledger.power, request.role.shape, request.pods
    left, order = power.left.copy(), _Order(ledger, field, request)
    while missing and (at := order.next(missing)) is not None:
        row = int(field.rows[at])
        pods = min(int(field.room[at]), missing, power.room_of(row, shape, left))
        if ledger.spot[row]:
            pods = min(pods, spot_pods)
            spot_pods -= pods
        left[power.domains[row]] -= pods * power.draw_of(row, shape)
        yield from [ledger.problem.nodes[row].name] * pods
        missing -= pods


class _Order:
    """The order in which nodes are filled: cheapest first, and of those the roomiest.

    But once one of them has room for all that is missing, the best of those that have.
    """

    def __init__(self, ledger: Ledger, field: Field, request: Request) -> None:
        self.ledger, self.field, self.request = ledger, field, request
        self.rank = ledger.rank[field.rows]
        self.sorted = np.lexsort((self.rank, -field.room, field.prices))
        self.is_done = np.zeros(len(field.rows), dtype=np.bool_)
        self.first = 0

    def next(self, missing: int) -> int | None:
        """The next position to fill; None after the last."""
        while self.first < len(self.sorted) and self.is_done[self.sorted[self.first]]:
            self.first += 1
        if self.first == len(self.sorted):
            return None
        at = int(self.sorted[self.first])
        if self.field.room[at] >= missing:
            at = self._best(at, missing)
        self.is_done[at] = True
        return at

    def _best(self, first: int, missing: int) -> int:
        price, field = self.field.prices[first], self.field
        whole = np.flatnonzero(~self.is_done & (field.prices == price) & (field.room >= missing))
        return _least_loss(self.ledger, field, whole, self.request, missing)[0]


def _assignments(request: Request, nodes: list[NodeName]) -> Assignments:
    size = request.role.pods_per_replica
    return tuple(
        Assignment(
            request.role.name,
            replica,
            request.gpu_type,
            tuple(nodes[place * size : (place + 1) * size]),
        )
        for place, replica in enumerate(request.replicas)
    )
