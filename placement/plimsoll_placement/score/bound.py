"""A bound on the score of any placements, cheap enough to compute for every plan.

Each level is bounded by what its jobs ask for and by the GPUs that are left: valid, and often tight
where there is room for everything or where only GPUs are scarce. The models give closer bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from plimsoll_placement.model import GpuType, Job, JobName, Node, NodeName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import (
    held_milli,
    kept_and_admitted,
    least_milli,
    pod_price,
    price_class,
    price_key,
    served_milli,
    worth,
)
from plimsoll_placement.solution import Score


def simple_bound(problem: Problem, reached: Score | None = None) -> Score:
    """A score that no sound placements exceed in any level.

    With `reached`, the score of some placements, the bound of a level holds for all placements that
    are no worse in the levels before it: these leave fewer GPUs for the rest.
    """
    demand = {priority: _Demand() for priority in problem.priorities}
    known = _Known() if problem.memory is None else problem.memory.part(_Known)
    known.turn_to(problem)
    bids: list[_Bid] = []
    for job in problem.jobs:
        most = known.of(job)
        demand[job.priority].add(job, most)
        bids.append(most.bid)
    supply = _supply(problem, known.here)
    left, levels = sum(supply.values()), [_guaranteed(problem, supply)]
    for place, wanted in enumerate(demand.values()):
        levels += wanted.most(left)
        if reached is not None:
            left -= wanted.used(*reached.levels[1 + 2 * place : 3 + 2 * place])
    return Score((*levels, _most_worth(bids, sum(supply.values()))))


@dataclass(frozen=True, slots=True)
class _Most:
    """The most that a job can keep running and newly admit, in milli-GPUs, and its bid."""

    kept: int
    admitted: int
    milli: int
    bid: "_Bid"


class _Known:
    """What is known of the jobs and nodes of one problem after the other."""

    def __init__(self) -> None:
        self.here: dict[tuple[NodeName, GpuType], int] = {}
        """Milli-GPUs by node and type."""
        self._nodes: tuple[Node, ...] | None = None
        self._valued: object = None
        self._best: BestWorth
        self._most: dict[JobName, tuple[Job, _Most]] = {}

    def turn_to(self, problem: Problem) -> None:
        """Forget what does not hold in a problem."""
        valued = problem.weights, problem.levels, problem.priorities
        if len(self._most) > 2 * len(problem.jobs):
            self._most.clear()
        if problem.nodes is self._nodes and valued == self._valued:
            return
        best = BestWorth(problem)
        if self._valued != valued or best.kinds != self._best.kinds:
            self._most.clear()
        self.here = self.here if problem.nodes is self._nodes else _here(problem)
        self._nodes, self._valued, self._best = problem.nodes, valued, best

    def of(self, job: Job) -> _Most:
        """The most that one job can do."""
        found = self._most.get(job.name)
        if found is None or found[0] is not job:
            weight = self._best.problem.priority_weight[job.priority]
            bid = _Bid.of(job, self._best.of(job, weight))
            found = job, _Most(*most_kept_and_admitted(job), least_milli(job), bid)
            if not job.pinned:  # what it is worth depends on its nodes
                self._most[job.name] = found
        return found[1]


@dataclass(slots=True)
class _Demand:
    """What jobs of one priority can keep running and newly admit, in milli-GPUs.

    What gangs hold at their least size comes out of the supply; what services serve need not.
    """

    kept: int = 0
    admitted: int = 0
    kept_by_services: int = 0
    admitted_by_services: int = 0
    waiting: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """What waiting gangs ask for, by urgency."""

    def add(self, job: Job, most: _Most) -> None:
        """Count one more job."""
        self.kept += most.kept
        self.admitted += most.admitted
        if not job.gang:
            self.kept_by_services += most.kept
            self.admitted_by_services += most.admitted
        elif most.admitted:
            self.waiting[job.urgency_milli] += most.milli

    def most(self, left: int) -> tuple[int, int]:
        """Both levels, given this many milli-GPUs."""
        return (
            min(self.kept, left + self.kept_by_services),
            min(self.admitted, self._most_urgent(left) + self.admitted_by_services),
        )

    def _most_urgent(self, left: int) -> int:
        """What gangs can contribute if the most urgent get what is left."""
        total = 0
        for urgency in sorted(self.waiting, reverse=True):
            taken = min(self.waiting[urgency], left)
            total, left = total + taken * urgency, left - taken
        return total // 1000

    def used(self, kept: int, admitted: int) -> int:
        """The least milli-GPUs held when both levels reach these values."""
        by_gangs = max(0, kept - self.kept_by_services)
        fresh = 1000 * max(0, admitted - self.admitted_by_services)
        for urgency in sorted(self.waiting, reverse=True):
            taken = min(self.waiting[urgency], fresh // urgency)
            by_gangs, fresh = by_gangs + taken, fresh - taken * urgency
            if taken < self.waiting[urgency]:
                break
        return by_gangs


@dataclass(frozen=True, slots=True)
class _Bid:
    """A job's greatest worth if it runs, its loss if it does not, and the GPUs it needs."""

    worth: int
    loss: int
    milli: int

    @classmethod
    def of(cls, job: Job, worth: int) -> "_Bid":
        if job.pinned:
            return cls(worth, 0, 0)
        loss = job.stop_seconds * held_milli(job, job.running)
        return cls(worth, loss, least_milli(job) if job.gang else 0)


