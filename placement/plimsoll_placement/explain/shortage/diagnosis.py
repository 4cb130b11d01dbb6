"""What a job lacks in a ledger: the first constraint that rules it out, type by type.

Constraints are checked in this order, each together with those before it: nodes that may be used,
queue limits, devices, spot share, CPU and memory, topology, power. All but the last are exact for
one role; power is bounded from below by the nodes that draw least.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_placement.explain.shortage.missing_power import pods_within_power, power_gaps
from plimsoll_placement.explain.shortage.node_index import NodeIndex, node_index
from plimsoll_placement.explain.shortage.shortage import (
    Ask,
    DomainRoom,
    NodesInReach,
    OtherRoom,
    QueueRoom,
    Reason,
    Shortage,
)
from plimsoll_placement.model import GpuType, Job, QueueName, Role
from plimsoll_placement.placing.place import Request, place_alone, role_view
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.ledger import Ledger


def shortages(ledger: Ledger, job: Job) -> tuple[Shortage, ...]:
    """What the first role that cannot be placed lacks on each type, the closest type first.

    Empty if the job can be placed at its least size. The ledger is left unchanged.
    """
    try:
        stuck = place_until_stuck(ledger, job)
        return () if stuck is None else role_shortages(ledger, job, stuck)
    finally:
        ledger.clear(job)


def place_until_stuck(ledger: Ledger, job: Job) -> Role | None:
    """Place one role after the other; the first that does not fit, None if all do."""
    return next((role for role in job.roles if not _assignments(ledger, job, role)), None)


def role_shortages(ledger: Ledger, job: Job, role: Role) -> tuple[Shortage, ...]:
    """What a role that cannot be placed lacks on each type, the closest type first."""
    view = role_view(job, role)
    found = [_diagnosed(_Case.of(ledger, view, role, gpu_type)) for gpu_type in role.yields]
    return tuple(sorted(found, key=lambda s: (-s.nearness, s.ask.gpu_type)))


def _assignments(ledger: Ledger, job: Job, role: Role) -> bool:
    before = ledger.placed.get(job.name, ())
    replicas = tuple(range(role.least))
    for part in [replicas][: role.least] if job.gang else [(replica,) for replica in replicas]:
        requests = (Request(role_view(job, role), role, kind, part) for kind in role.yields)
        if all(place_alone(ledger, request) is None for request in requests):
            mine = ledger.placed.get(job.name, ())
            ledger.give_back(job, [a for a in mine if a not in before])
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Case:
    """One role on one type, with what the constraints are read from."""

    ledger: Ledger
    job: Job
    ask: Ask
    offered: NodeIndex
    spot_pods: int

    @classmethod
    def of(cls, ledger: Ledger, job: Job, role: Role, gpu_type: GpuType) -> "_Case":
        return cls(
            ledger,
            job,
            _ask(ledger, job, role, gpu_type),
            node_index(ledger, role, gpu_type),
            spot_pods(job, role),
        )

    @property
    def usable(self) -> NodeIndex:
        return self.offered.usable(spot=self.spot_pods > 0)

    def groups(self, pods: Ints, at: NodeIndex, *, by_level: bool = False) -> Ints:
        """The groups that fit, by domain, if each entry has room for this many pods."""
        numbers = self.numbers(at, by_level=by_level)
        steady = np.bincount(numbers, np.where(at.spot, 0, pods), 1)
        on_spot = np.minimum(np.bincount(numbers, np.where(at.spot, pods, 0), 1), self.spot_pods)
        return ((steady + on_spot) // self.ask.group_pods).astype(np.int64)

    def numbers(self, at: NodeIndex, *, by_level: bool) -> Ints:
        """The number of each entry's domain; without `by_level` all may share one."""
        if not by_level or self.job.required_level is None:
            return np.zeros_like(at.rows)
        return self.ledger.domains(self.job.required_level)[at.rows]


def _ask(ledger: Ledger, job: Job, role: Role, gpu_type: GpuType) -> Ask:
    """What a role asks for on a type at its least size."""
    count = role.least
    level = "" if job.required_level is None else ledger.problem.levels[job.required_level]
    groups, replicas = (1, count) if job.gang else (count, 1)
    return Ask(role.name, gpu_type, role.shape, groups, replicas * role.pods_per_replica, level)


def sharing_spot(job: Job, role: Role) -> tuple[Role, ...]:
    """The roles that share the limit to the replicas on spot nodes: in a gang each has its own."""
    return (role,) if job.gang else job.roles


def spot_pods(job: Job, role: Role) -> int:
    """How many pods of a role may be on spot nodes if no other role uses the share."""
    allowed = sum(each.least for each in sharing_spot(job, role)) * job.spot_percent // 100
    return min(allowed, role.least) * role.pods_per_replica


def _diagnosed(case: _Case) -> Shortage:
    at = case.usable
    steady = at.where(~at.spot)
    plain = Shortage(
        reason=Reason.PENDING,
        ask=case.ask,
        nodes=_nodes_in_reach(case, at),
        bound=case.ask.groups,
        spot_pods=case.spot_pods,
        steady_pods=int(steady.devices.sum()),
        queue=queue_room(case.ledger, case.job.queue, case.ask.gpu_type),
    )
    found = list(_constraints(case, at, plain))
    bound = min((shortage.bound for shortage in found), default=plain.bound)
    ruled_out = (s for s in found if s.bound < case.ask.groups)
    return replace(next(ruled_out, plain), bound=bound)


