"""The rows on which new pods of a role can be placed, and how many at most."""

from collections import defaultdict
from collections.abc import Iterable

from plimsoll_placement.cpsat.exact.scope import Remains
from plimsoll_placement.model import NO_GPUS, GpuType, Job, Node, Role, Shape, amount_in
from plimsoll_placement.score.worth import domain_of

Rooms = dict[int, int]
"""How many pods each row has room for, if no other job of the scope were there."""


def rooms(remains: Remains, job: Job, role: Role, gpu_type: GpuType) -> Rooms:
    """Rows that may take new pods of a role, with how many each has room for; omits full rows."""
    nodes = remains.scope.problem.nodes
    found: Rooms = {}
    for row in sorted(remains.scope.rows_of(job)):
        node = nodes[row]
        if not (role.eligible >> row & 1 and node.open and node.usable):
            continue
        if node.spot and not job.spot_percent:
            continue
        room = min(_devices_room(node, gpu_type, role.shape), _room(remains, row, role.shape))
        if room > 0:
            found[row] = room
    return found


def by_domain(remains: Remains, rows: Iterable[int], level: int) -> list[list[int]]:
    """Rows in groups, one for each domain of a level."""
    problem, found = remains.scope.problem, defaultdict[tuple[str, str], list[int]](list)
    for row in rows:
        found[domain_of(problem, problem.nodes[row].name, level)].append(row)
    return list(found.values())


def _room(remains: Remains, row: int, shape: Shape) -> int:
    rest = remains.rest(row)
    rooms = [rest.slots]
    if shape.cpu_millis:
        rooms.append(rest.cpu_millis // shape.cpu_millis)
    if shape.memory_bytes:
        rooms.append(rest.memory_bytes // shape.memory_bytes)
    if shape.gpu_memory_bytes:
        each = remains.scope.problem.nodes[row].gpu_memory_each_bytes
        rooms.append(rest.gpu_memory_bytes // shape.gpu_memory_bytes)
        rooms.append(rest.slots if each >= shape.gpu_memory_bytes else 0)
    rooms += [amount_in(rest.others, name) // amount for name, amount in shape.others]
    return min(rooms)


def _devices_room(node: Node, gpu_type: GpuType, shape: Shape) -> int:
    """How many pods its devices could serve if all were free for them."""
    if gpu_type == NO_GPUS:
        return node.pod_slots
    total = 0
    for devices in node.devices:
        granted = devices.granted_milli(shape.gpu_milli) if devices.gpu_type == gpu_type else None
        if granted:
            total += sum(devices.free_milli) // granted
    return total
