"""Whoever may make pods may make one that tells a place; that takes nothing from others."""

import copy
from datetime import timedelta

import pytest

from plimsoll.observe.labels import GENERATION, PLACED_AT
from plimsoll.observe.observer import Observer
from plimsoll.planning.actions import Preempt
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, objects_of, pods_of, with_pods
from support.objects.job_manifests import a_queue, a_training_job

GPUS = 2
NODES = [fake_node(f"node-{number}", gpus=GPUS) for number in range(2)]


def forged(job: Manifest, node: str) -> Manifest:
    """A pod of a job that was never placed, which says that it was, and long ago."""
    (pod,) = pods_of(at(copy.deepcopy(job), node), phase="Pending")
    since = int((NOW - timedelta(days=100)).timestamp())
    pod["metadata"]["labels"] |= {GENERATION: "1", PLACED_AT: str(since)}
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    limits = {"limits": {"nvidia.com/gpu": str(GPUS)}}
    pod["spec"] = {
        "affinity": {"nodeAffinity": required},
        "containers": [{"name": "main", "resources": limits}],
    }
    return pod


@pytest.mark.parametrize("limit", [None, 0])
def test_a_forged_place_takes_nothing_from_those_that_hold_it(limit: int | None) -> None:
    held = [at(a_training_job(f"runs-{n}", gpus=GPUS), f"node-{n}") for n in range(len(NODES))]
    thief = a_training_job("thief", gpus=GPUS, queue="theirs")
    queue = a_queue("theirs", limit=limit)
    found = objects_of(*NODES, queue, *with_pods(held), thief, forged(thief, "node-0"))
    snapshot = Observer().snapshot(found, NOW)
    assert [job.resource.metadata.name for job in snapshot.jobs if job.told_by_pod] == ["thief"]
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0.5))
    require_sound(plan_input.problem, solution.placements)
    [change] = plan_of(snapshot, PlanResult(plan_input, solution)).changes
    assert isinstance(change, Preempt)
    assert change.job == "TrainingJob/team/thief"
