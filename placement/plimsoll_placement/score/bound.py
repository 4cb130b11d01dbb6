"""A bound on the score of any placements, cheap enough to compute for every plan.

Each level is bounded by what its jobs ask for and by the GPUs that are left: valid, and often tight
where there is room for everything or where only GPUs are scarce. The models give closer bounds.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from plimsoll_placement.model import GpuType, Job, Node, NodeName, Role
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
    weights, best_worth = problem.priority_weight, BestWorth(problem)
    bids: list[_Bid] = []
    for job in problem.jobs:
        demand[job.priority].add(job)
        bids.append(_Bid.of(job, best_worth.of(job, weights[job.priority])))
    supply = _supply(problem)
    left, levels = sum(supply.values()), [_guaranteed(problem, supply)]
    for place, wanted in enumerate(demand.values()):
        levels += wanted.most(left)
        if reached is not None:
            left -= wanted.used(*reached.levels[1 + 2 * place : 3 + 2 * place])
    return Score((*levels, _most_worth(bids, sum(supply.values()))))


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

    def add(self, job: Job) -> None:
        """Count one more job."""
        kept, admitted = most_kept_and_admitted(job)
        self.kept += kept
        self.admitted += admitted
        if job.gang:
            if admitted:
                self.waiting[job.urgency_milli] += least_milli(job)
        else:
            self.kept_by_services += kept
            self.admitted_by_services += admitted

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


def _supply(problem: Problem) -> dict[GpuType, int]:
    """Milli-GPUs by type: what each node has, or what pinned jobs hold there if that is more."""
    held: dict[tuple[NodeName, GpuType], int] = defaultdict(int)
    for job in problem.jobs:
        for assignment in job.running if job.pinned else ():
            for name in assignment.nodes:
                held[name, assignment.gpu_type] += job.role(assignment.role).shape.gpu_milli
    here = {
        (node.name, devices.gpu_type): sum(
            sum(each.free_milli) for each in node.devices if each.gpu_type == devices.gpu_type
        )
        for node in problem.nodes
        for devices in node.devices
    }
    supply: dict[GpuType, int] = defaultdict(int)
    for key in {*here, *held}:
        supply[key[1]] += max(here.get(key, 0), held[key])
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
