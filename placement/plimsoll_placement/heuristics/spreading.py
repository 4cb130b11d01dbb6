"""Spread what starts of a service, so that a node or zone that fails takes no more than half of it.

That is done once all have a place, among nodes that cost no more, and where the pods to come lose
no more GPUs by it than the replica has itself. Nothing that runs moves for it, and no node that
could be given back is kept for it. Services whose replicas shall be close together are left alone,
as are replicas on several nodes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.check import violations
from plimsoll_placement.model import Assignment, Assignments, Job, JobName, Placements, Role
from plimsoll_placement.placing.place import Request, loss_alone, place
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.score.worth import domain_of
from plimsoll_placement.solution import Solution
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger

Bools = NDArray[np.bool_]


def with_spread(problem: Problem, found: Solution) -> Solution:
    """The solution, with the replicas that start spread; its score does not fall."""
    crowded = list(_crowded(problem, found.placements))
    if not crowded:
        return found
    placements: dict[JobName, Assignments] = dict(found.placements)
    ledger = ledger_after(problem, placements)
    for job, role in crowded:
        moves = _Spreading(ledger, job, role, placements[job.name]).moves()
        placements[job.name] = tuple(moves.get(each, each) for each in placements[job.name])
    reached = score(problem, placements)
    if reached < found.score or violations(problem, placements):
        return found
    return replace(found, placements=placements, score=reached)


def _crowded(problem: Problem, placements: Placements) -> Iterator[tuple[Job, Role]]:
    """The roles of services of which too much would be in one domain, some of it new there."""
    for job in problem.jobs:
        placed = placements.get(job.name, ())
        is_bound = job.required_level is not None or job.preferred_level is not None
        if job.gang or is_bound or set(placed) <= set(job.running):
            continue
        for role in job.roles:
            if _is_crowded(problem, role, placed):
                yield job, role


def _is_crowded(problem: Problem, role: Role, placed: Assignments) -> bool:
    names = [each.nodes[0] for each in _of(role, placed)]
    counts = [Counter(names)]
    for level in range(len(problem.levels)):
        counts += [Counter(domain_of(problem, name, level) for name in names)]
    return any(count > _most(names) for each in counts for count in each.values())


def _of(role: Role, placed: Assignments) -> list[Assignment]:
    """The replicas of a role that are on one node each."""
    return [each for each in placed if each.role == role.name and len(set(each.nodes)) == 1]


def _most(replicas: Sequence[object]) -> int:
    """How many of a service's replicas may be in one domain."""
    return -(-len(replicas) // 2)


class _Spreading:
    """Moves a role's new replicas, one by one, as long as a domain has too many of them."""

    def __init__(self, ledger: Ledger, job: Job, role: Role, placed: Assignments) -> None:
        self._ledger, self._role = ledger, role
        self._job = replace(job, pinned=True)  # as the ledger holds it
        self._now = {each: each for each in _of(role, placed)}
        self._new = [each for each in self._now if each not in job.running]
        problem = ledger.problem
        self._hosts: Ints = np.arange(len(problem.nodes))
        self._levels = [*map(ledger.domains, range(len(problem.levels))), self._hosts]
        returnable = np.array([node.returnable for node in problem.nodes], dtype=np.bool_)
        self._kept = ~returnable
        used = {name for held in ledger.placed.values() for each in held for name in each.nodes}
        self._kept[[problem.node_index[name] for name in used if name in problem.node_index]] = True

    def moves(self) -> dict[Assignment, Assignment]:
        """What each of the replicas has now."""
        for domains in self._levels:
            while self._moves_one(domains):
                pass
        return self._now

    def _moves_one(self, domains: Ints) -> bool:
        """Move a replica to where fewer are; False if there are too many nowhere, or none can."""
        counts = self._counts(domains)
        last = {int(domains[self._row(self._now[was])]): was for was in self._new}
        for domain, was in last.items():
            if counts[domain] > _most(self._now):
                found = self._elsewhere(self._now[was], domains)
                if found is not None:
                    self._now[was] = found
                    return True
        return False

    def _counts(self, domains: Ints) -> Counter[int]:
        return Counter(int(domains[self._row(each)]) for each in self._now.values())

    def _row(self, held: Assignment) -> int:
        return self._ledger.problem.node_index[held.nodes[0]]

    def _elsewhere(self, held: Assignment, domains: Ints) -> Assignment | None:
        """Another place for a replica, outside its domain, if that costs others little enough."""
        ledger, job, row = self._ledger, self._job, self._row(held)
        ledger.give_back(job, (held,))
        here, there = (
            Request(job, self._only_on(rows), held.gpu_type, (held.replica,))
            for rows in (self._hosts == row, self._allowed(row, domains))
        )
        bearable = loss_alone(ledger, here) + here.gpu_milli
        found = place(ledger, there) if loss_alone(ledger, there) <= bearable else None
        if found is not None:
            return found[0]
        if not ledger.take(job, (held,)):
            ledger.hold_replica(job, held)
        return None

    def _allowed(self, row: int, domains: Ints) -> Bools:
        """The nodes outside the domain of one that are no dearer than it.

        Where one domain has more than half, no other can come to have it.
        """
        prices = self._ledger.prices.of(self._job, self._role)
        return self._kept & (prices <= prices[row]) & (domains != domains[row])

    def _only_on(self, nodes: Bools) -> Role:
        bits = int.from_bytes(np.packbits(nodes, bitorder="little").tobytes(), "little")
        return replace(self._role, eligible=self._role.eligible & bits)
