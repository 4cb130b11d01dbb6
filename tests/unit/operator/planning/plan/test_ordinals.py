"""Which numbers the replicas of a job get by a plan."""

from dataclasses import replace
from datetime import timedelta

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignment, GpuType, JobName, NodeName
from plimsoll_placement.solve import solve
from support.clusters.adopted_workloads import a_pod_of, a_stand_in
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import an_inference_job
from support.objects.workloads import a_ray_cluster, asking, held, suspended

SERVICE, GANG = JobName("InferenceJob/team/s"), JobName("TrainingJob/team/raycluster-train")


def a_service(*nodes: str) -> Manifest:
    role = {"replicas": {"min": len(nodes), "max": 9}, "drain": "30s"}
    return at(an_inference_job("s", role=role), *nodes)


def a_gang(*nodes: str) -> list[Manifest]:
    """A RayCluster that changes its size while it runs, and what stands for it."""
    sizes = {"workers.min": "1", "workers.max": "4"}
    workload = held(asking(a_ray_cluster(workers=len(nodes)), sizes))
    stand_in = a_stand_in(workload, on=nodes, startedTime="2026-11-21T11:00:00Z")
    return [suspended(workload, suspend=False), stand_in]


def workers_on(*nodes: str) -> list[Manifest]:
    """The pods of such a gang, by their numbers."""
    ray = a_ray_cluster()
    return [a_pod_of(ray, n, node, stand_in="raycluster-train") for n, node in enumerate(nodes)]


def a_snapshot(*manifests: Manifest) -> Snapshot:
    return seen(*(fake_node(name, gpus=4) for name in ("a", "b", "c")), *manifests)


def numbers(
    snapshot: Snapshot, *wished: tuple[int, str], of: JobName = SERVICE
) -> list[tuple[int, str]]:
    """Number and node of each replica, where the solver has numbered them so."""
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    [job] = plan_input.problem.jobs
    kind = GpuType(next(iter(job.roles[0].yields)))
    assignments = tuple(
        Assignment(job.roles[0].name, number, kind, (NodeName(node),)) for number, node in wished
    )
    solution = replace(solve(plan_input.problem, Effort()), placements={of: assignments})
    found = with_ordinals(snapshot, PlanResult(plan_input, solution)).solution.placements[of]
    return [(assignment.replica, assignment.nodes[0]) for assignment in found]


def draining(pod: Manifest) -> Manifest:
    since = (NOW - timedelta(seconds=5)).isoformat()
    gate = {"type": "plimsoll.dev/serving", "status": "False", "lastTransitionTime": since}
    pod["spec"]["readinessGates"] = [{"conditionType": "plimsoll.dev/serving"}]
    pod["status"]["conditions"] = [gate]
    return pod


def test_replicas_that_stay_keep_their_numbers() -> None:
    job = a_service("a", "b")
    snapshot = a_snapshot(job, *pods_of(job))
    assert numbers(snapshot, (0, "a"), (1, "b"), (2, "c")) == [(0, "a"), (1, "b"), (2, "c")]


def test_a_replica_that_moves_gets_a_number_that_no_pod_has() -> None:
    job = a_service("a", "b")
    snapshot = a_snapshot(job, *pods_of(job))
    assert numbers(snapshot, (0, "c"), (1, "b")) == [(2, "c"), (1, "b")]


def test_a_replica_without_a_pod_keeps_its_number_wherever_it_goes() -> None:
    job = a_service("a", "b")
    snapshot = a_snapshot(job, pods_of(job)[1])
    assert numbers(snapshot, (0, "c"), (1, "b")) == [(0, "c"), (1, "b")]


def test_replicas_that_only_change_numbers_stay() -> None:
    job = a_service("a", "b")
    snapshot = a_snapshot(job, *pods_of(job))
    assert numbers(snapshot, (0, "b"), (1, "a")) == [(1, "b"), (0, "a")]


def test_a_replica_that_drains_is_taken_back_by_its_number() -> None:
    job = a_service("a")
    gone = draining(pods_of(a_service("a", "b"))[1])
    snapshot = a_snapshot(job, *pods_of(job), gone)
    assert numbers(snapshot, (0, "a"), (2, "b")) == [(0, "a"), (1, "b")]
    assert numbers(snapshot, (0, "a"), (1, "c")) == [(0, "a"), (2, "c")]


def test_numbers_are_given_once() -> None:
    job = a_service("a", "b")
    snapshot = a_snapshot(job, *pods_of(job))
    found = numbers(snapshot, (0, "c"), (1, "c"), (2, "c"))
    assert sorted(number for number, _ in found) == [2, 3, 4]


def test_workers_that_stay_while_their_gang_changes_its_size_keep_their_numbers() -> None:
    snapshot = a_snapshot(*a_gang("a", "b"), *workers_on("a", "b"))
    assert numbers(snapshot, (0, "b"), of=GANG) == [(1, "b")]
    grown = numbers(snapshot, (0, "b"), (1, "b"), (2, "a"), of=GANG)
    assert grown == [(2, "b"), (1, "b"), (0, "a")]


def test_a_worker_that_is_still_there_is_taken_back_by_its_number() -> None:
    snapshot = a_snapshot(*a_gang("a"), *workers_on("a", "b"))
    assert numbers(snapshot, (0, "a"), (2, "b"), of=GANG) == [(0, "a"), (1, "b")]
    assert numbers(snapshot, (0, "a"), (1, "c"), of=GANG) == [(0, "a"), (2, "c")]


def test_workers_of_a_gang_that_starts_anew_for_another_size_are_numbered_as_planned() -> None:
    workload, stand_in = a_gang("a", "b")
    snapshot = a_snapshot(suspended(workload), stand_in)
    assert numbers(snapshot, (0, "b"), of=GANG) == [(0, "b")]
