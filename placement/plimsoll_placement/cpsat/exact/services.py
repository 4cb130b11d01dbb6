"""Services: each running replica stays or goes, and new ones of any mix of types are added."""

from collections.abc import Iterable, Iterator, Sequence

from ortools.sat.python.cp_model import Domain, IntVar

from plimsoll_placement.cpsat.exact.linear import covers, no_more_than, same
from plimsoll_placement.cpsat.exact.rows import Rooms, by_domain, rooms
from plimsoll_placement.cpsat.exact.variables import Batch, Kept, Service, Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.placing.retention import is_on_spot, stayable
from plimsoll_placement.score.worth import WHOLE_PERCENT, served_milli

PLAIN_URGENCY_MILLI = 1000


def add_service(variables: Variables, job: Job) -> None:
    """The variables of one service, and the constraints on it alone."""
    problem = variables.remains.scope.problem
    kept = [
        Kept(job, (assignment,), variables.yes_or_no()) for assignment in stayable(problem, job)
    ]
    batches = [batch for role in job.roles for batch in _batches(variables, job, role)]
    runs = variables.yes_or_no()
    served = tuple(_served(variables, runs, role, kept, batches) for role in job.roles)
    variables.kept += kept
    variables.batches += batches
    variables.services.append(_service(variables, job, runs, served))
    _share_spot(variables, job, kept, batches)


def _batches(variables: Variables, job: Job, role: Role) -> Iterator[Batch]:
    """New replicas, by type; by domain as well if the pods of one must share a domain."""
    for gpu_type in sorted(role.yields):
        room = rooms(variables.remains, job, role, gpu_type)
        if job.required_level is None or role.pods_per_replica == 1:
            parts = [list(room)]
        else:
            parts = by_domain(variables.remains, room, job.required_level)
        for rows in parts:
            if sum(room[row] for row in rows) >= role.pods_per_replica:
                yield _batch(variables, job, role, gpu_type, {row: room[row] for row in rows})


def _batch(variables: Variables, job: Job, role: Role, gpu_type: GpuType, room: Rooms) -> Batch:
    most = role.counts[-1]
    size = role.pods_per_replica
    pods = {row: variables.up_to(min(most * size, fits)) for row, fits in room.items()}
    total = Sum().add((count, 1) for count in pods.values())
    nodes = variables.remains.scope.problem.nodes
    on_spot = Sum().add((count, 1) for row, count in pods.items() if nodes[row].spot)
    if size == 1:
        return Batch(job, role, gpu_type, pods, replicas=total, on_spot=on_spot)
    replicas, touched = Sum().add([(variables.up_to(most), 1)]), Sum()
    same(variables.model, total, Sum().add(replicas.terms, size))
    if on_spot.variables:
        touched.add([(variables.up_to(most), 1)])
        covers(variables.model, Sum().add(touched.terms, size), on_spot)
        covers(variables.model, replicas, touched)
    return Batch(job, role, gpu_type, pods, replicas=replicas, on_spot=touched)


def _served(
    variables: Variables,
    runs: IntVar,
    role: Role,
    kept: Iterable[Kept],
    batches: Iterable[Batch],
) -> IntVar:
    """What a role serves, with an allowed count of replicas, or none."""
    count, carried = Sum(), Sum()
    for each in kept:
        if each.assignments[0].role == role.name:
            count.add([(each.stays, 1)])
            carried.add([(each.stays, role.yields[each.assignments[0].gpu_type][0])])
    for batch in batches:
        if batch.role.name == role.name:
            count.add(batch.replicas.terms)
            carried.add(batch.replicas.terms, role.yields[batch.gpu_type][0])
    _count_is_allowed(variables, runs, role, count)
    served = variables.up_to(role.wanted_milli)
    covers(variables.model, carried, Sum().add([(served, role.fineness)]))
    if role.wanted_count:
        part = Sum().add(count.terms, role.wanted_milli)
        covers(variables.model, part, Sum().add([(served, role.wanted_count)]))
    return served


def _count_is_allowed(variables: Variables, runs: IntVar, role: Role, count: Sum) -> None:
    allowed = Domain.from_values([0, *role.counts])
    replicas = Sum().add([(variables.model.new_int_var_from_domain(allowed, ""), 1)])
    same(variables.model, count, replicas)
    covers(variables.model, replicas, Sum().add([(runs, role.least)]))
    covers(variables.model, Sum().add([(runs, role.counts[-1])]), replicas)


def _service(variables: Variables, job: Job, runs: IntVar, served: tuple[IntVar, ...]) -> Service:
    """How much of what is served is kept and newly admitted, rounded as the score does."""
    wanted, before = sum(role.wanted_milli for role in job.roles), served_milli(job, job.running)
    total = Sum().add((each, 1) for each in served)
    kept, new = None, Sum().add(total.terms, job.urgency_milli)
    if before:
        kept = variables.up_to(min(before, wanted))
        variables.model.add_min_equality(kept, [total.expression(), before])
        new.add([(kept, -job.urgency_milli)])
    admitted = variables.up_to(wanted * job.urgency_milli // PLAIN_URGENCY_MILLI)
    covers(variables.model, new, Sum().add([(admitted, PLAIN_URGENCY_MILLI)]))
    return Service(job, runs, served, kept, admitted)


def _share_spot(
    variables: Variables, job: Job, kept: Sequence[Kept], batches: Sequence[Batch]
) -> None:
    """No more replicas are on spot nodes than the share."""
    if job.spot_percent >= WHOLE_PERCENT:
        return
    problem, left = variables.remains.scope.problem, Sum()
    for each in kept:
        on_spot = WHOLE_PERCENT * is_on_spot(problem, each.assignments[0])
        left.add([(each.stays, on_spot - job.spot_percent)])
    for batch in batches:
        left.add(batch.replicas.terms, -job.spot_percent)
        left.add((batch.on_spot or Sum()).terms, WHOLE_PERCENT)
    no_more_than(variables.model, left.merged(), 0)
