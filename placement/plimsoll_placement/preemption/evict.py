"""Choose what to preempt so that a job fits: least important first, with the least work lost.

Candidates are put in the order in which they should yield. The shortest prefix of that order after
which the job fits is removed; then, from the most important on, whatever was removed needlessly
comes back. Whether the removed jobs find another place is decided later, in their turn.
"""

from collections.abc import Callable, Iterable

import numpy as np

from plimsoll_placement.model import Assignments, Job
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.preemption.nodes import NodePreemption
from plimsoll_placement.preemption.victims import (
    Victim,
    is_paid,
    may_give_way,
    reprieve,
    victims_of,
)
from plimsoll_placement.state.ledger import Ledger

MOST_IN_ONE_ORDER = 300
"""With more placed jobs than this, ordering all of them takes too long."""


def place_by_eviction(ledger: Ledger, request: Request, *, reclaim: bool) -> Assignments | None:
    """Assignments for a request after preempting others; None, and no change, if that fails.

    Unless it pays for what they lose, that fails. `reclaim`: the request is within its queue's
    guarantee, and takes it back from any queue that holds more than its own, whatever the priority
    and the loss. When much is placed, nodes are cleared one by one.
    """
    if len(ledger.placed) > MOST_IN_ONE_ORDER:
        attempt = NodePreemption(ledger, request, reclaim=reclaim)
        assignments, lost = attempt.assignments(), attempt.removed
    else:
        assignments, lost = _in_one_order(ledger, request, reclaim=reclaim)
    if assignments is None or is_paid(ledger, request, assignments, lost, reclaim=reclaim):
        return assignments
    ledger.give_back(request.job, assignments)
    reprieve(ledger, lost)
    return None


def _in_one_order(
    ledger: Ledger, request: Request, *, reclaim: bool
) -> tuple[Assignments | None, list[Victim]]:
    """Assignments after preempting the first of all candidates, and what these have lost."""
    victims = _victims(ledger, request, reclaim=reclaim)
    order = sorted(victims, key=lambda victim: victim.order(reclaim=reclaim))
    removed: list[Victim] = []
    step = 1
    while len(removed) < len(order):
        for victim in order[len(removed) : len(removed) + step]:
            ledger.give_back(victim.job, victim.assignments)
            removed.append(victim)
        step *= 2
        assignments = place(ledger, request)
        if assignments is not None:
            return assignments, reprieve(ledger, removed)
    return None, reprieve(ledger, removed)


def _victims(ledger: Ledger, request: Request, *, reclaim: bool) -> Iterable[Victim]:
    near = in_the_way(ledger, request)
    for name, assignments in ledger.placed.items():
        job = ledger.problem.job_by_name[name]
        if may_give_way(request, job, assignments, reclaim=reclaim) and near(job, assignments):
            yield from victims_of(ledger, request, job, reclaim=reclaim)


def in_the_way(ledger: Ledger, request: Request) -> Callable[[Job, Assignments], bool]:
    """A test of whether removing a job could help: same nodes, same limited queue, same power."""
    near_rows, index = _near_rows(ledger, request), ledger.problem.node_index
    limited = {
        queue
        for queue in ledger.problem.queue_chain.get(request.job.queue, ())
        if request.gpu_type in ledger.problem.queue_by_name[queue].limit
    }

    def near(job: Job, assignments: Assignments) -> bool:
        if any(near_rows[index[name]] for a in assignments for name in a.nodes if name in index):
            return True
        chain = ledger.problem.queue_chain.get(job.queue, ())
        return not limited.isdisjoint(chain) and any(
            a.gpu_type == request.gpu_type for a in assignments
        )

    return near


def _near_rows(ledger: Ledger, request: Request) -> bytes:
    """Mark each node that the request could use, or that shares power with such a node."""
    power, near = ledger.power, np.zeros(len(ledger.problem.nodes), dtype=np.bool_)
    beside = [(role, kind) for role in request.job.companions for kind in role.yields]
    for role, kind in ((request.role, request.gpu_type), *beside):
        eligible = ledger.eligible(role.eligible)
        for device_pool in ledger.pools_of(kind):
            near[device_pool.rows] |= eligible[device_pool.rows]
    shared = np.zeros(len(power.left), dtype=np.bool_)
    shared[power.domains[near]] = True
    shared[-1] = False
    return (near | shared[power.domains].any(axis=1)).tobytes()
