"""Where does Plimsoll put elastic jobs? Its worths and its solver, round after round."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from plimsoll_placement.effort import Effort
from plimsoll_placement.elastic.demand import Demand, demand
from plimsoll_placement.elastic.prospect import Prospect, Size
from plimsoll_placement.elastic.worth import Terms
from plimsoll_placement.problem import (
    WHOLE_GPU_MILLI,
    Assignment,
    Devices,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Problem,
    Queue,
    QueueName,
    Role,
    RoleName,
    Shape,
    Weights,
)
from plimsoll_placement.solve import solve
from plimsoll_simulator.cluster import Place, Pool
from plimsoll_simulator.life import Life
from plimsoll_simulator.simulation import Scene, node_names

QUEUE = QueueName("all")
WORKER = RoleName("worker")
GROWTH = 2
"""A job may have at most so many times the replicas that it has run with."""

CROSSING_PERCENT = 90
"""What keeps a size that fits on one node from being spread over several."""

UNTRIED_EFFICIENCY = 0.5
"""What a job that never ran is taken to make of the samples that a GPU computes."""

EFFORT = Effort(0.5)


@dataclass(slots=True)
class Planned:
    """The policy; it remembers nothing but what it has computed already."""

    terms: Terms = field(default_factory=Terms)
    effort: Effort = EFFORT
    tells_work: bool = True

    def __call__(self, scene: Scene) -> Mapping[str, Place]:
        """Where each job shall be."""
        if not scene.lives:
            return {}
        problem = Problem(
            nodes=tuple(node for pool in scene.pools for node in _nodes(pool)),
            jobs=tuple(self._job(life, scene) for life in scene.lives),
            queues=(Queue(QUEUE),),
            levels=("host",),
            weights=Weights(horizon_seconds=round(self.terms.most_horizon_seconds)),
        )
        solution = solve(problem, self.effort)
        return {name: _place(assigned) for name, assigned in solution.placements.items()}

    def _job(self, life: Life, scene: Scene) -> Job:
        asked = demand(self._prospect(life, scene), self.terms)
        per_node = {pool.gpu_type: pool.gpus_per_node for pool in scene.pools}
        role = Role(
            WORKER,
            Shape(WHOLE_GPU_MILLI),
            asked.counts,
            {kind: _unscaled(asked, kind, per_node[kind]) for kind in asked.yields},
            eligible=(1 << sum(pool.nodes for pool in scene.pools)) - 1,
        )
        return Job(
            JobName(life.arrival.name),
            QUEUE,
            priority=0,
            roles=(role,),
            sequence=round(life.arrival.seconds),
            preferred_level=0,
            crossing_percent=dict.fromkeys(asked.yields, CROSSING_PERCENT),
            running=_assigned(life.place),
            pinned=life.place is not None and life.delay_seconds > 0,
            restart_seconds=asked.restart_seconds,
        )

    def _prospect(self, life: Life, scene: Scene) -> Prospect:
        left = life.application.total_progress - life.progress
        place = life.place
        return Prospect(
            rates=_rates(life, scene.pools),
            restart_seconds=life.application.habits.restart_seconds,
            left=left if self.tells_work else None,
            stayed_seconds=scene.seconds - life.since,
            done=life.progress,
            running=None if place is None else (place.gpu_type, place.gpus),
        )


def _rates(life: Life, pools: tuple[Pool, ...]) -> dict[Size, float]:
    """Progress a second at every size that the job may have, by what it has measured."""
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


def _unscaled(asked: Demand, kind: GpuType, per_node: int) -> tuple[int, ...]:
    """Yields such that sizes beyond one node, which always cross, lose nothing by that."""
    keeps = 100 - CROSSING_PERCENT
    return tuple(
        milli if count <= per_node else milli * 100 // keeps
        for count, milli in zip(asked.counts, asked.yields[kind], strict=True)
    )


def _nodes(pool: Pool) -> tuple[Node, ...]:
    devices = (Devices(GpuType(pool.gpu_type), (WHOLE_GPU_MILLI,) * pool.gpus_per_node),)
    return tuple(
        Node(NodeName(name), devices, 0, 0, pod_slots=pool.gpus_per_node, topology=(name,))
        for name in node_names(pool)
    )


def _assigned(place: Place | None) -> tuple[Assignment, ...]:
    if place is None:
        return ()
    nodes = [name for name, gpus in sorted(place.on.items()) for _ in range(gpus)]
    kind = GpuType(place.gpu_type)
    return tuple(
        Assignment(WORKER, index, kind, (NodeName(name),)) for index, name in enumerate(nodes)
    )


def _place(assigned: tuple[Assignment, ...]) -> Place:
    on: dict[str, int] = {}
    for assignment in assigned:
        for name in assignment.nodes:
            on[name] = on.get(name, 0) + 1
    return Place(assigned[0].gpu_type, on)
