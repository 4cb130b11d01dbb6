"""What some nodes are worth to the jobs that run, set against what they cost.

A node goes if its jobs are as well off elsewhere, on nodes in use or on cheaper ones; and gangs
grow onto new nodes. Nodes count as a whole, whatever is used of them; those in use cost nothing
more. What moves throw away changes with each checkpoint, so a trade is worth most just after one.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.provisioning.buying.offers import Offer, bought, fewest, with_fewer
from plimsoll.planning.provisioning.buying.purchases import Purchases, purchases
from plimsoll.planning.provisioning.moves import gained_by_moves, worth_of_dollars
from plimsoll.planning.provisioning.start_times import start_time
from plimsoll.planning.training.expected_end import expected_ends
from plimsoll_placement.model import Assignments, Job, JobName, NodeName, Placements
from plimsoll_placement.score.worth import lost_work, served_milli


@dataclass(frozen=True, slots=True)
class Trade:
    """Nodes that could change hands, and the problem that says where jobs would be then.

    `node`: the one that goes; None if none does. `saved`: what that saves an hour; None if it goes
    whatever that costs. `charged`: what each node costs an hour that is not in use yet, for the
    time in which changes must pay.
    """

    node: str | None
    offer: Offer
    saved: float | None
    charged: Mapping[NodeName, float]

    def net(self, placements: Placements, allowance: int | None) -> int | None:
        """What jobs gain by these placements beyond what is thrown away and paid for them.

        In milli-GPU-seconds; None if it does not pay. `allowance`: the work that plans may throw
        away; None: no limit.
        """
        problem = self.offer.problem
        changed = [job for job in problem.jobs if placements.get(job.name, ()) != job.running]
        if not all(self._is_well_placed(job, placements.get(job.name, ())) for job in changed):
            return None
        lost = sum(lost_work(job, placements.get(job.name, ())) for job in changed)
        if allowance is not None and lost > allowance:
            return None
        dollars = (self.saved or 0.0) - self._paid(placements)
        net = gained_by_moves(problem, changed, placements) + worth_of_dollars(problem, dollars)
        return net if net > 0 or self.saved is None else None

    def with_fewer(self, placements: Placements) -> "Trade | None":
        """The same with as few nodes to buy as would hold the placements; None if it has those."""
        most, least = bought(self.offer, placements), fewest(self.offer, placements)
        return None if most == least else replace(self, offer=with_fewer(self.offer, least))

    def purchases(self, placements: Placements, left: Decimal | None) -> Purchases | None:
        """What to buy, or await, for the placements; None if it cannot be paid for."""
        found = purchases(self.offer, placements, left)
        return None if found.unpaid else found

    def _is_well_placed(self, job: Job, placed: Assignments) -> bool:
        """Whether a job may be told to go there: a service serves, and who must go keeps its size.

        Gangs may become smaller where that is what pays.
        """
        if not job.gang:
            return served_milli(job, placed) >= served_milli(job, job.running)
        return len(placed) >= (len(job.running) if self.saved is None else 1)

    def _paid(self, placements: Placements) -> float:
        """What the nodes cost an hour that the placements take and nobody uses yet."""
        taken = {node for placed in placements.values() for each in placed for node in each.nodes}
        return sum(self.charged[node] for node in self.charged.keys() & taken)


def growth(
    offer: Offer, charged: Mapping[NodeName, float], ending: AbstractSet[JobName] = frozenset()
) -> Trade:
    """Nodes for gangs to grow on, where they are; not for those that are `ending` soon."""
    jobs = (
        replace(job, pinned=job.name in ending or not _may_grow(job)) for job in offer.problem.jobs
    )
    problem = replace(offer.problem, jobs=tuple(jobs))
    return Trade(None, replace(offer, problem=problem), 0.0, charged)


def ending_soon(snapshot: Snapshot) -> frozenset[JobName]:
    """The jobs that are expected to be done before new nodes would be of use to them."""
    times = [
        start_time(pool, snapshot) for pool in snapshot.pools if pool.spec.provisioning is not None
    ]
    soon = 2 * max(times, default=timedelta(0)).total_seconds()
    ends = expected_ends(snapshot)
    return frozenset(JobName(name) for name, seconds in ends.items() if seconds < soon)


def _may_grow(job: Job) -> bool:
    return job.gang and job.is_running and not job.pinned and job.knows_its_roles
