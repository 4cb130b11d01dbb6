"""Sia's rule (Jayaram Subramanya et al., SOSP 2023), reimplemented from the paper.

Each round an integer program gives every job at most one configuration (a GPU type and a size), so
that the sum over jobs of (restart factor x goodput / the job's least goodput)^-0.5 is least, and
1.1 for each job that gets nothing. Jobs may at most double what they have run with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np
import numpy.typing as npt
from ortools.sat.python import cp_model

from plimsoll_bench.elastic.rounds.life import Life
from plimsoll_bench.elastic.rounds.placing import Choice, placed
from plimsoll_bench.elastic.rounds.simulation import Scene
from plimsoll_simulator.recorded.gpu_pools import Place, Pool

FAIRNESS = -0.5
LEFT_OUT = 1.1
GROWTH = 2
MOST = 64
PENALTY_SECONDS = {"deepspeech2": 25, "imagenet": 250, "cifar10": 30, "bert": 120, "yolov3": 45}
OTHER_PENALTY_SECONDS = 30
UNIT = 1_000_000
TIE = 1_000
"""Costs that are equal, as many are after rounding to 2 places, differ by less than this."""


class Sia:
    """The policy; it remembers what it gave in the last round."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._last: dict[str, Choice] = {}

    def __call__(self, scene: Scene) -> Mapping[str, Place]:
        """Where each job should be."""
        if not scene.lives:
            return {}
        costs = [self._costs(life, scene) for life in scene.lives]
        chosen = self._chosen(scene, costs)
        self._last = chosen
        return placed(scene.pools, chosen)

    def _goodputs(self, life: Life, pools: Sequence[Pool]) -> dict[Choice, float]:
        """Goodput of each configuration that the job may have, relative to the least."""
        known = life.knowledge
        most = max(self._most(life, pool.gpu_type) for pool in pools)
        found: dict[Choice, float] = {}
        for pool in pools:
            kind = pool.gpu_type
            if not known.has_run:
                break
            shapes = [shape for shape in pool.sizes() if sum(shape) <= most]
            rates = projected_rates(life, pools, kind, [sum(shape) for shape in shapes])
            found |= {
                Choice(kind, shape): float(rate)
                for shape, rate in zip(shapes, rates, strict=True)
                if rate > 0
            }
        least = min(found.values(), default=1.0)
        goodputs = {choice: rate / least for choice, rate in found.items()}
        seen = {choice.gpu_type for choice in goodputs}
        for pool in pools:
            if pool.gpu_type not in seen:
                goodputs[Choice(pool.gpu_type, (1,))] = 1.0
        return goodputs

    def _most(self, life: Life, kind: str) -> int:
        limits = life.application.limits(kind)
        grown = max(GROWTH * life.knowledge.most_replicas(kind), 1)
        return max(1, min(grown, MOST, limits.largest // limits.local_least))

    def _costs(self, life: Life, scene: Scene) -> dict[Choice, int]:
        factor = restart_factor(life, scene.seconds)
        last = self._last.get(life.arrival.name)
        costs: dict[Choice, int] = {}
        for choice, goodput in self._goodputs(life, scene.pools).items():
            kept = last is None or choice == last
            worth = max(goodput if kept else goodput * factor, 1e-8)
            tie = self._random.randrange(TIE)
            costs[choice] = round(round(worth**FAIRNESS, 2) * UNIT) + tie
        if life.delay_seconds > 0 and last is not None:
            return {last: -100 * UNIT}
        return costs

    def _chosen(self, scene: Scene, costs: Sequence[Mapping[Choice, int]]) -> dict[str, Choice]:
        model = cp_model.CpModel()
        picks = [{choice: model.new_bool_var("") for choice in sorted(of)} for of in costs]
        for of in picks:
            model.add_at_most_one(of.values())
        for pool in scene.pools:
            model.add(
                sum(
                    pick * choice.gpus
                    for of in picks
                    for choice, pick in of.items()
                    if choice.gpu_type == pool.gpu_type
                )
                <= pool.gpus
            )
        left_out = round(LEFT_OUT * UNIT)
        model.minimize(
            sum(
                pick * (cost[choice] - left_out)
                for of, cost in zip(picks, costs, strict=True)
                for choice, pick in of.items()
            )
        )
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.relative_gap_limit = 1e-4
        solver.parameters.max_deterministic_time = 2.0
        solver.solve(model)
        return {
            life.arrival.name: choice
            for life, of in zip(scene.lives, picks, strict=True)
            for choice, pick in of.items()
            if solver.value(pick)
        }


def projected_rates(
    life: Life, pools: Sequence[Pool], kind: str, sizes: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Goodput at sizes on a type, judged if need be by the first type on which the job ran."""
    known = life.knowledge
    per_node = {pool.gpu_type: pool.gpus_per_node for pool in pools}
    like = kind if known.samples.get(kind) else next(k for k in per_node if known.samples.get(k))
    replicas = np.array(sizes, dtype=np.float64)
    # Sia's simulator lets jobs choose any batch, yet judges sizes by batches up to the requested
    # one.
    limits = replace(known.limits[like], largest=life.arrival.batch)
    found = known.batches(like, np.ceil(replicas / per_node[like]), replicas, limits)
    if found is None:
        return np.zeros(len(sizes))
    return found.rate * (known.single_rate[kind] / known.single_rate[like])


def restart_factor(life: Life, now: float) -> float:
    """The factor on a job's goodput after another restart, by how often it was restarted."""
    application = life.application.name
    penalty = PENALTY_SECONDS.get(application, OTHER_PENALTY_SECONDS)
    age = now - life.arrival.seconds
    if age < penalty:
        return 1.0
    return max(age - life.restarts * penalty, 0.0) / (age + penalty)
