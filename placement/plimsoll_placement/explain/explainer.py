"""Why each waiting job waits, computed once for all jobs that ask for the same."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from plimsoll_placement.explain.request import asks, starts
from plimsoll_placement.explain.shortage.diagnosis import role_shortages, shortages
from plimsoll_placement.explain.shortage.lack import Lack
from plimsoll_placement.explain.shortage.shortage import Reason, Shortage
from plimsoll_placement.model import (
    Assignments,
    GpuType,
    Job,
    JobName,
    LeftOut,
    Placements,
    QueueName,
    Role,
)
from plimsoll_placement.placing.shortfall import missing
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.price import could_pay, weighed_loss
from plimsoll_placement.score.worth import least_milli
from plimsoll_placement.state.device_pool import Ints
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger

Held = defaultdict[GpuType, Ints]
"""Milli-GPUs by type and node."""

MOST_KINDS: Final = 20_000

_NO_RULE = "rules nothing out"

LEFT_OUT: Final = LeftOut(
    job={
        "name": "added where it holds anything",
        "part_of": "says whose part it is, and asks for nothing",
        "priority": "added where anything is placed; alone nobody is in its way",
        "roles": "what each asks for is added",
        "sequence": _NO_RULE,
        "urgency_milli": _NO_RULE,
        "preferred_level": _NO_RULE,
        "crossing_percent": _NO_RULE,
        "running": "what it holds is read from the placements",
        "pinned": "what waits has nothing to keep",
        "restart_seconds": "the sum on which prices depend is added",
        "checkpoint_seconds": "the sum on which prices depend is added",
        "payback_seconds": _NO_RULE,
    },
    role={
        "name": "added where there are several roles",
        "counts": "the least and what is missing are added",
        "yields": "the types are added",
        "mixable": _NO_RULE,
        "load_nano": _NO_RULE,
        "wanted_milli": "what is missing is added",
        "wanted_count": "what is missing is added",
        "fineness": "what is missing is added",
        "uncapped_draw_milli": "plans go by the draw of the shape",
    },
)
"""What does not decide why a job waits."""

BLAMED_ON_PRIORITY = frozenset(
    {Reason.INSUFFICIENT_GPUS, Reason.INSUFFICIENT_RESOURCES, Reason.TOPOLOGY_UNSATISFIED}
)


class Feasibility:
    """Which jobs could run if nothing of Plimsoll's did; nodes, limits and budgets as they are."""

    def __init__(self, problem: Problem) -> None:
        self._ledger = Ledger(problem)
        self._known: dict[Hashable, Lack | None] = {}

    @property
    def is_full(self) -> bool:
        """Whether so much is cached that it is better to start afresh."""
        return len(self._known) > MOST_KINDS

    def lacks_alone(self, job: Job) -> Lack | None:
        """Why a job can never run as things are; None unless that is proven."""
        kind = _kind(job)
        if kind not in self._known:
            self._known[kind] = self._lacks_alone(job)
        return self._known[kind]

    def fits_alone(self, job: Job) -> bool:
        """Whether a job could run alone, or at least is not proven unable to."""
        return self.lacks_alone(job) is None

    def _lacks_alone(self, job: Job) -> Lack | None:
        """Why none of the ways to start works."""
        lacks = [self._lacks_at(start) for start in starts(job)]
        found = [lack for lack in lacks if lack is not None]
        if not found or len(found) < len(lacks):
            return None
        return replace(found[0], one_of_roles=len(job.roles) > 1)

    def _lacks_at(self, job: Job) -> Lack | None:
        found = shortages(self._ledger, job)
        proof = self._proof(job, found) if found else ()
        if not proof:
            return None
        barred = all(s.reason is Reason.NO_ELIGIBLE_NODE or not s.nodes.offering for s in proof)
        named = barred and any(s.nodes.offering for s in proof)
        return Lack(Reason.NO_ELIGIBLE_NODE if named else Reason.CANNOT_FIT, proof, alone=True)

    def _proof(self, job: Job, found: tuple[Shortage, ...]) -> tuple[Shortage, ...]:
        """What one role lacks on its own, or `found` if only all together ask for too much."""
        for role in job.roles:
            alone = role_shortages(self._ledger, job, role) if role.least else ()
            if alone and _is_proof(job, alone):
                return alone
        return found if _asks_too_much(self._ledger, job) else ()


