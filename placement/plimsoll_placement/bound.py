"""How good can any placements be at best? A bound that is cheap enough to have for every plan.

Each level is bounded on its own, as if the others did not compete: valid, often tight when there
is room for everything, and replaced by the model's own bound where that ran.
"""

from collections import defaultdict

from plimsoll_placement.problem import (
    GpuType,
    Job,
    Node,
    NodeName,
    Problem,
    Role,
)
from plimsoll_placement.score import (
    kept_and_admitted,
    least_milli,
    pod_price,
    price_class,
    price_key,
    priorities,
    priority_weight,
    served_milli,
)
from plimsoll_placement.solution import Score


def simple_bound(problem: Problem) -> Score:
    """A score that no feasible placements exceed in any level."""
    kept: dict[int, int] = defaultdict(int)
    admitted: dict[int, int] = defaultdict(int)
    weights, best_worth = priority_weight(problem), _BestWorth(problem)
    worth = 0
    for job in problem.jobs:
        keeps, admits = most_kept_and_admitted(job)
        kept[job.priority] += keeps
        admitted[job.priority] += admits
        worth += best_worth.of(job, weights[job.priority])
    levels = [_guaranteed(problem)]
    for priority in priorities(problem):
        levels += [kept[priority], admitted[priority]]
    return Score((*levels, worth))


def most_kept_and_admitted(job: Job) -> tuple[int, int]:
    """What a job can keep running and newly admit at the most, in milli-GPUs."""
    if job.pinned:
        return kept_and_admitted(job, job.running)
    if job.gang:
        least = least_milli(job)
        return (least, 0) if job.is_running else (0, least * job.urgency_milli // 1000)
    wanted = sum(role.wanted_milli for role in job.roles)
    kept = served_milli(job, job.running)
    return kept, (wanted - kept) * job.urgency_milli // 1000


def _guaranteed(problem: Problem) -> int:
    """What is guaranteed, as far as there are GPUs and jobs that could use it."""
    supply = _supply(problem)
    demand = _demand(problem)
    return sum(
        min(milli, supply[kind], demand[queue.name, kind])
        for queue in problem.queues
        for kind, milli in queue.guaranteed.items()
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


class _BestWorth:
    """The most that a job alone in the cluster could be worth."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._nodes: dict[GpuType, dict[tuple[int, int, int], Node]] = defaultdict(dict)
        for node in problem.nodes:
            for devices in node.devices:
                self._nodes[devices.gpu_type].setdefault(price_class(node), node)
        self._prices: dict[tuple[object, ...], int] = {}

    def of(self, job: Job, weight: int) -> int:
        """Zero if it is best left out; never less, for a job that is left out costs nothing."""
        horizon = self.problem.weights.horizon_seconds * weight
        total = sum(self._of_role(job, role, horizon) for role in job.roles)
        return total if job.pinned else max(0, total)

    def _of_role(self, job: Job, role: Role, horizon: int) -> int:
        best: list[int] = [0]
        for kind, yields in role.yields.items():
            if kind not in self._nodes:
                continue
            price = self._price(job, role, kind) * role.pods_per_replica
            if role.mixable:
                # Price by served load cannot be less than the cheapest replica's.
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
