"""What is still free while placements are made: devices, CPU, memory, quota, power, spot shares.

The ledger is the solver's one mutable object. It answers how many pods of a shape fit on each node,
takes and gives back, and never hands out what it does not have. Which node is better than another
is not its concern.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.memory import Parts, changed_rows
from plimsoll_placement.model import (
    NO_GPUS,
    WHOLE_GPU_MILLI,
    Amounts,
    Assignment,
    Assignments,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    QueueName,
    Role,
    Shape,
    amount_in,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import domain_of
from plimsoll_placement.state.device_pool import (
    ALL,
    DevicePool,
    Ints,
    Positions,
    device_pools,
    hosts,
)
from plimsoll_placement.state.fragmentation import Fragmentation
from plimsoll_placement.state.held import Held
from plimsoll_placement.state.occupancy import Occupancy
from plimsoll_placement.state.power_budgets import Power
from plimsoll_placement.state.prices import Prices
from plimsoll_placement.state.rooms import Rooms


class Ledger:
    """What is free, and which job holds what. Starts with nothing of ours placed."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        nodes = problem.nodes
        self.cpu: Ints = np.array([n.cpu_millis for n in nodes], dtype=np.int64)
        self.memory: Ints = np.array([n.memory_bytes for n in nodes], dtype=np.int64)
        self.gpu_memory: Ints = np.array([n.gpu_memory_bytes for n in nodes], dtype=np.int64)
        self.gpu_memory_each: Ints = np.array(
            [n.gpu_memory_each_bytes for n in nodes], dtype=np.int64
        )
        self.slots: Ints = np.array([n.pod_slots for n in nodes], dtype=np.int64)
        self._others: dict[str, Ints] = {}
        """What is free of other resources, by name, once a pod has asked for them."""
        self.open = np.array([n.open and n.usable for n in nodes], dtype=np.bool_)
        self.spot = np.array([n.spot for n in nodes], dtype=np.bool_)
        self.device_pools: dict[GpuType, tuple[DevicePool, ...]] = device_pools(problem)
        self.hosts = hosts(problem)
        self.placed: dict[JobName, Assignments] = {}
        self._held: dict[tuple[JobName, Assignment], tuple[Held, ...]] = {}
        """What each pod has of every replica that is in `placed`, by whichever way it came in."""
        self.queue_used: dict[tuple[QueueName, GpuType], int] = defaultdict(int)
        self.power = Power(problem)
        self.is_blocked = False
        """Whether something is held that is not there, so that rows take nothing any more."""
        self.occupancy = Occupancy(problem)
        self.fragmentation = Fragmentation(problem)
        self.rank: Ints = _name_rank(problem)
        self.prices = Prices(problem, self.device_pools)
        self._domains: dict[int, Ints] = {}
        self._eligible: dict[int, NDArray[np.bool_]] = {}
        self._rooms = Rooms()
        self.numbers: dict[Hashable, int] = {}
        """What others have found to follow from all that is free and held; forgotten once that
        changes."""
        self.derived = Parts()
        """What others derive from the jobs as they are in this problem."""

    def turn_to(self, problem: Problem) -> bool:
        """Hold what it holds in another problem; False if that is too different to be told apart.

        Jobs may be others. The nodes must be the same, with the same devices, but may have less or
        more room beside them, be closed, or cost something else.
        """
        rows = changed_rows(self.problem.nodes, problem.nodes)
        if rows is None or self.is_blocked or not _is_comparable(self.problem, problem):
            return False
        pairs = [(row, self.problem.nodes[row], problem.nodes[row]) for row in rows]
        if not all(_has_same_devices(was, now) for _, was, now in pairs):
            return False
        for row, was, now in pairs:
            self._turn_node(row, was, now)
        if not self.prices.turn_to(problem, rows):
            self.prices = Prices(problem, self.device_pools)
        self.power.turn_to(problem)
        self.numbers.clear()
        self.fragmentation = Fragmentation(problem)
        self.derived = Parts()
        self.problem = problem
        return True

    @property
    def is_within_limits(self) -> bool:
        """Whether nothing of a node, a queue or a power domain is held that it does not have."""
        others = self._others.values()
        free = (self.cpu, self.memory, self.slots, self.gpu_memory, self.power.left, *others)
        return all(bool((each >= 0).all()) for each in free) and all(
            self.queue_used.get((queue.name, kind), 0) <= milli
            for queue in self.problem.queues
            for kind, milli in queue.limit.items()
        )

    def _turn_node(self, row: int, was: Node, now: Node) -> None:
        self.cpu[row] += now.cpu_millis - was.cpu_millis
        self.memory[row] += now.memory_bytes - was.memory_bytes
        self.slots[row] += now.pod_slots - was.pod_slots
        self.gpu_memory[row] += now.gpu_memory_bytes - was.gpu_memory_bytes
        if self._others and was.others != now.others:
            before, after = dict(was.others), dict(now.others)
            for name, free in self._others.items():
                free[row] += amount_in(after, name) - amount_in(before, name)
        self.open[row] = now.open and now.usable
        self.spot[row] = now.spot
        self._rooms.change(row)

    def eligible(self, mask: int) -> NDArray[np.bool_]:
        """A role's mask as an array over nodes."""
        known = self._eligible.get(mask)
        if known is None:
            count = len(self.problem.nodes)
            raw = np.frombuffer(mask.to_bytes((count + 7) // 8 or 1, "little"), dtype=np.uint8)
            known = np.unpackbits(raw, bitorder="little")[:count].astype(np.bool_)
            self._eligible[mask] = known
        return known

    def domains(self, level: int) -> Ints:
        """The number of each node's domain at a level; an unlabelled node has one of its own."""
        known = self._domains.get(level)
        if known is None:
            numbers: dict[tuple[str, str], int] = {}
            known = np.array(
                [
                    numbers.setdefault(domain_of(self.problem, node.name, level), len(numbers))
                    for node in self.problem.nodes
                ],
                dtype=np.int64,
            )
            self._domains[level] = known
        return known

    def may_start(
        self, device_pool: DevicePool, role: Role, *, spot: bool, at: Positions = ALL
    ) -> NDArray[np.bool_]:
        """Whether new pods of a role may be on each row of a device pool, room aside.

        `spot`: whether spot nodes count. `at`: only these rows.
        """
        rows = device_pool.rows[at]
        allowed = self.eligible(role.eligible)[rows] & self.open[rows]
        return allowed if spot else allowed & ~self.spot[rows]

    def room(self, device_pool: DevicePool, role: Role, *, spot: bool) -> Ints:
        """How many new pods of a role each row of a device pool has room for now.

        `spot`: whether spot nodes count. Power is checked elsewhere (see `power_budgets.py`).
        """

        def room_at(at: Positions) -> Ints:
            allowed = self.may_start(device_pool, role, spot=spot, at=at)
            room = self._room_aside_from_rules(device_pool, role.shape, at)
            return np.where(allowed, np.maximum(room, 0), 0)

        return self._rooms.of(device_pool, (role.shape, role.eligible, spot), room_at)

    def most_pods(self, gpu_type: GpuType, role: Role, *, spot: bool) -> int:
        """How many new pods of a role there is room for at most, each node's power seen alone."""
        pods = 0
        for pool in self.pools_of(gpu_type):
            room = self.room(pool, role, spot=spot)
            if self.power.names:
                room = np.minimum(room, self.power.rooms(pool.rows, role.shape))
            pods += int(room.sum())
        return pods

    def _room_aside_from_rules(self, device_pool: DevicePool, shape: Shape, at: Positions) -> Ints:
        beside = self.room_beside_devices(device_pool.rows[at], shape)
        return np.minimum(device_pool.room(shape.gpu_milli, at), beside)

    def room_beside_devices(self, rows: Ints, shape: Shape) -> Ints:
        """For how many pods some nodes have all but GPUs; negative where more is held than is."""
        room = self.slots[rows]
        if shape.cpu_millis:
            room = np.minimum(room, self.cpu[rows] // shape.cpu_millis)
        if shape.memory_bytes:
            room = np.minimum(room, self.memory[rows] // shape.memory_bytes)
        if shape.gpu_memory_bytes:
            room = np.minimum(room, self.gpu_memory_room(rows, shape))
        for name, amount in shape.others:
            room = np.minimum(room, self.other(name)[rows] // amount)
        return room

    def other(self, resource: str) -> Ints:
        """What is free on each node of a resource other than GPUs, CPU and memory."""
        known = self._others.get(resource)
        if known is None:
            amounts = self.problem.amounts(resource)
            known = self._others[resource] = np.array(amounts, dtype=np.int64)
        return known

    def gpu_memory_room(self, rows: Ints, shape: Shape) -> Ints:
        """How many pods of a shape that says so have room in the GPUs' memory on some nodes."""
        needs = shape.gpu_memory_bytes
        return np.where(self.gpu_memory_each[rows] >= needs, self.gpu_memory[rows] // needs, 0)

    def others_left(self, row: int) -> Amounts:
        """What a node has left of other resources."""
        asked = {name: int(free[row]) for name, free in self._others.items()}
        return tuple(sorted({**dict(self.problem.nodes[row].others), **asked}.items()))

    def queue_room(self, queue: QueueName, gpu_type: GpuType) -> int | None:
        """Milli-GPUs of a type that a queue and its ancestors may still take; None: no limit."""
        rooms = [
            limit - self.queue_used[name, gpu_type]
            for name in self.problem.queue_chain.get(queue, ())
            if (limit := self.problem.queue_by_name[name].limit.get(gpu_type)) is not None
        ]
        return min(rooms, default=None)

    def within_guarantee(self, queue: QueueName, gpu_type: GpuType, milli: int) -> bool:
        """Whether a queue or one of its ancestors is guaranteed this much more of a type."""
        return any(
            self.queue_used[name, gpu_type] + milli
            <= self.problem.queue_by_name[name].guaranteed.get(gpu_type, 0)
            for name in self.problem.queue_chain.get(queue, ())
        )

    def take(self, job: Job, assignments: Iterable[Assignment]) -> bool:
        """Give a job these replicas as well; False, and nothing taken, if they do not all fit."""
        done: list[Assignment] = []
        for assignment in assignments:
            if not self._take_replica(job, assignment):
                self.give_back(job, done)
                return False
            done.append(assignment)
        self._count_spare(job)
        return True

    def take_kept(self, job: Job, assignments: Assignments) -> bool:
        """Give a job what it runs and may stay; False if that is not all there."""
        if job.pinned:
            self.hold(job)
            return not self.is_blocked
        return self.take(job, assignments)

    def hold(self, job: Job) -> None:
        """Give a job what it runs, even if that is more than there is."""
        for assignment in job.running:
            self.hold_replica(job, assignment)

    def hold_replica(self, job: Job, assignment: Assignment) -> None:
        """Give a job one more replica, even if that is more than there is."""
        shape = job.role(assignment.role).shape
        pods = [self._hold_pod(shape, assignment.gpu_type, name) for name in assignment.nodes]
        self._place(job, assignment, pods)

    def give_back(self, job: Job, assignments: Iterable[Assignment]) -> None:
        """Take these replicas back from a job."""
        gone = set(assignments)
        for assignment in gone:
            self._release_replica(job, assignment)
        left = tuple(a for a in self.placed.get(job.name, ()) if a not in gone)
        if left:
            self.placed[job.name] = left
        else:
            self.placed.pop(job.name, None)
        self._count_spare(job)

    def _count_spare(self, job: Job) -> None:
        """Record what a gang has beyond its least size, as `Victim` counts it."""
        if job.gang and len(job.roles[0].counts) > 1:
            beyond = job.beyond_least(self.placed.get(job.name, ()))
            pods = (pod for each in beyond for pod in self._movable_pods(job, each))
            self.occupancy.grown(job, pods)

    def _movable_pods(self, job: Job, assignment: Assignment) -> Iterator[tuple[int, int, int]]:
        """The node of each pod of a placed replica, what it takes there and draws.

        None of a pinned job, which gives way to nobody, and none on a node that is gone.
        """
        if job.pinned:
            return
        shape, held = job.role(assignment.role).shape, self._held[job.name, assignment]
        for name, pod in zip(assignment.nodes, held, strict=True):
            if name in self.problem.node_index:
                yield self.problem.node_index[name], pod.milli(shape), shape.draw_milli

    def devices_of(self, job: Job, assignment: Assignment) -> tuple[Held, ...]:
        """What each pod of a placed replica has."""
        return self._held[job.name, assignment]

    def restore(self, job: Job, assignment: Assignment, pods: Sequence[Held]) -> None:
        """Give a replica that was just taken from a job back, with the very devices it had."""
        shape = job.role(assignment.role).shape
        for name, held in zip(assignment.nodes, pods, strict=True):
            row = self.problem.node_index.get(name)
            if row is not None:
                self._count_pod(row, shape, 1)
            held.take_again(shape)
        self._place(job, assignment, pods)
        self._count_spare(job)

    def clear(self, job: Job) -> Assignments:
        """Take everything from a job, and return what it had."""
        held = self.placed.get(job.name, ())
        self.give_back(job, held)
        return held

    def _fits_queue(self, job: Job, assignment: Assignment) -> bool:
        milli = job.role(assignment.role).shape.gpu_milli * len(assignment.nodes)
        room = self.queue_room(job.queue, assignment.gpu_type)
        return room is None or milli <= room

    def _take_replica(self, job: Job, assignment: Assignment) -> bool:
        if not self._fits_queue(job, assignment):
            return False
        role = job.role(assignment.role)
        taken: list[Held] = []
        for name in assignment.nodes:
            held = self._take_pod(role.shape, assignment.gpu_type, name)
            if held is None:
                for back, kept in zip(assignment.nodes, taken, strict=False):
                    self._give_back_pod(role.shape, back, kept)
                return False
            taken.append(held)
        self._place(job, assignment, taken)
        return True

    def _place(self, job: Job, assignment: Assignment, pods: Iterable[Held]) -> None:
        """Note that a job has a replica, and with which devices."""
        self._held[job.name, assignment] = tuple(pods)
        for pod in self._movable_pods(job, assignment):
            self.occupancy.move_in(job, *pod)
        self._count_queue(job, assignment, 1)
        self.placed[job.name] = (*self.placed.get(job.name, ()), assignment)

    def _release_replica(self, job: Job, assignment: Assignment) -> None:
        for pod in self._movable_pods(job, assignment):
            self.occupancy.move_out(job, *pod)
        shape, held = job.role(assignment.role).shape, self._held.pop((job.name, assignment))
        for name, pod in zip(assignment.nodes, held, strict=True):
            self._give_back_pod(shape, name, pod)
        self._count_queue(job, assignment, -1)

    def _count_queue(self, job: Job, assignment: Assignment, count: int) -> None:
        milli = count * job.role(assignment.role).shape.gpu_milli * len(assignment.nodes)
        for queue in self.problem.queue_chain.get(job.queue, ()):
            self.queue_used[queue, assignment.gpu_type] += milli

    def _take_pod(self, shape: Shape, gpu_type: GpuType, name: NodeName) -> Held | None:
        row = self.problem.node_index.get(name)
        if row is None or not self._has_room(row, shape):
            return None
        for device_pool, position in self.pool_rows(gpu_type, row):
            if device_pool.has(position, shape.gpu_milli):
                self._count_pod(row, shape, 1)
                return Held(device_pool, position, device_pool.take(position, shape.gpu_milli))
        return None

    def _hold_pod(self, shape: Shape, gpu_type: GpuType, name: NodeName) -> Held:
        """Take a pod's devices; if they no longer exist, block the row for everything else."""
        row = self.problem.node_index.get(name)
        if row is None:
            return Held()
        self._count_pod(row, shape, 1)
        at = list(self.pool_rows(gpu_type, row))
        for device_pool, position in at:
            if device_pool.has(position, shape.gpu_milli):
                return Held(device_pool, position, device_pool.take(position, shape.gpu_milli))
        for device_pool, position in at:
            device_pool.block(position)
            self.is_blocked = True
        return Held()

    def _give_back_pod(self, shape: Shape, name: NodeName, held: Held) -> None:
        held.give_back(shape)
        row = self.problem.node_index.get(name)
        if row is not None:
            self._count_pod(row, shape, -1)

    def _has_room(self, row: int, shape: Shape) -> bool:
        return bool(
            self.slots[row] >= 1
            and self.cpu[row] >= shape.cpu_millis
            and self.memory[row] >= shape.memory_bytes
            and (not shape.gpu_memory_bytes or self._gpu_memory_room_at(row, shape) >= 1)
            and all(self.other(name)[row] >= amount for name, amount in shape.others)
            and self.power.room_of(row, shape) >= 1
        )

    def _count_pod(self, row: int, shape: Shape, count: int) -> None:
        self.slots[row] -= count
        self.cpu[row] -= count * shape.cpu_millis
        self.memory[row] -= count * shape.memory_bytes
        if shape.gpu_memory_bytes:
            self.gpu_memory[row] -= count * shape.gpu_memory_bytes
        for name, amount in shape.others:
            self.other(name)[row] -= count * amount
        self.power.draw(row, shape, count)
        self._rooms.change(row)
        self.numbers.clear()

    def room_at(self, device_pool: DevicePool, position: int, role: Role) -> int:
        """How many pods of a role one row of a device pool has room for now, power aside."""
        row, shape = int(device_pool.rows[position]), role.shape
        granted = device_pool.granted_milli(shape.gpu_milli)
        if granted is None:
            return 0
        if not granted:
            room = int(self.slots[row])
        elif granted >= WHOLE_GPU_MILLI:
            room = int(device_pool.whole[position]) * WHOLE_GPU_MILLI // granted
        else:
            room = sum(free // granted for free in device_pool.free[position].tolist() if free > 0)
        rooms = [room, int(self.slots[row])]
        if shape.cpu_millis:
            rooms.append(int(self.cpu[row]) // shape.cpu_millis)
        if shape.memory_bytes:
            rooms.append(int(self.memory[row]) // shape.memory_bytes)
        if shape.gpu_memory_bytes:
            rooms.append(self._gpu_memory_room_at(row, shape))
        rooms += [int(self.other(name)[row]) // amount for name, amount in shape.others]
        return max(0, min(rooms))

    def _gpu_memory_room_at(self, row: int, shape: Shape) -> int:
        if self.gpu_memory_each[row] < shape.gpu_memory_bytes:
            return 0
        return int(self.gpu_memory[row]) // shape.gpu_memory_bytes

    def pools_of(self, gpu_type: GpuType) -> tuple[DevicePool, ...]:
        """The devices of a type; for pods without GPUs, all nodes."""
        return (self.hosts,) if gpu_type == NO_GPUS else self.device_pools.get(gpu_type, ())

    def pool_rows(self, gpu_type: GpuType, row: int) -> Iterator[tuple[DevicePool, int]]:
        """The device pools of a type that a node is in, each with its position there."""
        for device_pool in self.pools_of(gpu_type):
            position = device_pool.position.get(row)
            if position is not None:
                yield device_pool, position


def _is_comparable(before: Problem, now: Problem) -> bool:
    """Whether what is held of queues, power and domains means the same in both problems."""
    return (
        before.levels == now.levels
        and before.priorities == now.priorities
        and [each.name for each in before.power_domains] == [e.name for e in now.power_domains]
        and (before.queues is now.queues or before.queue_chain == now.queue_chain)
    )


def _has_same_devices(was: Node, now: Node) -> bool:
    return (
        was.devices == now.devices
        and was.topology == now.topology
        and was.power_domains == now.power_domains
        and was.busy_milliwatts == now.busy_milliwatts
        and was.gpu_memory_each_bytes == now.gpu_memory_each_bytes
    )


def _name_rank(problem: Problem) -> Ints:
    """Each node's rank by name, so that ties do not depend on the order of the input."""
    rank = np.empty(len(problem.nodes), dtype=np.int64)
    order = sorted(range(len(problem.nodes)), key=lambda row: problem.nodes[row].name)
    rank[order] = np.arange(len(order))
    return rank