class Feasibilities:
    """Keeps what is known of jobs alone for as long as the cluster is unchanged.

    A job that asks for the impossible asks for it every round, and the proof takes long.
    """

    def __init__(self) -> None:
        self._facts: tuple[object, ...] = ()
        self._known: Feasibility | None = None

    def of(self, problem: Problem) -> Feasibility:
        """What is known of a problem's cluster, whatever its jobs are."""
        ranks = problem.priorities
        queues = tuple((queue.name, queue.parent, queue.limit) for queue in problem.queues)
        cluster = (problem.nodes, problem.power_domains, problem.levels, problem.weights)
        facts = (*cluster, queues, ranks)
        if self._known is None or self._facts != facts or self._known.is_full:
            # Nothing that is proven depends on which jobs there are, except on their priorities.
            nobody = (Job(JobName(f"{rank}"), QueueName(""), rank, roles=()) for rank in ranks)
            empty = replace(problem, jobs=tuple(nobody), past=())
            self._facts, self._known = facts, Feasibility(empty)
        return self._known


def _is_proof(job: Job, found: tuple[Shortage, ...]) -> bool:
    """Whether the bounds allow fewer placements than are asked for, even with mixed types."""
    groups = [shortage.bound for shortage in found]
    return (max(groups) if job.gang else sum(groups)) < found[0].ask.groups


def _asks_too_much(ledger: Ledger, job: Job) -> bool:
    """Whether its roles together ask for more than there is of all types that they accept."""
    requested = sum(role.least_gpu_milli for role in job.roles)
    types = {kind for role in job.roles if role.least for kind in role.yields}
    device_pools = [
        device_pool for kind in types for device_pool in ledger.device_pools.get(kind, ())
    ]
    return requested > sum(int(device_pool.milli.sum()) for device_pool in device_pools)


def fits_alone(problem: Problem, job: Job) -> bool:
    """Whether a job could run alone; for many jobs use one `Feasibility`."""
    return Feasibility(problem).fits_alone(job)


def lacks_alone(problem: Problem, job: Job) -> Lack | None:
    """Why a job cannot even run alone; for many jobs use one `Feasibility`."""
    return Feasibility(problem).lacks_alone(job)


