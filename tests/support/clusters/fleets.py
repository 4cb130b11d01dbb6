"""Clusters whose nodes were bought, as plans see them."""

import asyncio
from typing import Any

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll.planning.provisioning.trading.trade_search import Fleet
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Placements
from plimsoll_placement.problem import Problem
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.seen import at, seen
from support.objects.bought_nodes import a_claim, a_node_of
from support.objects.job_manifests import a_training_job


def bought(name: str, pool: str) -> list[Manifest]:
    """A node that was bought and has arrived."""
    return [a_claim(f"{pool}-{name}", pool, name, arrived=True), a_node_of(pool, name)]


def a_job_on(node: str, name: str, gpus: int, **spec: Any) -> Manifest:  # noqa: ANN401 - its fields
    """A gang of one worker that runs on a node."""
    return at(a_training_job(name, gpus=gpus, **spec), node)


def fleet_of(*manifests: Manifest) -> Fleet:
    """What nodes there are, and what could be had."""
    snapshot: Snapshot = seen(*manifests)
    settled = plan_input_of(snapshot, ProblemBuilder()).problem
    return Fleet(snapshot, settled, future_nodes(snapshot, frozenset()))


def estimated(problem: Problem) -> Placements:
    """Good placements at once."""
    solution = asyncio.run(InlineSolver(0).estimate(problem))
    assert solution is not None
    return solution.placements