def _most_worth(bids: Iterable[_Bid], supply: int) -> int:
    """The last level if jobs could be split: those that bring most for each GPU needed run."""
    total = 0
    waiting: list[_Bid] = []
    for bid in bids:
        if bid.milli:
            total -= bid.loss
            waiting.append(bid)
        else:
            total += bid.worth
    waiting.sort(key=lambda bid: (bid.worth + bid.loss) / bid.milli, reverse=True)
    for bid in waiting:
        taken = min(bid.milli, supply)
        total += -(-(bid.worth + bid.loss) * taken // bid.milli)
        supply -= taken
    return total


def most_kept_and_admitted(job: Job) -> tuple[int, int]:
    """The most that a job can keep running and newly admit, in milli-GPUs."""
    if job.pinned:
        return kept_and_admitted(job, job.running)
    if job.gang:
        least = least_milli(job)
        return (least, 0) if job.is_running else (0, least * job.urgency_milli // 1000)
    wanted = sum(role.wanted_milli for role in job.roles)
    kept = served_milli(job, job.running)
    return kept, (wanted - kept) * job.urgency_milli // 1000


def _guaranteed(problem: Problem, supply: Mapping[GpuType, int]) -> int:
    """What is guaranteed, as far as there are GPUs and jobs to use it."""
    demand = _demand(problem)
    return sum(
        min(milli, supply[kind], demand[queue, kind])
        for (queue, kind), milli in problem.entitlements.items()
    )


def _here(problem: Problem) -> dict[tuple[NodeName, GpuType], int]:
    """The milli-GPUs of each type that each node has."""
    here: dict[tuple[NodeName, GpuType], int] = defaultdict(int)
    for node in problem.nodes:
        for devices in node.devices:
            here[node.name, devices.gpu_type] += sum(devices.free_milli)
    return here


def _supply(problem: Problem, here: Mapping[tuple[NodeName, GpuType], int]) -> dict[GpuType, int]:
    """Milli-GPUs by type: what each node has, or what pinned jobs hold there if that is more."""
    held: dict[tuple[NodeName, GpuType], int] = defaultdict(int)
    for job in problem.jobs:
        for assignment in job.running if job.pinned else ():
            for name in assignment.nodes:
                held[name, assignment.gpu_type] += job.role(assignment.role).shape.gpu_milli
    supply: dict[GpuType, int] = defaultdict(int)
    for (_, kind), milli in here.items():
        supply[kind] += milli
    for (name, kind), milli in held.items():
        supply[kind] += max(0, milli - here.get((name, kind), 0))
    return supply


def _demand(problem: Problem) -> dict[tuple[str, GpuType], int]:
    demand: dict[tuple[str, GpuType], int] = defaultdict(int)
    for job in problem.jobs:
        for role in job.roles:
            size = role.counts[0] if job.gang else role.counts[-1]
            milli = size * role.pods_per_replica * role.shape.gpu_milli
            for queue in problem.queue_chain.get(job.queue, ()):
                for kind in role.yields:
                    demand[queue, kind] += milli
    return demand


class BestWorth:
    """The most that a job alone in the cluster could be worth."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._nodes: dict[GpuType, dict[tuple[int, int, int], Node]] = defaultdict(dict)
        for node in problem.nodes:
            for devices in node.devices:
                self._nodes[devices.gpu_type].setdefault(price_class(node), node)
        self._prices: dict[tuple[object, ...], int] = {}

    @property
    def kinds(self) -> Mapping[GpuType, frozenset[tuple[int, int, int]]]:
        """What decides prices, by GPU type."""
        return {kind: frozenset(nodes) for kind, nodes in self._nodes.items()}

    def of(self, job: Job, weight: int) -> int:
        """The most that the job can be worth; never below 0, as a job left out costs nothing."""
        if job.pinned:
            return worth(self.problem, job, job.running, weight)
        horizon = self.problem.weights.horizon_seconds * weight
        return max(0, sum(self._of_role(job, role, horizon) for role in job.roles))

    def _of_role(self, job: Job, role: Role, horizon: int) -> int:
        best: list[int] = [0]
        for kind, yields in role.yields.items():
            if kind not in self._nodes:
                continue
            price = self._price(job, role, kind) * role.pods_per_replica
            if role.mixable:
                # The price by served load cannot be below that of the cheapest replica.
                best.append(role.wanted_milli * horizon)
            else:
                best += [
                    value * horizon - price * size
                    for value, size in zip(yields, role.counts, strict=True)
                ]
        return max(best)

    def _price(self, job: Job, role: Role, kind: GpuType) -> int:
        key = (*price_key(job, role), kind)
        if key not in self._prices:
            self._prices[key] = min(
                pod_price(self.problem, job, role, node) for node in self._nodes[kind].values()
            )
        return self._prices[key]
