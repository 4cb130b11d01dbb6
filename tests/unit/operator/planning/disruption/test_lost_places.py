"""A pod that is gone from a closed node does not come back there, and its job is planned so."""

from collections.abc import Iterable

import pytest

from plimsoll.observe.snapshot import JobName
from plimsoll.planning.actions import Change
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import carried_over, renewed
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.adopted_jobs import a_stand_in, placed_pods
from support.clusters.seen import NAMESPACE, NOW, at, pods_of, seen
from support.objects.batch_jobs import a_batch_job
from support.objects.job_manifests import a_priority_class, a_training_job, an_inference_job
from support.objects.manifests import edited

STAND_IN = JobName(f"TrainingJob/{NAMESPACE}/job-train")
GANG, SERVICE = JobName(f"TrainingJob/{NAMESPACE}/t"), JobName(f"InferenceJob/{NAMESPACE}/s")


def nodes(count: int = 4, *, cordoned: Iterable[int] = (0,)) -> list[Manifest]:
    """Nodes of two GPUs, of which some are cordoned."""
    found = [fake_node(f"n-{index}", H100, gpus=2) for index in range(count)]
    for index in cordoned:
        found[index]["spec"]["unschedulable"] = True
    return found


def a_gang(disruption: Manifest | None = None) -> Manifest:
    """A gang of two, on a cordoned node and another."""
    job = a_training_job("t", workers=2, gpus=2, disruption=disruption or {})
    return at(job, "n-0", "n-1")


def a_service() -> Manifest:
    """A service with two replicas on a cordoned node and one on another."""
    job = an_inference_job("s", role={"replicas": {"min": 0, "max": 4}})
    job["spec"]["replicas"] = 3
    return at(job, "n-0", "n-0", "n-1")


def without(job: Manifest, *lost: int) -> list[Manifest]:
    """Its pods but those of some replicas."""
    return [pod for number, pod in enumerate(pods_of(job)) if number not in lost]


def change(*manifests: Manifest, of: JobName) -> Change | None:
    """What a plan, which breaks no rule, changes of a job."""
    snapshot = seen(*manifests)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem, Effort()))
    assert not list(violations(plan_input.problem, result.solution.placements))
    plan = plan_of(snapshot, with_ordinals(snapshot, result))
    return next((each for each in plan.changes if each.job == of), None)


@pytest.mark.parametrize("replicas", [1, 3])
def test_a_place_that_is_lost_while_a_plan_is_made_is_left_to_the_next_plan(replicas: int) -> None:
    several, other = a_service(), a_training_job("other")
    job = several if replicas > 1 else at(an_inference_job("s"), "n-0")
    pods = pods_of(job)
    before = plan_input_of(seen(*nodes(), job, other, *pods), ProblemBuilder())
    result = PlanResult(before, solve(before.problem, Effort()))
    snapshot = seen(*nodes(), job, other, *pods[1:])
    now = plan_input_of(snapshot, ProblemBuilder())
    carried, broken = renewed(result, now)
    plan = plan_of(snapshot, carried)
    assert broken == ()
    assert [each.job for each in plan.changes] == [f"TrainingJob/{NAMESPACE}/other"]
    assert (plan.holds, dict(plan.short)) == ((), {})
    late = carried_over(result, now)
    assert late is not None
    again, _ = renewed(late, now)
    assert plan_of(snapshot, again).changes == plan.changes
    found = change(*nodes(), job, *pods[1:], of=SERVICE)
    assert found is not None, "it is planned next"


@pytest.mark.parametrize("lost", [0, 1])
def test_a_gang_that_restarts_leaves_the_closed_node(lost: int) -> None:
    job = a_gang()
    found = change(*nodes(), job, *without(job, lost), of=GANG)
    assert found is not None
    assert found.reason is Reason.NODE_LEFT
    assert found.message.startswith("left n-0 (Cordoned), now NVIDIA-H100-80GB-HBM3 on n-")
    assert "n-0" not in found.message.partition("now")[2]


def test_a_pod_that_is_being_evicted_is_as_good_as_gone() -> None:
    job = a_gang()
    pods = pods_of(job)
    pods[0]["metadata"]["deletionTimestamp"] = NOW.isoformat()
    found = change(*nodes(), job, *pods, of=GANG)
    assert found is not None
    assert found.message.startswith("left n-0 (Cordoned)")


