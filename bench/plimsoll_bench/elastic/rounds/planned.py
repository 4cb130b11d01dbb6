"""Plimsoll's policy for elastic jobs: its worths and its solver, round after round."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from plimsoll_bench.elastic.rounds.life import Life
from plimsoll_bench.elastic.rounds.nodes_seen import WORKER, ByType, Ground
from plimsoll_bench.elastic.rounds.simulation import Scene
from plimsoll_placement.effort import Effort
from plimsoll_placement.estimate.elastic.prospect import Prospect
from plimsoll_placement.estimate.elastic.worth import WorthTerms
from plimsoll_placement.estimate.elastic.yields import demand
from plimsoll_placement.estimate.throughput.curves import Size
from plimsoll_placement.model import (
    WHOLE_GPU_MILLI,
    GpuType,
    Job,
    JobName,
    Queue,
    QueueName,
    Role,
    Shape,
    Weights,
)
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve
from plimsoll_simulator.recorded.gpu_pools import Place, Pool

QUEUE = QueueName("all")
GROWTH = 2
"""A job may have at most this many times the most replicas that it has run with."""

UNTRIED_EFFICIENCY = 0.5
"""What a job that never ran is assumed to make of the samples that a GPU computes."""

EFFORT = Effort(0.5)


@dataclass(slots=True)
class Planned:
    """The policy. `declares_work`: jobs declare how much work they have to do."""

    terms: WorthTerms = field(default_factory=WorthTerms)
    effort: Effort = EFFORT
    declares_work: bool = True
    ground: Ground = field(default_factory=ByType)

    def __call__(self, scene: Scene) -> Mapping[str, Place]:
        """Where each job should be."""
        if not scene.lives:
            return {}
        nodes = self.ground.nodes(scene.pools)
        problem = Problem(
            nodes=nodes,
            jobs=tuple(self._job(life, scene, len(nodes)) for life in scene.lives),
            queues=(Queue(QUEUE),),
            levels=("host",),
            weights=Weights(horizon_seconds=round(self.terms.most_horizon_seconds)),
        )
        solution = solve(problem, self.effort)
        return self.ground.places(scene.pools, solution.placements)

    def _job(self, life: Life, scene: Scene, nodes: int) -> Job:
        asked = demand(self._prospect(life, scene), self.terms)
        role = Role(
            WORKER,
            Shape(WHOLE_GPU_MILLI),
            asked.counts,
            {
                kind: self.ground.yields(asked, pool)
                for pool in scene.pools
                if (kind := GpuType(pool.gpu_type)) in asked.yields
            },
            eligible=(1 << nodes) - 1,
        )
        return Job(
            JobName(life.arrival.name),
            QUEUE,
            priority=0,
            roles=(role,),
            sequence=round(life.arrival.seconds),
            preferred_level=0 if self.ground.crossing_percent else None,
            crossing_percent=dict.fromkeys(asked.yields, self.ground.crossing_percent),
            running=() if life.place is None else self.ground.assigned(life.place),
            pinned=life.place is not None and life.delay_seconds > 0,
            restart_seconds=asked.restart_seconds,
        )

    def _prospect(self, life: Life, scene: Scene) -> Prospect:
        left = life.application.total_progress - life.progress
        place = life.place
        return Prospect(
            rates=_rates(life, scene.pools),
            restart_seconds=life.application.habits.restart_seconds,
            left=left if self.declares_work else None,
            stayed_seconds=scene.seconds - life.since,
            done=life.progress,
            running=None if place is None else (place.gpu_type, place.gpus),
        )


def _rates(life: Life, pools: tuple[Pool, ...]) -> dict[Size, float]:
    """Progress per second at every size that the job may have, by what it has measured."""
    known = life.knowledge
    most = max(1, *(_most(life, pool.gpu_type) for pool in pools))
    found: dict[Size, float] = {}
    for pool in pools:
        kind = pool.gpu_type
        shapes = [shape for shape in pool.sizes() if sum(shape) <= most]
        rates = known.rates(kind, [(len(shape), sum(shape)) for shape in shapes])
        if rates is None:
            single = known.single_rate[kind] / known.limits[kind].smallest
            rates = np.array([single * UNTRIED_EFFICIENCY * sum(shape) for shape in shapes])
        for shape, rate in zip(shapes, rates.tolist(), strict=True):
            if rate > 0:
                found[kind, sum(shape)] = rate
    return found


def _most(life: Life, kind: str) -> int:
    limits = life.knowledge.limits[kind]
    grown = GROWTH * life.knowledge.most_replicas(kind)
    return min(grown, limits.largest // limits.local_least)
