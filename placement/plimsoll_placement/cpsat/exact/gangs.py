"""Gangs: they stay, run anew with one of the allowed counts on one GPU type, or wait.

The companions of one that runs anew do so as well, each on one type, at the same size.
"""

from collections.abc import Iterable, Iterator, Sequence

from ortools.sat.python.cp_model import IntVar

from plimsoll_placement.cpsat.exact.linear import covers, same
from plimsoll_placement.cpsat.exact.rows import Rooms, by_domain, rooms
from plimsoll_placement.cpsat.exact.variables import Batch, Kept, Size, Variables
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import GpuType, Job, Role
from plimsoll_placement.placing.place import role_view
from plimsoll_placement.placing.retention import stayable
from plimsoll_placement.score.worth import WHOLE_PERCENT, crossing_percent


def add_gang(variables: Variables, job: Job) -> None:
    """The variables of one gang, and the constraints on it alone."""
    home, ways = stayable(variables.remains.scope.problem, job), list[IntVar]()
    if home:
        stays = variables.yes_or_no()
        variables.kept.append(Kept(job, home, stays))
        ways.append(stays)
    leading = _batches(variables, job, job.roles[0])
    ways += [size.chosen for batch in leading for size in batch.sizes]
    if ways:
        variables.model.add_at_most_one(ways)
    for role in job.companions:
        _accompany(variables, job, role, leading)


def _batches(variables: Variables, job: Job, role: Role) -> list[Batch]:
    """A role's new replicas, by GPU type."""
    found = (_batch(variables, job, role, gpu_type) for gpu_type in sorted(role.yields))
    batches = [batch for batch in found if batch is not None]
    variables.batches.extend(batches)
    return batches


def _accompany(variables: Variables, job: Job, role: Role, leading: Sequence[Batch]) -> None:
    """A companion runs anew if the leading role does, at the same size."""
    counts = job.roles[0].counts
    mine = _batches(variables, role_view(job, role), role)
    for at, count in enumerate(counts):
        leads, follows = Sum(), Sum()
        for batch in leading:
            leads.add((size.chosen, 1) for size in batch.sizes if size.replicas == count)
        for batch in mine:
            follows.add((size.chosen, 1) for size in batch.sizes if size.place == at)
        same(variables.model, leads, follows)


def _batch(variables: Variables, job: Job, role: Role, gpu_type: GpuType) -> Batch | None:
    room = rooms(variables.remains, job, role, gpu_type)
    sizes = tuple(_sizes(variables, job, role, gpu_type, sum(room.values())))
    if not sizes:
        return None
    most = max(role.counts) * role.pods_per_replica
    room = {row: min(most, fits) for row, fits in room.items()}
    pods = {row: variables.up_to(fits) for row, fits in room.items()}
    replicas = Sum().add((size.chosen, size.replicas) for size in sizes)
    wanted = Sum().add(replicas.terms, role.pods_per_replica)
    same(variables.model, Sum().add((count, 1) for count in pods.values()), wanted)
    batch = Batch(job, role, gpu_type, pods, replicas, sizes)
    _stay_together(variables, batch, room)
    _share_spot(variables, batch)
    return batch


def _sizes(
    variables: Variables, job: Job, role: Role, gpu_type: GpuType, room: int
) -> Iterator[Size]:
    """A choice for each count that fits; two if it matters whether the gang crosses domains."""
    lost_percent = crossing_percent(variables.remains.scope.problem, job, gpu_type)
    for place, count in enumerate(role.counts):
        pods = count * role.pods_per_replica
        if pods <= room:
            yield Size(place, count, crosses=False, chosen=variables.yes_or_no())
            if job.preferred_level is not None and pods > 1 and lost_percent:
                yield Size(place, count, crosses=True, chosen=variables.yes_or_no())


def _stay_together(variables: Variables, batch: Batch, room: Rooms) -> None:
    """All pods in one domain of the required level; of the preferred one, unless it crosses."""
    required, preferred = batch.job.required_level, batch.job.preferred_level
    if required is not None:
        domains = by_domain(variables.remains, batch.pods, required)
        chosen = [size.chosen for size in batch.sizes]
        _in_one_domain(variables, domains, batch, room, (chosen, ()))
    across = [size.chosen for size in batch.sizes if size.crosses]
    if across and preferred is not None:
        domains = by_domain(variables.remains, batch.pods, preferred)
        inside = [size.chosen for size in batch.sizes if not size.crosses]
        _in_one_domain(variables, domains, batch, room, (inside, across))


def _in_one_domain(
    variables: Variables,
    domains: Iterable[Sequence[int]],
    batch: Batch,
    room: Rooms,
    choices: tuple[Sequence[IntVar], Sequence[IntVar]],
) -> None:
    """One of the first choices has all pods in one domain, one of the second anywhere."""
    inside, across = choices
    here = [(variables.yes_or_no(), rows) for rows in domains]
    one, chosen = Sum().add((h, 1) for h, _ in here), Sum().add((each, 1) for each in inside)
    same(variables.model, one, chosen)
    for is_here, rows in here:
        for row in rows:
            allowed = Sum().add((each, room[row]) for each in (is_here, *across))
            covers(variables.model, allowed, Sum().add([(batch.pods[row], 1)]))


def _share_spot(variables: Variables, batch: Batch) -> None:
    """No more replicas have a pod on a spot node than the share; such pods are put together."""
    nodes, percent = variables.remains.scope.problem.nodes, batch.job.spot_percent
    on_spot = [count for row, count in batch.pods.items() if nodes[row].spot]
    if not on_spot or percent >= WHOLE_PERCENT:
        return
    touched = variables.up_to(max(batch.role.counts))
    pods = Sum().add((count, 1) for count in on_spot)
    covers(variables.model, Sum().add([(touched, batch.role.pods_per_replica)]), pods)
    share = Sum().add(batch.replicas.terms, percent)
    covers(variables.model, share, Sum().add([(touched, WHOLE_PERCENT)]))
