"""Services with parts of GPUs, from their manifests to the plan: memory, loads, neighbours."""

from collections.abc import Mapping
from typing import Any

import pytest

from plimsoll.acting.pods.gpu_request import needs_of, pod_placements
from plimsoll.acting.pods.manifest import pod_manifest
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.assumed.gpu_memory import UNKNOWN, SharedMemory, shared_memory
from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Admit, Migrate, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, T4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Node, Role
from plimsoll_placement.solve import solve_lean
from support.clusters.seen import at, pods_of, seen, serving
from support.objects.bought_nodes import LABEL, a_growing_pool
from support.objects.job_manifests import an_inference_job

GIB = 1 << 30
A100_BYTES = 81920 << 20


def a_gpu(name: str, *, replicas: int = 4, **labels: str) -> Manifest:
    """A node with one time-sliced GPU."""
    own = {key.replace("_", "."): value for key, value in labels.items()}
    return fake_node(
        name, A100, 1, replicas=replicas, labels={f"nvidia.com/{k}": v for k, v in own.items()}
    )


def a_model(
    name: str,
    weights: str | None = None,
    *,
    load: float | None = None,
    **spec: Any,  # noqa: ANN401
) -> Manifest:
    """A service with a quarter of a GPU."""
    role = {"weightsMemory": weights} if weights else {}
    job = an_inference_job(name, gpus="0.25", loads={A100: 1000}, role=role, **spec)
    return job if load is None else serving(job, server=load)


def planned(*manifests: Manifest) -> Plan:
    return plan_for(seen(*manifests))


def plan_for(snapshot: Snapshot) -> Plan:
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve_lean(plan_input.problem, Effort(0))
    require_sound(plan_input.problem, solution.placements)
    return plan_of(snapshot, PlanResult(plan_input, solution))


def places(plan: Plan) -> Mapping[str, str]:
    """The node of each service that the plan admits."""
    return {
        change.job.rpartition("/")[2]: change.assignments[0].nodes[0]
        for change in plan.changes
        if isinstance(change, Admit)
    }


def node_of(*manifests: Manifest) -> Node:
    return ProblemBuilder().cluster(seen(*manifests)).nodes[0]


def role_of(*manifests: Manifest) -> Role:
    (job,) = plan_input_of(seen(*manifests), ProblemBuilder()).problem.jobs
    return job.roles[0]


def test_quarters_without_rates_are_spread_evenly() -> None:
    found = places(planned(a_gpu("n-0"), a_gpu("n-1"), *map(a_model, "abcd")))
    assert sorted(found.values()) == ["n-0", "n-0", "n-1", "n-1"]


def test_busy_models_are_kept_apart() -> None:
    jobs = [a_model(n, "20Gi", load=rate) for n, rate in zip("abcd", (9, 9, 1, 1), strict=True)]
    found = places(planned(a_gpu("n-0"), a_gpu("n-1"), *jobs))
    assert found["a"] != found["b"]


def test_a_request_that_is_promised_sooner_counts_more() -> None:
    jobs = [
        a_model("soon-1", "20Gi", load=1, slo={"timeToFirstToken": "100ms"}),
        a_model("soon-2", "20Gi", load=1, slo={"timeToFirstToken": "100ms"}),
        a_model("late-1", "20Gi", load=1, slo={"timeToFirstToken": "1s"}),
        a_model("late-2", "20Gi", load=1, slo={"timeToFirstToken": "1s"}),
    ]
    found = places(planned(a_gpu("n-0"), a_gpu("n-1"), *jobs))
    assert found["soon-1"] != found["soon-2"]


def test_models_that_do_not_fit_in_memory_wait_and_say_so() -> None:
    plan = planned(a_gpu("n-0"), a_model("a", "50Gi"), a_model("b", "40Gi"))
    assert len(places(plan)) == 1
    (hold,) = plan.holds
    assert hold.reason == "InsufficientResources"
    assert "of GPU memory on one device; nodes with such GPUs free have at most" in hold.message


def test_a_replica_that_moves_says_why() -> None:
    jobs = [at(a_model(name, "10Gi", load=5), "n-0", gpu_type=A100) for name in "abc"]
    jobs = [serving(job, server=5) for job in jobs]
    plan = planned(a_gpu("n-0"), a_gpu("n-1"), *jobs)
    (change,) = plan.changes
    assert isinstance(change, Migrate)
    assert change.message == (
        f"moved to {A100} on n-1, where a shared GPU has more memory left for its load"
    )


def test_a_load_is_shared_by_the_replicas_that_carry_it() -> None:
    job = serving(at(a_model("a"), "n-0", "n-0", gpu_type=A100), server=6)
    job["spec"]["slo"] = {"latency": "2s"}
    assert role_of(a_gpu("n-0"), job).load_nano == 6 * 10**9 // 2 // 2


def test_without_a_load_it_is_not_known() -> None:
    assert role_of(a_gpu("n-0"), a_model("a")).load_nano is None
    whole = serving(an_inference_job("a", loads={A100: 1}), server=6)
    assert role_of(fake_node("n-0", A100, 1), whole).load_nano is None


@pytest.mark.parametrize("load", ["1e15", "0", "0.000001"])
def test_any_load_can_be_planned(load: str) -> None:
    jobs = [a_model("a", "10Gi"), serving(a_model("b", "10Gi"), server=0)]
    jobs[1]["status"]["roles"][0]["loads"][0]["wanted"] = load
    assert len(places(planned(a_gpu("n-0"), *jobs))) == 2


