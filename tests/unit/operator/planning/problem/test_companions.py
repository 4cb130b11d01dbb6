"""Gangs of several roles: what of them is planned, and why they wait."""

from typing import Any

import pytest

from plimsoll.api.parts.gang import Workers
from plimsoll.api.parts.gang_roles import RoleReplicas, replicas_beside
from plimsoll.planning.actions import Action, Admit, Hold, Plan, Resize
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_gpu_pod, a_queue, a_template, a_training_job

GPU_TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
EFFORT = Effort(deterministic_seconds=0.5)


def a_role(name: str = "launcher", *, cpu: str = "4", **fields: Any) -> Manifest:  # noqa: ANN401
    return {"name": name, "template": a_template({"cpu": cpu}), **fields}


def planned(*manifests: Manifest) -> Plan:
    snapshot = seen(*manifests)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, EFFORT)
    assert violations(plan_input.problem, solution.placements) == ()
    return plan_of(snapshot, PlanResult(plan_input, solution))


def the_action(*manifests: Manifest) -> Action:
    plan = planned(*manifests)
    [action] = (*plan.holds, *plan.changes)
    return action


def places(action: Action) -> dict[str, list[str]]:
    """The nodes of each role."""
    assert isinstance(action, Admit | Resize)
    found: dict[str, list[str]] = {}
    for each in action.assignments:
        found.setdefault(each.role, []).extend(each.nodes)
    return found


def test_a_launcher_without_gpus_goes_where_no_gpus_are() -> None:
    nodes = [fake_node("cpu", gpus=0), fake_node("gpu", H100, 8)]
    action = the_action(*nodes, a_training_job("j", workers=2, gpus=4, roles=[a_role()]))
    assert places(action) == {"worker": ["gpu", "gpu"], "launcher": ["cpu"]}
    assert isinstance(action, Admit)
    assert action.message == f"placed: {H100} on gpu ×2; no GPU on cpu"


def test_it_goes_beside_the_workers_where_there_is_nothing_else() -> None:
    job = a_training_job("j", workers=2, gpus=4, roles=[a_role()])
    assert places(the_action(fake_node("gpu", H100, 8), job))["launcher"] == ["gpu"]


def test_it_does_not_tolerate_what_keeps_pods_without_gpus_away() -> None:
    gpu = fake_node("gpu", H100, 8, taints=[GPU_TAINT])
    job = a_training_job("j", workers=2, gpus=4, roles=[a_role()])
    hold = the_action(gpu, job)
    assert isinstance(hold, Hold)
    assert "launcher" in hold.message
    assert places(the_action(gpu, fake_node("cpu", gpus=0), job))["launcher"] == ["cpu"]


def test_all_have_a_place_or_none_has() -> None:
    nodes = [fake_node("cpu", gpus=0, cpu="8"), fake_node("gpu", H100, 8, taints=[GPU_TAINT])]
    loaders = a_role("loader", cpu="4", replicas={"min": 3})
    hold = the_action(*nodes, a_training_job("j", workers=1, roles=[loaders]))
    assert isinstance(hold, Hold)
    assert hold.message == (
        "role loader needs 3 pods with 4 CPU each; there are CPU, memory and pod slots for 2 of 3"
        " pods"
    )


def test_cpu_that_others_take_is_not_there() -> None:
    nodes = [fake_node("cpu", gpus=0, cpu="8"), fake_node("gpu", H100, 8, taints=[GPU_TAINT])]
    job = a_training_job("j", workers=1, roles=[a_role(cpu="6")])
    assert isinstance(the_action(*nodes, job), Admit)
    assert isinstance(the_action(*nodes, a_gpu_pod("other", "cpu", cpu="3"), job), Hold)


def test_actors_may_be_on_another_type_than_the_learners() -> None:
    nodes = [fake_node("h", H100, 8), fake_node("a", A100, 8)]
    actors = a_role("actor", gpusPerReplica=1, replicas={"min": 6}, acceleratorTypes=[A100])
    action = the_action(*nodes, a_training_job("j", workers=1, gpus=8, roles=[actors]))
    assert places(action) == {"worker": ["h"], "actor": ["a"] * 6}


def test_their_gpus_count_against_the_queue() -> None:
    nodes = [fake_node("h", H100, 8), fake_node("a", A100, 8)]
    actors = a_role("actor", gpusPerReplica=1, replicas={"min": 6}, acceleratorTypes=[A100])
    job = a_training_job("j", workers=1, gpus=8, queue="q", roles=[actors])
    assert isinstance(the_action(*nodes, a_queue("q", gpu_type=A100, limit=6), job), Admit)
    hold = the_action(*nodes, a_queue("q", gpu_type=A100, limit=5), job)
    assert isinstance(hold, Hold)
    assert hold.message.startswith("role actor needs 6 × NVIDIA-A100")
    assert hold.message.endswith("queue q may still use 5")


def test_loaders_grow_with_the_workers() -> None:
    loaders = a_role("loader", replicas={"min": 1, "max": 4})
    rates = {H100: {1: 1, 4: 4}}
    job = a_training_job("j", workers=(1, 4), gpus=8, rates=rates, roles=[loaders])
    nodes = [fake_node("cpu", gpus=0), *(fake_node(f"h-{n}", H100, 8) for n in range(4))]
    grown = places(the_action(*nodes, job))
    assert (len(grown["worker"]), len(grown["loader"])) == (4, 4)
    small = places(the_action(*nodes[:3], job))
    assert (len(small["worker"]), len(small["loader"])) == (2, 2)


def test_a_gang_is_no_larger_than_there_is_room_for_what_is_beside_it() -> None:
    loaders = a_role("loader", cpu="4", replicas={"min": 1, "max": 4})
    rates = {H100: {1: 1, 4: 4}}
    job = a_training_job("j", workers=(1, 4), gpus=8, rates=rates, roles=[loaders])
    tainted = (fake_node(f"h-{n}", H100, 8, taints=[GPU_TAINT]) for n in range(4))
    found = places(the_action(fake_node("cpu", gpus=0, cpu="8"), *tainted, job))
    assert (len(found["worker"]), len(found["loader"])) == (2, 2)


def test_what_runs_stays_with_all_its_roles() -> None:
    nodes = [fake_node("cpu", gpus=0), fake_node("gpu", H100, 8)]
    job = at(a_training_job("j", workers=2, gpus=4, roles=[a_role()]), "gpu", "gpu")
    beside = {"role": "launcher", "replica": 0, "nodes": ["cpu"], "revision": 1}
    job["status"]["placement"]["assignments"].insert(
        0, {**beside, "acceleratorType": "", "pool": ""}
    )
    assert planned(*nodes, job).changes == ()


@pytest.mark.parametrize(("workers", "count"), [(2, 1), (3, 2), (4, 3), (6, 5), (7, 5), (1, 1)])
def test_between_the_fewest_and_the_most_it_is_in_proportion(workers: int, count: int) -> None:
    container = {"name": "main", "image": "main:1"}
    gang = {
        "min": 2,
        "max": 6,
        "gpusPerWorker": 1,
        "template": {"spec": {"containers": [container]}},
    }
    replicas = RoleReplicas(min=1, max=5)
    assert replicas_beside(Workers.model_validate(gang), replicas, workers) == count
