"""From counts to nodes: place what the model chose, as far as it fits single nodes.

What stays is taken first, then what runs anew, the pods hardest to place first: where the model
wants them, otherwise anywhere, otherwise where others make room by moving. Greedy completes the
rest.
"""

from collections.abc import Sequence
from dataclasses import replace

from plimsoll_placement.cpsat.builder import ModelBuilder
from plimsoll_placement.cpsat.extract import (
    Kept,
    NodeClassPods,
    Wanted,
    extracted,
    strictly_extracted,
)
from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.model import Assignments, Job, JobName, Role
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.placing.retention import is_on_spot, stayable, within_spot_share
from plimsoll_placement.placing.shortfall import below_least, free_index
from plimsoll_placement.preemption.rearrange import place_by_moving
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.state.ledger import Ledger

MOST_MOVES = 40
"""How many requests may move others; each costs about as much as placing a hundred."""


def realised(builder: ModelBuilder, values: Sequence[int]) -> list[dict[JobName, Assignments]]:
    """Sound placements close to what the values of the variables say, in several ways.

    Jobs stay where they run if the type is right, or only where the model says so; and greedy adds
    what it can, or nothing, since the model may have left out a job on purpose.
    """
    problem = builder.relaxation.problem
    realisers = [
        _Realiser(builder, list(extract(builder, values)))
        for extract in (extracted, strictly_extracted)
    ]
    best = max(realisers, key=lambda realiser: score(problem, realiser.whole()))
    return [*(realiser.whole() for realiser in realisers), Greedy(problem, best.ledger).fill()]


class _Realiser:
    """One run over a ledger of its own."""

    def __init__(self, builder: ModelBuilder, extraction: Sequence[Kept | Wanted]) -> None:
        self.builder = builder
        self.problem = builder.relaxation.problem
        self.ledger = Ledger(self.problem)
        self.moves_left = MOST_MOVES
        for job in self.problem.jobs:
            if job.pinned and job.running:
                self.ledger.hold(job)
        self.place_all(extraction)
        self.respect_shares()
        self.send_home()

    def place_all(self, extraction: Sequence[Kept | Wanted]) -> None:
        """Keep what stays, place what is new."""
        for stayer in (one for one in extraction if isinstance(one, Kept)):
            self.ledger.take(stayer.job, stayer.assignments)
        ordered = sorted((one for one in extraction if isinstance(one, Wanted)), key=self._order)
        for wish in [wish for wish in ordered if not self.place_by_node_class(wish)]:
            self.place_anywhere(wish)

    def send_home(self) -> None:
        """Let what moved or changed stay as it ran after all, if there is room now."""
        for job in sorted(self.problem.jobs, key=lambda job: (-job.stop_seconds, job.name)):
            if job.is_running and not job.pinned and job.name in self.ledger.placed:
                home = stayable(self.problem, job)
                for new, old in _moved(self.problem, job, self.ledger.placed[job.name], home):
                    self.ledger.give_back(job, new)
                    if not self.ledger.take(job, old):
                        self.ledger.take(job, new)

    def whole(self) -> dict[JobName, Assignments]:
        """What is placed, without the jobs that lack the replicas to be of use."""
        placed = self.ledger.placed
        return {
            job.name: placed[job.name]
            for job in self.problem.jobs
            if job.name in placed
            and (job.pinned or not any(below_least(role, placed[job.name]) for role in job.roles))
        }

    def respect_shares(self) -> None:
        """Give up replicas on spot nodes whose companions found no place, and superfluous ones.

        The model counts both in total over several like jobs.
        """
        for own, _ in self.builder.variables.services:
            for job in own.job_class.jobs:
                held = self.ledger.placed.get(job.name, ())
                needed = tuple(a for role in job.roles for a in _up_to_most(role, held))
                kept = within_spot_share(self.problem, job, needed)
                self.ledger.give_back(job, tuple(a for a in held if a not in kept))

    def place_by_node_class(self, wish: Wanted) -> bool:
        """Place in each node class exactly what the model has there; all or nothing."""
        role, start = wish.fresh.role, self._first_index(wish)
        before = self.ledger.placed.get(wish.job.name, ())
        if any(pods % role.pods_per_replica for _, pods in wish.pods):
            return False
        left = wish.replicas
        for node_class, pods in sorted(wish.pods, key=lambda pods: self._is_spot(pods[0])):
            count = min(left, pods // role.pods_per_replica)
            replicas = tuple(range(start, start + count))
            if not place(self.ledger, self._request(wish, replicas, ((node_class, pods),))):
                break
            start, left = start + count, left - count
        if left:
            placed = self.ledger.placed.get(wish.job.name, ())
            self.ledger.give_back(wish.job, placed[len(before) :])
        return not left

    def place_anywhere(self, wish: Wanted) -> None:
        """Place in all of the node classes together, or on any node, or where others move."""
        start = self._first_index(wish)
        replicas = tuple(range(start, start + wish.replicas))
        anywhere = Request(wish.job, wish.fresh.role, wish.fresh.option.gpu_type, replicas)
        if place(self.ledger, self._request(wish, replicas, wish.pods)):
            return
        if not place(self.ledger, anywhere) and self.moves_left:
            self.moves_left -= 1
            place_by_moving(self.ledger, anywhere)

    def _order(self, wish: Wanted) -> tuple[object, ...]:
        """Last, a job's replicas on spot nodes: how many are allowed depends on the others."""
        return *wish.order, any(self._is_spot(node_class) for node_class, _ in wish.pods)

    def _first_index(self, wish: Wanted) -> int:
        if wish.job.gang:
            return 0
        return free_index(wish.fresh.role, self.ledger.placed.get(wish.job.name, ()))

    def _request(self, wish: Wanted, replicas: tuple[int, ...], pods: NodeClassPods) -> Request:
        role = _within(self.builder, wish.fresh.role, pods)
        return Request(wish.job, role, wish.fresh.option.gpu_type, replicas)

    def _is_spot(self, node_class: int) -> bool:
        return self.builder.relaxation.node_classes.node_classes[node_class].node.spot


def _within(builder: ModelBuilder, role: Role, pods: NodeClassPods) -> Role:
    """The role, eligible only for the nodes of some node classes."""
    node_classes = builder.relaxation.node_classes.node_classes
    mask = sum(1 << row for node_class, _ in pods for row in node_classes[node_class].rows.tolist())
    return replace(role, eligible=role.eligible & mask)


def _up_to_most(role: Role, held: Assignments) -> Assignments:
    return tuple(a for a in held if a.role == role.name)[: role.counts[-1]]


def _moved(
    problem: Problem, job: Job, placed: Assignments, home: Assignments
) -> list[tuple[Assignments, Assignments]]:
    """What of a job is elsewhere than it could have stayed, each with where that was.

    Replicas do not go back to spot nodes, where there may be too many of them by now.
    """
    if job.gang:
        same = not home or home[0].gpu_type != placed[0].gpu_type or set(home) == set(placed)
        return [] if same else [(placed, home)]
    left = [old for old in home if old not in placed]
    taken = {(a.role, a.replica) for a in placed}
    pairs: list[tuple[Assignments, Assignments]] = []
    for new in (a for a in placed if a not in home):
        others = taken - {(new.role, new.replica)}
        for old in left:
            same = (old.role, old.gpu_type) == (new.role, new.gpu_type)
            steady = is_on_spot(problem, old) <= is_on_spot(problem, new)
            if same and steady and (old.role, old.replica) not in others:
                left.remove(old)
                taken = others | {(old.role, old.replica)}
                pairs.append(((new,), (old,)))
                break
    return pairs
