"""Replay arrivals in turns, with a plan of the operator's solver for each, as its loop makes them.

Each pod is a job of its own; those of one turn came in the same second. A job that finds no place
goes away. What runs stays where it is or, if that is allowed, moves at its price. Pods without GPUs
are no jobs to the operator, and must be left out.

A plan names nodes. The devices are given out as a kubelet would (`kubelets.py`), to the largest
pods of a turn first: a pod keeps what it is given until it moves, and one for which its node has no
device left is rejected.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from plimsoll_bench.packing.kubelets import MIB, Kubelets, RunningPod
from plimsoll_bench.packing.replay import Replay
from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.model import (
    Assignments,
    Job,
    JobName,
    Placements,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import least_milli
from plimsoll_placement.solve import solve_lean
from plimsoll_placement.state.arrivals import PodKind
from plimsoll_placement.state.fragmentation import arrivals
from plimsoll_placement.state.node_arrays import Cluster, Placement

QUEUE = Queue(QueueName("all"))
AT_ONCE = Effort(deterministic_seconds=0)
STOP_SECONDS = 390
"""What a move throws away by the defaults of the API: half of the ten minutes between checkpoints,
30 s to save and 60 s to restore."""
LOST_PERCENT, WINDOW_SECONDS = 5, 3600
"""The default disruption budget: a share of what all GPUs do in an hour. All turns are taken to
fall within one."""


@dataclass(frozen=True, slots=True)
class TurnWithMoves:
    """How many moved in a turn, what that threw away, and what runs more than if none had."""

    moves: int
    lost_milli_seconds: int
    gained_milli: int

    @property
    def break_even_seconds(self) -> float:
        """How long what runs more must run to make up for what was thrown away."""
        return self.lost_milli_seconds / max(1, self.gained_milli)


@dataclass(frozen=True, slots=True)
class PlannedReplay:
    """The replay, the CPU seconds of the longest plan, and the turns in which pods moved.

    `moved_and_not_started`: pods that had moved and found no device where they were sent.
    """

    replay: Replay
    plan_seconds: float
    turns_with_moves: tuple[TurnWithMoves, ...] = ()
    moved_and_not_started: int = 0


def planned_replay(
    cluster: Cluster,
    pods: Sequence[PodKind],
    turn: int,
    effort: Effort = AT_ONCE,
    *,
    moves: bool = False,
) -> PlannedReplay:
    """Place the pods in `cluster`, which is changed, in turns of this many arrivals.

    A pod counts as demand when it comes, and as use once its turn is planned. `moves`: what runs
    may move.
    """
    planner = _Planner(cluster, effort, moves=moves)
    placements: list[Placement | None] = []
    used: list[int] = []
    for first in range(0, len(pods), turn):
        came = pods[first : first + turn]
        used += [cluster.used_milli] * (len(came) - 1)
        placements += planner.turn(came)
        used.append(cluster.used_milli)
    arrived = np.cumsum([pod.total_gpu_milli for pod in pods])
    return PlannedReplay(
        Replay(cluster.capacity_milli, tuple(placements), arrived, np.array(used)),
        planner.longest_seconds,
        tuple(planner.turns_with_moves),
        planner.moved_and_not_started,
    )


class _Planner:
    """What runs in a cluster, and the plans for it."""

    def __init__(self, cluster: Cluster, effort: Effort, *, moves: bool) -> None:
        self._cluster, self._effort, self._may_move = cluster, effort, moves
        self._kubelets = Kubelets(cluster)
        self._roles: dict[PodKind, Role] = {}
        self._turns = 0
        self.longest_seconds = 0.0
        self.turns_with_moves: list[TurnWithMoves] = []
        self.moved_and_not_started = 0

    def turn(self, came: Sequence[PodKind]) -> list[Placement | None]:
        """Plan one turn and carry the plan out; the places of those that came."""
        self._turns += 1
        jobs = [(self._job(number, pod), pod) for number, pod in enumerate(came)]
        problem = self._problem(tuple(job for job, _ in jobs))
        plan = self._plan(problem)
        seen = self._kubelets.free_to_move()
        moving = [pod for pod in seen if plan.get(pod.job.name) != pod.job.running]
        for pod in moving:
            self._kubelets.stop(pod)
        places = self._start([*((pod.job, pod.kind) for pod in moving), *jobs], plan)
        self._kubelets.look_again()
        if moving:
            self._count(problem, moving, plan)
            self.moved_and_not_started += sum(places[pod.job.name] is None for pod in moving)
        return [places[job.name] for job, _ in jobs]

    def _start(
        self, pods: Sequence[tuple[Job, PodKind]], plan: Placements
    ) -> dict[JobName, Placement | None]:
        """Start the pods that have a place, the largest first; where each has devices then."""
        largest_first = sorted(pods, key=lambda pair: -pair[1].total_gpu_milli)
        return {
            job.name: self._kubelets.start(self._as_started(job, plan[job.name]), pod)
            if job.name in plan
            else None
            for job, pod in largest_first
        }

    def _as_started(self, job: Job, assignments: Assignments) -> Job:
        return replace(job, running=assignments, pinned=not self._may_move)

    def _problem(self, came: tuple[Job, ...]) -> Problem:
        running, unseen = self._kubelets.free_to_move(), self._kubelets.unseen_jobs()
        return Problem(
            self._kubelets.nodes(),
            (*(pod.job for pod in running), *came),
            (QUEUE,),
            past=arrivals(role for job in unseen for role in job.roles),
            loss_allowance=self._allowance() if self._may_move else None,
        )

    def _allowance(self) -> int:
        allowed = self._cluster.capacity_milli * LOST_PERCENT // 100 * WINDOW_SECONDS
        spent = sum(turn.lost_milli_seconds for turn in self.turns_with_moves)
        return max(0, allowed - spent)

    def _plan(self, problem: Problem) -> Placements:
        begun = time.process_time()
        found = solve_lean(problem, self._effort).placements
        self.longest_seconds = max(self.longest_seconds, time.process_time() - begun)
        return found

    def _count(self, problem: Problem, moving: Sequence[RunningPod], plan: Placements) -> None:
        """Record a turn with moves; its baseline is what would run without any."""
        lost = sum(pod.kind.total_gpu_milli for pod in moving) * STOP_SECONDS
        gained = _milli(problem, plan) - _milli(problem, with_baseline(problem).baseline or {})
        self.turns_with_moves.append(TurnWithMoves(len(moving), lost, gained))

    def _job(self, number: int, pod: PodKind) -> Job:
        """A pod as a job of its own; those of one turn are of the same age."""
        if pod not in self._roles:
            shape = Shape(pod.total_gpu_milli, pod.cpu_millis, pod.memory_mib * MIB)
            types = pod.models or frozenset(self._cluster.models)
            yields = dict.fromkeys(sorted(types), (pod.total_gpu_milli,))
            everywhere = (1 << len(self._cluster)) - 1
            self._roles[pod] = Role(RoleName("pod"), shape, (1,), yields, everywhere)
        name, stop = JobName(f"{self._turns:06}-{number:06}"), STOP_SECONDS * self._may_move
        roles = (self._roles[pod],)
        return Job(name, QUEUE.name, 0, roles, sequence=self._turns, restart_seconds=stop)


def _milli(problem: Problem, placements: Placements) -> int:
    return sum(least_milli(problem.job_by_name[name]) for name in placements)
