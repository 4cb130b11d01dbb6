"""Decide which nodes to buy for the jobs that wait once a plan has given out what there is.

Jobs that have a place keep it. The others are planned onto what is left, onto nodes that are on
their way, and onto nodes that could be bought; what of the last they use is bought, if it can be
paid for. They are few and mostly alike, so greedy's placements are good enough.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Final

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.planning.cluster.cluster import MOST_MICRODOLLARS
from plimsoll.planning.problem.build import plan_input_of, wants_place
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.offers import Offer, node_names
from plimsoll.planning.provisioning.buying.queue_budgets import QueueBudgets, queue_budgets
from plimsoll.planning.provisioning.future_nodes import FutureNode, hourly_price
from plimsoll.planning.serving.pinned_growth import missing_part, missing_parts
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.model import Job, Node, NodeName, Placements
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.problem import Problem

_LIMITS: Final = frozenset({Reason.QUEUE_LIMIT, Reason.POWER_BUDGET, Reason.WAITING_FOR_SPOT})
"""Why jobs wait that would wait with more GPUs as well, or want none but those of spot nodes."""


@dataclass(frozen=True, slots=True)
class Purchases:
    """What to buy: how many nodes of each pool.

    `waiting`: the nodes that each job will start on that are not there yet. `unpaid`: those that
    others would start on if they could be paid for, and `why_unpaid` which limit does not allow it.
    `kept`: the nodes that are there on which jobs will start together with these.
    """

    nodes: Mapping[str, int] = field(default_factory=dict[str, int])
    waiting: Mapping[JobName, tuple[FutureNode, ...]] = field(
        default_factory=dict[JobName, tuple[FutureNode, ...]]
    )
    unpaid: Mapping[JobName, tuple[FutureNode, ...]] = field(
        default_factory=dict[JobName, tuple[FutureNode, ...]]
    )
    why_unpaid: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    kept: Mapping[JobName, frozenset[str]] = field(default_factory=dict[JobName, frozenset[str]])

    @property
    def served(self) -> AbstractSet[JobName]:
        """The jobs for which there are nodes that are bought, or would be if they could be paid."""
        return self.waiting.keys() | self.unpaid.keys()

    def lots(self, pool: str) -> list[int]:
        """How many nodes of a pool to order together: those that a job needs and none before it."""
        seen: set[str] = set()
        found: list[int] = []
        for nodes in self.waiting.values():
            own = {each.name for each in nodes if each.order is None and _is_of(each, pool)} - seen
            seen |= own
            found += [len(own)] if own else []
        return found


def _is_of(node: FutureNode, pool: str) -> bool:
    return node.pool.metadata.name == pool


def offer_to(
    snapshot: Snapshot, settled: Problem, future: Sequence[FutureNode], builder: ProblemBuilder
) -> Offer | None:
    """The problem of the jobs that wait by a plan which leaves the problem `settled`.

    None if none does, or if there are no such nodes.
    """
    if not future or not someone_waits(snapshot, settled):
        return None
    offer = offer_to_all(snapshot, settled, future, builder)
    jobs = tuple(_pinned(job) for job in offer.problem.jobs)
    problem = replace(offer.problem, jobs=jobs)
    return replace(offer, problem=missing_parts(problem).apply(problem))


def offer_to_all(
    snapshot: Snapshot, settled: Problem, future: Sequence[FutureNode], builder: ProblemBuilder
) -> Offer:
    """The problem that a plan leaves `settled`, with such nodes."""
    extended = replace(snapshot, nodes=(*snapshot.nodes, *(each.view for each in future)))
    problem = plan_input_of(extended, builder).problem
    jobs = [_as_planned(job, settled) for job in problem.jobs if job.part_of is None]
    # Here what could be bought is there, so only the plan knows what a dollar buys.
    weights = settled.weights
    problem = replace(
        problem, jobs=tuple(jobs), weights=weights, baseline=None, loss_allowance=None
    )
    by_name = {NodeName(each.name): each for each in future}
    nodes = (_priced(node, by_name.get(node.name), problem) for node in problem.nodes)
    budgets = queue_budgets(snapshot, problem.jobs)
    return Offer(replace(problem, nodes=tuple(nodes)), by_name, budgets)


def someone_waits(snapshot: Snapshot, settled: Problem) -> bool:
    """Whether a plan which leaves the problem `settled` gives some job less than it needs."""
    return any(_lacks(view, settled) for view in snapshot.present)


def waits_for_nodes(
    snapshot: Snapshot, settled: Problem, holds: Iterable[Hold], found: Purchases
) -> bool:
    """Whether some job would start if it had GPUs; what was `found` to be bought is for such jobs.

    Others wait for a limit or for spot, or fit on no node that is there: nodes that they cannot use
    go.
    """
    limited = {hold.job for hold in holds if hold.inadmissible or hold.reason in _LIMITS}
    others = limited - found.waiting.keys()
    return any(_lacks(view, settled) for view in snapshot.present if view.name not in others)


def left_out(snapshot: Snapshot, settled: Problem) -> frozenset[tuple[str, int]]:
    """The jobs that wait and fit on no node that is there, so that no plan knows of them.

    By uid, with the versions of their specs.
    """
    return frozenset(
        (view.uid, view.resource.metadata.generation)
        for view in snapshot.present
        if SolverName(view.name) not in settled.job_by_name and wants_place(view)
    )


def _lacks(view: JobView, settled: Problem) -> bool:
    """Whether a job waits, or is a service that may lack some of its replicas."""
    if not wants_place(view):
        return False
    planned = settled.job_by_name.get(SolverName(view.name))
    return planned is None or not planned.running or missing_part(_pinned(planned)) is not None


def _as_planned(job: Job, settled: Problem) -> Job:
    """The job with the place that the plan gives it; as it is if the plan does not know it."""
    planned = settled.job_by_name.get(job.name)
    return job if planned is None else replace(job, running=planned.running, pinned=planned.pinned)


def _pinned(job: Job) -> Job:
    return replace(job, pinned=bool(job.running))


def _priced(node: Node, future: FutureNode | None, problem: Problem) -> Node:
    """The node, with the price of waiting for it if it is still to be bought.

    A free node that is there, or on its way, is so preferred to a cheaper one that is not.
    """
    if future is None or future.order is not None:
        return node
    worth = problem.weights.gpu_seconds_per_dollar
    if worth <= 0:
        return node
    delay = int(future.start_time.total_seconds() * 1_000_000 / worth)
    price = min(node.microdollars_per_gpu_hour + delay, MOST_MICRODOLLARS)
    return replace(node, microdollars_per_gpu_hour=price)


def purchases(offer: Offer, placements: Placements, most_per_hour: Decimal | None) -> Purchases:
    """What to buy of what placements take, the most important job's nodes first.

    `most_per_hour`: how much more may be spent; None: there is no limit.
    """
    paid: dict[str, FutureNode] = {}
    charged: set[str] = set()
    kept: dict[JobName, frozenset[str]] = {}
    waiting: dict[JobName, tuple[FutureNode, ...]] = {}
    unpaid: dict[JobName, tuple[FutureNode, ...]] = {}
    why: dict[JobName, str] = {}
    queues = offer.queues
    for job in sorted(offer.problem.jobs, key=_turn):
        names = dict.fromkeys(node_names(placements.get(job.name, ())))
        nodes = tuple(offer.future[name] for name in names if name in offer.future)
        if not nodes:
            continue
        name, price = JobName(job.whole_name), cost(n for n in nodes if n.name not in charged)
        new = {each.name: each for each in nodes if each.order is None and each.name not in paid}
        left = None if most_per_hour is None else most_per_hour - cost(paid.values())
        limit = _limit([*new.values()], left, job, price, queues) if new else None
        if limit is not None:
            unpaid[name], why[name] = nodes, limit
            continue
        paid |= new
        queues = queues.after(job.queue, price)
        charged.update(each.name for each in nodes)
        waiting[name] = nodes
        kept[name] = frozenset(node for node in names if node not in offer.future)
    counts = Counter(each.pool.metadata.name for each in paid.values())
    return Purchases(counts, waiting, unpaid, why, kept)


def payable(offer: Offer, found: Purchases, most_per_hour: Decimal | None) -> Mapping[str, int]:
    """How many nodes of each pool there is money for, those included that were `found`.

    As if each pool were alone, and with what is left for that unpaid job which has most.
    """
    pools = {pool.metadata.name: pool for pool in offer.to_buy.values()}
    spent = sum((n * hourly_price(pools[name]) for name, n in found.nodes.items()), Decimal(0))
    rest = None if most_per_hour is None else most_per_hour - spent
    queue_of = {JobName(job.whole_name): job.queue for job in offer.problem.jobs}
    queues, charged = offer.queues, set[str]()
    for name, nodes in found.waiting.items():
        queues = queues.after(queue_of[name], cost(n for n in nodes if n.name not in charged))
        charged.update(each.name for each in nodes)
    most = Decimal(0)
    for name, nodes in found.unpaid.items():
        of_queue = queues.most(queue_of[name])
        if of_queue is not None:
            # A queue pays for what is on its way as well.
            of_queue -= cost(n for n in nodes if n.order is not None and n.name not in charged)
        limits = [each for each in (rest, of_queue) if each is not None]
        most = max(most, min(limits, default=most))
    return {
        name: found.nodes[name] + int(most // price)
        for name, pool in pools.items()
        if (price := hourly_price(pool))
    }


def with_more(found: Purchases, other: Purchases) -> Purchases:
    """What lets more jobs start, these included; of jobs that stay unpaid, what they would need."""
    if not other.waiting.keys() > found.waiting.keys():
        return found
    unpaid = {job: nodes for job, nodes in found.unpaid.items() if job not in other.waiting}
    why = {job: found.why_unpaid[job] for job in unpaid}
    return replace(other, unpaid=unpaid, why_unpaid=why)


def _limit(
    new: Collection[FutureNode],
    left: Decimal | None,
    job: Job,
    price: Decimal,
    queues: QueueBudgets,
) -> str | None:
    """The limit that does not allow a job its new nodes, in words; None if all do.

    `left`: what may still be spent on all; `price`: what its queue pays for its nodes.
    """
    if left is not None and cost(new) > left:
        return f"purchasing.mostPerHour of the PlacementPolicy leaves {left:.2f}"
    return queues.limit(job.queue, new, price)


def cost(nodes: Iterable[FutureNode]) -> Decimal:
    """What nodes cost an hour together."""
    return sum((hourly_price(each.pool) for each in nodes), Decimal(0))


def spent_per_hour(snapshot: Snapshot) -> Decimal:
    """What all nodes that were bought or ordered cost an hour."""
    pools = {pool.metadata.name: pool for pool in snapshot.pools}
    return sum((hourly_price(pools[order.pool]) for order in snapshot.orders), Decimal(0))


def unpriced(snapshot: Snapshot) -> frozenset[str]:
    """The pools of which nothing can be bought: there is a budget, and their price is not known."""
    policy = snapshot.policy
    if policy is None or policy.spec.purchasing.most_per_hour is None:
        return frozenset()
    return frozenset(
        pool.metadata.name
        for pool in snapshot.pools
        if pool.spec.provisioning is not None and not pool.spec.price_per_gpu_hour
    )


def left_per_hour(snapshot: Snapshot) -> Decimal | None:
    """How much more nodes may cost an hour; None: there is no limit."""
    policy = snapshot.policy
    most = None if policy is None else policy.spec.purchasing.most_per_hour
    return None if most is None else most - spent_per_hour(snapshot)


def _turn(job: Job) -> tuple[int, int, str]:
    return -job.priority, job.sequence, job.name
