"""Spread what starts of a service, so that one node or zone that fails takes half of it at most.

That is done once all have a place, among nodes that cost no more, and where the pods to come lose
no more GPUs by it than the replica has itself. Nothing that runs moves for it, no replica waits
until another job has left its node, and an idle node that could be given back, or is still to be
bought, is not used for it. Services whose replicas shall be close together are left alone, as are
replicas on several nodes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plimsoll_placement.check import violations
from plimsoll_placement.model import (
    Assignment,
    Assignments,
    Job,
    JobName,
    NodeName,
    Placements,
    Role,
)
from plimsoll_placement.placing.place import Request, loss_alone, place
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.score.worth import domain_of
from plimsoll_placement.solution import Solution
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger

MOST_MOVES = 512
"""So many moves are tried, and what is still crowded stays so: a plan takes little longer."""

Bools = NDArray[np.bool_]


def with_spread(problem: Problem, found: Solution) -> Solution:
    """The solution, with the replicas that start spread; its score does not fall."""
    crowds = list(_crowds(problem, found.placements))
    if not crowds:
        return found
    placements: dict[JobName, Assignments] = dict(found.placements)
    nodes = _Nodes(ledger_after(problem, placements), placements)
    for crowd in crowds:
        moves, name = _Spreading(nodes, crowd).moves(), crowd.job.name
        placements[name] = tuple(moves.get(each, each) for each in placements[name])
    reached = score(problem, placements)
    if reached < found.score or violations(problem, placements):
        return found
    return replace(found, placements=placements, score=reached)


@dataclass(frozen=True, slots=True)
class _Crowd:
    """The replicas of a role of a service that start, and those beside them that run."""

    job: Job
    role: Role
    new: list[Assignment]
    running: list[Assignment]

    @property
    def most(self) -> int:
        """How many of them may be on one node or in one domain: half, rounded up."""
        return -(-(len(self.new) + len(self.running)) // 2)

    def is_too_close(self, problem: Problem) -> bool:
        """Whether more than that are, on a node or in a domain of any level."""
        names = [each.nodes[0] for each in (*self.new, *self.running)]
        counts = [Counter(names)]
        for level in range(len(problem.levels)):
            counts += [Counter(domain_of(problem, name, level) for name in names)]
        return any(count > self.most for each in counts for count in each.values())


def _crowds(problem: Problem, placements: Placements) -> Iterator[_Crowd]:
    """The roles of services of which too much would be in one place, some of it new there."""
    for job in problem.jobs:
        placed, running = placements.get(job.name, ()), set(job.running)
        if job.gang or job.preferred_level is not None or running.issuperset(placed):
            continue
        beside = placements.get(job.part_of, ()) if job.part_of is not None else ()
        for role in job.roles:
            mine = list(_of(role, placed))
            new = [each for each in mine if each not in running]
            there = [*(running & {*mine}), *_of(role, beside)]
            there = [each for each in there if each.nodes[0] in problem.node_index]
            crowd = _Crowd(job, role, new, there)
            if new and crowd.is_too_close(problem):
                yield crowd


def _of(role: Role, placed: Iterable[Assignment]) -> Iterator[Assignment]:
    """The replicas of a role that are on one node each."""
    return (each for each in placed if each.role == role.name and len(set(each.nodes)) == 1)


class _Nodes:
    """The nodes, by row: their domains, widest first and each node itself last.

    `free` are those that nobody leaves, and that are kept anyway: they are not given back, or
    something runs on them. `moves` is how many more may be tried.
    """

    def __init__(self, ledger: Ledger, placements: Placements) -> None:
        problem = self.problem = ledger.problem
        self.ledger, self.moves = ledger, MOST_MOVES
        self.rows: Ints = np.arange(len(problem.nodes))
        self.levels = [*map(ledger.domains, range(len(problem.levels))), self.rows]
        self.free = np.array([not node.returnable for node in problem.nodes], dtype=np.bool_)
        left: set[NodeName] = set()
        for job in problem.jobs:
            stay = set(placements.get(job.name, ()))
            for each in job.running:
                if each in stay:
                    self.free[self._rows(each.nodes)] = True
                else:
                    left.update(each.nodes)
        self.free[self._rows(left)] = False

    def _rows(self, names: Iterable[NodeName]) -> list[int]:
        """The nodes of these names that are there."""
        index = self.problem.node_index
        return [index[name] for name in names if name in index]

    def row(self, held: Assignment) -> int:
        """The node of a replica."""
        return self.problem.node_index[held.nodes[0]]


class _Spreading:
    """Moves a role's new replicas, one by one, as long as a domain has too many of the role."""

    def __init__(self, nodes: _Nodes, crowd: _Crowd) -> None:
        self._nodes, self._crowd = nodes, crowd
        self._job = replace(crowd.job, pinned=True)  # as the ledger holds it
        self._now = {each: each for each in crowd.new}

    def moves(self) -> dict[Assignment, Assignment]:
        """What each of the new replicas has now."""
        for domains in self._nodes.levels:
            while self._moves_one(domains):
                pass
        return self._now

    def _moves_one(self, domains: Ints) -> bool:
        """Move a replica out of the domain that has too many; False if none has, or none can."""
        here = (*self._now.values(), *self._crowd.running)
        counts = Counter(int(domains[self._nodes.row(each)]) for each in here)
        last = {int(domains[self._nodes.row(now)]): was for was, now in self._now.items()}
        for domain, was in last.items():
            if counts[domain] > self._crowd.most and self._nodes.moves:
                self._nodes.moves -= 1
                found = self._elsewhere(self._now[was], domains)
                if found is not None:
                    self._now[was] = found
                    return True
        return False

    def _elsewhere(self, held: Assignment, domains: Ints) -> Assignment | None:
        """Another node for a replica, outside its domain, if that costs others little enough.

        Where one domain has more than half, no other can come to have it.
        """
        ledger, job, row = self._nodes.ledger, self._job, self._nodes.row(held)
        prices = ledger.prices.of(job, self._crowd.role)
        allowed = self._nodes.free & (prices <= prices[row]) & (domains != domains[row])
        ledger.give_back(job, (held,))
        here, there = (
            Request(job, self._only_on(nodes), held.gpu_type, (held.replica,))
            for nodes in (self._nodes.rows == row, allowed)
        )
        if loss_alone(ledger, there) <= loss_alone(ledger, here) + here.gpu_milli:
            found = place(ledger, there)
            if found is not None and any(_of(self._crowd.role, found)):
                return found[0]
            ledger.give_back(job, found or ())
        if not ledger.take(job, (held,)):
            ledger.hold_replica(job, held)
        return None

    def _only_on(self, nodes: Bools) -> Role:
        bits = int.from_bytes(np.packbits(nodes, bitorder="little").tobytes(), "little")
        return replace(self._crowd.role, eligible=self._crowd.role.eligible & bits)