def test_weights_count_only_on_gpus_that_are_shared() -> None:
    whole = an_inference_job("a", loads={A100: 1}, role={"weightsMemory": "500Gi"})
    assert places(planned(fake_node("n-0", A100, 1), whole)) == {"a": "n-0"}


def test_absurd_weights_hold_up_none_but_their_own() -> None:
    plan = planned(a_gpu("n-0"), a_model("a", "8E"), a_model("b", "10Gi"))
    assert places(plan) == {"b": "n-0"}


# The memory of nodes


def test_memory_is_what_the_label_says_or_else_as_published() -> None:
    assert node_of(a_gpu("n-0")).gpu_memory_bytes == A100_BYTES
    assert node_of(a_gpu("n-0", gpu_memory="40000")).gpu_memory_bytes == 40000 << 20
    assert node_of(a_gpu("n-0", gpu_memory="")).gpu_memory_bytes == 80 * GIB
    assert memory_of(a_gpu("n-0", gpu_memory="", gpu_product="Mystery")) == UNKNOWN
    assert memory_of(fake_node("n-0", A100, 1)) == UNKNOWN


def test_the_gpus_of_a_node_have_their_memory_together() -> None:
    assert memory_of(fake_node("n-0", T4, 4, replicas=4)) == SharedMemory(60 * GIB, 15 * GIB)


def test_with_mps_each_has_its_part() -> None:
    node = a_gpu("n-0")
    node["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = "mps"
    assert memory_of(node) == SharedMemory(A100_BYTES, A100_BYTES // 4)
    assert places(planned(node, a_model("a", "21Gi"))) == {}
    assert places(planned(node, a_model("a", "20Gi"))) == {"a": "n-0"}


def memory_of(node: Manifest) -> SharedMemory:
    return shared_memory(seen(node).nodes[0])


def test_nodes_that_are_bought_can_be_given_back() -> None:
    pool = a_growing_pool("p", gpu_type=A100)
    node = fake_node("n-0", A100, 1, replicas=4, labels={LABEL: "p"})
    assert node_of(node, pool).returnable
    assert not node_of(a_gpu("n-0")).returnable


# Pods


def test_a_pod_says_what_its_weights_take() -> None:
    snapshot = seen(a_gpu("n-0"), at(a_model("a", "10Gi"), "n-0", gpu_type=A100))
    job = snapshot.job_by_name[JobName("InferenceJob/team/a")].resource
    assert isinstance(job, InferenceJob)
    assert job.status.placement is not None
    placements = pod_placements(snapshot, job, job.status.placement.assignments[0])
    assert placements is not None
    manifest = pod_manifest(job, placements[0])
    assert manifest["metadata"]["labels"]["plimsoll.dev/gpu-memory"] == str(10 * GIB)
    (need,) = needs_of(job, placements)
    assert ("plimsoll.dev/gpu-memory", 10 * GIB) in need.amounts


def labelled(pod: Manifest, weights: str) -> Manifest:
    """The pod as it is made, with a share of a GPU."""
    resources = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    pod["spec"]["containers"] = [{"name": "main", "resources": resources}]
    pod["metadata"]["labels"]["plimsoll.dev/gpu-memory"] = weights
    return pod


def test_a_pod_is_made_only_once_the_memory_is_really_free() -> None:
    leaves = at(a_model("old", "50Gi"), "n-1", gpu_type=A100)
    there = [labelled(pod, str(50 * GIB)) for pod in pods_of(at(leaves, "n-0", gpu_type=A100))]
    comes = at(a_model("new", "40Gi"), "n-0", gpu_type=A100)
    snapshot = seen(a_gpu("n-0"), a_gpu("n-1"), leaves, *there, comes)
    job = snapshot.job_by_name[JobName("InferenceJob/team/new")].resource
    assert isinstance(job, InferenceJob)
    assert job.status.placement is not None
    placements = pod_placements(snapshot, job, job.status.placement.assignments[0])
    assert placements is not None
    assert not Occupancy(snapshot).take_all(needs_of(job, placements))
    gone = seen(a_gpu("n-0"), a_gpu("n-1"), leaves, comes)
    assert Occupancy(gone).take_all(needs_of(job, placements))


def test_plans_leave_a_replica_that_serves_on_its_memory() -> None:
    moved = at(a_model("a", "50Gi"), "n-1", gpu_type=A100)
    old = [labelled(pod, str(50 * GIB)) for pod in pods_of(at(moved, "n-0", gpu_type=A100))]
    moved["status"]["placement"]["assignments"][0]["replica"] = 1
    assert (
        node_of(a_gpu("n-0"), a_gpu("n-1"), moved, *old).gpu_memory_bytes == A100_BYTES - 50 * GIB
    )


@pytest.mark.parametrize("weights", ["much", "-5", "", "1e9"])
def test_a_label_that_makes_no_sense_counts_for_nothing(weights: str) -> None:
    moved = at(a_model("a", "50Gi"), "n-1", gpu_type=A100)
    old = [labelled(pod, weights) for pod in pods_of(at(moved, "n-0", gpu_type=A100))]
    moved["status"]["placement"]["assignments"][0]["replica"] = 1
    assert node_of(a_gpu("n-0"), a_gpu("n-1"), moved, *old).gpu_memory_bytes == A100_BYTES