def _constraints(case: _Case, at: NodeIndex, plain: Shortage) -> Iterator[Shortage]:
    """Each constraint with what it leaves, in the order in which it is reported."""
    reach = plain.nodes
    if not case.offered.nodes:
        yield replace(plain, reason=Reason.INSUFFICIENT_GPUS, bound=0)
        return
    if not reach.open:
        yield replace(plain, reason=Reason.NO_ELIGIBLE_NODE, bound=0)
        return
    yield _by_queue(case, plain)
    yield _by_devices(case, plain)
    yield _by_spot_share(case, at, plain)
    yield _by_others(case, at, plain)
    yield _by_topology(case, at, plain)
    if case.ledger.power.names:
        yield _by_power(case, at, plain)


def _by_queue(case: _Case, plain: Shortage) -> Shortage:
    if plain.queue is None:
        return plain
    per_group = case.ask.group_pods * case.ask.shape.gpu_milli
    bound = max(0, plain.queue.milli) // max(per_group, 1)
    return replace(plain, reason=Reason.QUEUE_LIMIT, bound=bound)


def _by_devices(case: _Case, plain: Shortage) -> Shortage:
    everywhere = case.offered.usable(spot=True)
    bound = int(everywhere.devices.sum()) // case.ask.group_pods
    return replace(plain, reason=Reason.INSUFFICIENT_GPUS, bound=bound)


def _by_spot_share(case: _Case, at: NodeIndex, plain: Shortage) -> Shortage:
    bound = int(case.groups(at.devices, at).sum())
    return replace(plain, reason=Reason.SPOT_SHARE, bound=bound)


def _by_others(case: _Case, at: NodeIndex, plain: Shortage) -> Shortage:
    bound = int(case.groups(at.room, at).sum())
    rows = at.rows[at.devices > 0]
    others = OtherRoom(
        cpu_millis=int(case.ledger.cpu[rows].max(initial=0)),
        memory_bytes=int(case.ledger.memory[rows].max(initial=0)),
        gpu_memory_bytes=int(
            np.minimum(case.ledger.gpu_memory[rows], case.ledger.gpu_memory_each[rows]).max(
                initial=0
            )
        ),
        pods=int(at.room.sum()),
        others=tuple(
            (name, max(0, int(case.ledger.other(name)[rows].max(initial=0))))
            for name, _ in case.ask.shape.others
        ),
    )
    return replace(plain, reason=Reason.INSUFFICIENT_RESOURCES, bound=bound, others=others)


def _by_topology(case: _Case, at: NodeIndex, plain: Shortage) -> Shortage:
    if case.job.required_level is None:
        return plain
    bound = int(case.groups(at.room, at, by_level=True).sum())
    pods = np.bincount(case.numbers(at, by_level=True), at.room, 1)
    best = at.rows[case.numbers(at, by_level=True) == int(pods.argmax())]
    domain = DomainRoom(_domain_name(case, best), int(pods.max()))
    return replace(plain, reason=Reason.TOPOLOGY_UNSATISFIED, bound=bound, domain=domain)


def _domain_name(case: _Case, rows: Ints) -> str:
    level = case.job.required_level
    if not len(rows) or level is None:
        return ""
    node = case.ledger.problem.nodes[int(rows[0])]
    return node.topology[level] or node.name


def _by_power(case: _Case, at: NodeIndex, plain: Shortage) -> Shortage:
    numbers = case.numbers(at, by_level=True)
    groups = {
        int(number): pods_within_power(case.ledger, at.where(numbers == number), case.ask.shape)
        // case.ask.group_pods
        for number in np.unique(numbers)
    }
    bound = sum(groups.values())
    if bound >= case.ask.groups:
        return replace(plain, bound=bound)
    tried = [at.where(numbers == number) for number in groups]
    gaps = [gap for part in tried for gap in power_gaps(case.ledger, part, case.ask)]
    least = min(gaps, key=lambda gap: (gap.missing_milliwatts, gap.domain), default=None)
    return replace(plain, reason=Reason.POWER_BUDGET, bound=bound, power=least)


def _nodes_in_reach(case: _Case, at: NodeIndex) -> NodesInReach:
    offered = case.offered
    return NodesInReach(
        offering=offered.nodes,
        eligible=offered.where(offered.eligible).nodes,
        open=offered.usable(spot=True).nodes,
        spot=offered.usable(spot=True).nodes - at.nodes,
        most_free_milli=int(at.free_milli.max(initial=0)),
        pods=int(at.devices.sum()),
        most_pods=int(at.total.max(initial=0)),
        grants_share=bool(offered.grants.any()),
    )


def queue_room(ledger: Ledger, queue: QueueName, gpu_type: GpuType) -> QueueRoom | None:
    """The queue of the chain that has the least left of a type; None if none has a limit."""
    by_name = ledger.problem.queue_by_name
    rooms = [
        (limit - ledger.queue_used[name, gpu_type], depth, name)
        for depth, name in enumerate(ledger.problem.queue_chain.get(queue, ()))
        if (limit := by_name[name].limit.get(gpu_type)) is not None
    ]
    if not rooms:
        return None
    milli, _, name = min(rooms)
    return QueueRoom(name, milli)