def test_a_pod_that_has_no_node_yet_gets_another() -> None:
    job = a_gang()
    pods = pods_of(job)
    del pods[0]["spec"]["nodeName"]
    assert change(*nodes(), job, *pods, of=GANG) is not None


def test_a_gang_that_runs_stays() -> None:
    job = a_gang()
    assert change(*nodes(), job, *pods_of(job), of=GANG) is None


def test_a_worker_that_has_succeeded_is_not_gone() -> None:
    job = a_gang()
    pods = pods_of(job)
    pods[0]["status"] = {"phase": "Succeeded"}
    assert change(*nodes(), job, *pods, of=GANG) is None


def test_a_gang_that_lost_a_pod_on_open_nodes_starts_again_where_it_is() -> None:
    job = a_gang()
    assert change(*nodes(cordoned=[2]), job, *without(job, 0), of=GANG) is None


def test_without_another_place_it_waits() -> None:
    job = a_gang()
    found = change(*nodes(2), job, *without(job, 0), of=GANG)
    assert found is not None
    assert (found.reason, found.message) == (
        Reason.NODE_LEFT,
        "it must leave n-0 (Cordoned), and there is no other place",
    )


def test_its_users_wish_not_to_be_disturbed_does_not_keep_it_there() -> None:
    job = a_gang(disruption={"maxPerDay": 0})
    assert change(*nodes(), job, *without(job, 0), of=GANG) is not None


def test_a_crash_is_counted_before_its_gang_moves() -> None:
    job = a_gang()
    pods = pods_of(job)
    pods[1]["status"] = {"phase": "Failed"}
    assert change(*nodes(), job, *pods, of=GANG) is None
    evicted = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
    pods[1]["status"] = {"phase": "Failed", "conditions": [evicted]}
    assert change(*nodes(), job, *pods, of=GANG) is not None


def test_what_a_workload_runs_is_left_to_its_controller() -> None:
    job = a_batch_job("train", parallelism=2, completions=2)
    stand_in = at(a_stand_in(job), "n-0", "n-1")
    there = placed_pods(job, stand_in)
    assert change(*nodes(), job, stand_in, *there[1:], of=STAND_IN) is None


def test_a_node_that_is_closed_to_plans_alone_is_used_again() -> None:
    job, cluster = a_gang(), nodes(cordoned=[])
    cluster[0]["status"]["conditions"] = [{"type": "KernelReady", "status": "False"}]
    assert change(*cluster, job, *without(job, 0), of=GANG) is None


def test_a_service_moves_only_the_replica_that_has_gone() -> None:
    job = a_service()
    found = change(*nodes(2), job, *without(job, 1), of=SERVICE)
    assert found is not None
    assert found.message == "left n-0 (Cordoned), now NVIDIA-H100-80GB-HBM3 on n-0, n-1 ×2"
    assert change(*nodes(2), job, *pods_of(job), of=SERVICE) is None


def test_a_replica_of_several_pods_stays_while_the_one_on_the_closed_node_is_there() -> None:
    job = an_inference_job("s", gpus=2, role={"podsPerReplica": 2})
    job = at(job, "n-0")
    job["status"]["placement"]["assignments"][0]["nodes"] = ["n-0", "n-1"]
    [leader] = pods_of(job)
    worker = edited(leader, {"metadata.name": "s-server-0-1", "spec.nodeName": "n-1"})
    worker["metadata"]["labels"] = {**worker["metadata"]["labels"], "plimsoll.dev/rank": "1"}
    assert change(*nodes(), job, leader, of=SERVICE) is None
    assert change(*nodes(), job, worker, of=SERVICE) is not None


def test_the_rest_of_a_service_stays_protected() -> None:
    job, high = a_service(), a_training_job("t", gpus=2, priorityClassName="high")
    budget: Manifest = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "careful", "namespace": NAMESPACE},
        "spec": {"selector": {"matchLabels": {"plimsoll.dev/job-name": "s"}}},
        "status": {"disruptionsAllowed": 0},
    }
    more = [a_priority_class("high", 1000), budget, high]
    assert change(*nodes(2), *more, job, *without(job, 0), of=SERVICE) is not None
    assert change(*nodes(2), *more, job, *without(job, 0), of=GANG) is None, "it does not get n-1"