class Explainer:
    """Why jobs wait beside what is placed."""

    def __init__(
        self, problem: Problem, placements: Placements, feasibility: Feasibility | None = None
    ) -> None:
        self._problem = problem
        self._placements = placements
        self._feasibility = feasibility or Feasibility(problem)
        self._known: dict[Hashable, Lack] = {}
        self._ledger_of: dict[int, Ledger] = {}
        self._against: dict[int, tuple[Held, Held]] = {}
        self._costly: dict[tuple[int, int], Held] = {}

    @cached_property
    def _ledger(self) -> Ledger:
        """What is placed; often nothing waits, and nobody asks."""
        return ledger_after(self._problem, self._placements)

    def lack(self, job: Job) -> Lack:
        """What a job lacks if it, or some of its replicas, waits."""
        held = self._placements.get(job.name, ())
        kind = (job.name if held else "", _kind(job), job.priority)
        if kind not in self._known:
            self._known[kind] = self._lack(job, held)
        return self._known[kind]

    def _lack(self, job: Job, held: Assignments) -> Lack:
        never = None if held else self._feasibility.lacks_alone(job)
        if never is not None:
            return never
        found = (self._lack_now(asking) for asking in asks(self._ledger, job, held))
        lacks = [*found]
        plain = lacks[0] if lacks else Lack(Reason.PENDING, ())
        lack = next((lack for lack in lacks if lack.shortages), plain)
        return replace(lack, one_of_roles=len(job.roles) > 1)

    def _lack_now(self, job: Job) -> Lack:
        found = tuple(self._with_holders(job, each) for each in shortages(self._ledger, job))
        if not found:
            return Lack(Reason.PENDING, (), beyond_fair=self._beyond_fair(job))
        reason = found[0].reason
        if reason is Reason.PENDING:  # each type has room, but not for all of its pods at once
            reason = Reason.INSUFFICIENT_RESOURCES
        if reason in BLAMED_ON_PRIORITY and self._higher_are_in_the_way(job, found):
            reason = Reason.LOWER_PRIORITY
        return Lack(reason, found)

    def _beyond_fair(self, job: Job) -> QueueName | None:
        """The first of the job's queues that fairness keeps from more of any of its types."""
        requested = sum(role.least_gpu_milli for role in job.roles)
        kinds = {kind for role in job.roles for kind in role.yields}
        for name in self._problem.queue_chain.get(job.queue, ()):
            fair = self._problem.queue_by_name[name].fair
            used = self._ledger.queue_used
            if kinds and all(k in fair and used[name, k] + requested > fair[k] for k in kinds):
                return name
        return None

    def _higher_are_in_the_way(self, job: Job, found: tuple[Shortage, ...]) -> bool:
        """Whether the job would fit if all jobs of higher priority were gone."""
        if not any(shortage.ahead_milli for shortage in found):
            return False
        return not shortages(self._ledger_up_to(job.priority), job)

    def _ledger_up_to(self, priority: int) -> Ledger:
        if priority not in self._ledger_of:
            self._ledger_of[priority] = ledger_after(
                self._problem, self._placements, lambda job: job.priority <= priority
            )
        return self._ledger_of[priority]

    def _with_holders(self, job: Job, shortage: Shortage) -> Shortage:
        eligible = self._ledger.eligible(job.role(shortage.ask.role).eligible)
        against = (*self._held_against(job.priority), self._held_dearly_against(job))
        ahead, pinned, costly = (
            int(held[shortage.ask.gpu_type][eligible].sum()) for held in against
        )
        return replace(shortage, ahead_milli=ahead, pinned_milli=pinned, costly_milli=costly)

    def _held_against(self, priority: int) -> tuple[Held, Held]:
        """What jobs of higher priority hold, and what pinned ones of no higher priority hold."""
        if priority not in self._against:
            self._against[priority] = (
                self._held_by(lambda job: job.priority > priority),
                self._held_by(lambda job: job.pinned and job.priority <= priority),
            )
        return self._against[priority]

    def _held_dearly_against(self, job: Job) -> Held:
        """What gangs of no higher priority hold that lose more than a waiting job gains."""
        if job.overdue:
            return self._held_by(lambda _: False)
        problem, milli = self._problem, least_milli(job)

        def is_costly(other: Job) -> bool:
            if not other.gang or other.pinned or other.priority > job.priority:
                return False
            loss = weighed_loss(problem, other, other.running, ())
            return not could_pay(problem, job, milli, loss)

        key = job.priority, milli
        if key not in self._costly:
            self._costly[key] = self._held_by(is_costly)
        return self._costly[key]

    def _held_by(self, counts: Callable[[Job], bool]) -> Held:
        count, index = len(self._problem.nodes), self._problem.node_index
        held: Held = defaultdict(lambda: np.zeros(count, dtype=np.int64))
        for job in filter(counts, self._problem.jobs):
            for assignment in self._placements.get(job.name, ()):
                milli = job.role(assignment.role).shape.gpu_milli
                for name in assignment.nodes:
                    if name in index:
                        held[assignment.gpu_type][index[name]] += milli
        return held


def _kind(job: Job) -> Hashable:
    """All that a job's assignments depend on; jobs of one kind lack the same."""
    seconds = job.restart_seconds + job.checkpoint_seconds
    alone = len(job.roles) == 1
    return job.signature(LEFT_OUT), seconds, tuple(_ask(role, alone=alone) for role in job.roles)


def _ask(role: Role, *, alone: bool) -> Hashable:
    """What a role asks for."""
    name = "" if alone else role.name
    return name, role.least, missing(role, ()), tuple(role.yields), role.signature(LEFT_OUT)
