"""Whatever legal number a user writes or a worker reports, a plan is made, and others are in it."""

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.measured.demand import BucketDemand, RoleDemand
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.serving.autoscaling import scaled_loads
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, T4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_pool, a_template, a_training_job, an_inference_job

EFFORT = Effort(deterministic_seconds=0.05)
SPOT = {"terms": "spot"}
CLUSTER = [
    a_pool("spot", SPOT, capacityType="Spot", pricePerGPUHour="3", interruptionsPerHour="0.5"),
    fake_node("cheap", H100, 8, labels=SPOT),
    fake_node("steady", H100, 8),
    fake_node("older", A100, 8),
    fake_node("other", T4, 1),
]
OTHER = "other"

numbers = st.sampled_from(
    ["1", "7", "1e-330", "1n", "0.001", "1e-9", "1e6", "1e15", "1e18", "9E", "9e99"]
)
loads = st.sampled_from([0.0, 1e-300, 1e-9, 1.0, 1e9, 1e15, 1e18, 1e300])
counts = st.sampled_from([(1, 1), (1, 2), (2, 8), (1, 64), (1, 4096), (4096, 4096)])
gpus = st.sampled_from(["1", "2", "8", "0.5", "1n", "1000000", "1e9", "9E"])
deadlines = st.sampled_from(["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "soon"])
durations = st.sampled_from(["1ms", "10m", "99999h99999h99999h99999h"])


@st.composite
def rates(draw: st.DrawFn) -> dict[str, dict[int, str]]:
    points = st.dictionaries(st.sampled_from([1, 2, 3, 64, 4096]), numbers, min_size=1)
    return draw(st.dictionaries(st.sampled_from([H100, A100]), points, min_size=1))


@st.composite
def gangs(draw: st.DrawFn) -> Manifest:
    deadline = draw(deadlines)
    soon = (NOW + timedelta(minutes=5)).isoformat()
    work = {"amount": draw(numbers), "unit": "samples"}
    spec: dict[str, Any] = {
        "workers": draw(counts),
        "gpus": draw(gpus),
        "rates": draw(rates()),
        "work": {**work, "deadline": soon if deadline == "soon" else deadline},
        "spot": {"allowed": draw(st.booleans())},
        "checkpoint": {"interval": draw(durations), "saveSeconds": draw(st.integers(0, 86400))},
        "disruption": {"minRuntime": draw(durations)},
        "template": a_template({"cpu": draw(numbers), "memory": draw(numbers)}),
    }
    if draw(st.booleans()):
        size = draw(st.sampled_from([1, 7, 2**30]))
        spec["batch"] = {"size": size, "maxSize": 2**30, "maxAccumulation": 256}
    job = a_training_job("extreme", **spec)
    measured = [
        {
            "type": draw(st.sampled_from([H100, A100])),
            "workers": draw(st.sampled_from([1, 2, 3, 64])),
            "rate": draw(numbers),
            "seconds": draw(st.sampled_from([1, 3600, 2**31 - 1])),
        }
        for _ in range(draw(st.integers(0, 3)))
    ]
    progress = {"done": draw(numbers), "rate": draw(numbers), "gradientNoise": draw(numbers)}
    status: dict[str, Any] = {}
    if draw(st.booleans()):
        status = {"measured": measured, "progress": {**progress, "unit": "samples"}}
    if draw(st.booleans()):
        return at(job, *["cheap", "steady"][: draw(st.integers(1, 2))], **status)
    return {**job, "status": status}


@st.composite
def services(draw: st.DrawFn) -> Manifest:
    most = draw(st.sampled_from([1, 2, 8, 1024]))
    role: dict[str, Any] = {"replicas": {"min": draw(st.integers(0, 1)), "max": most}}
    carried = draw(st.dictionaries(st.sampled_from([H100, A100]), numbers, min_size=1))
    job = an_inference_job("extreme", gpus=draw(gpus), loads=carried, role=role)
    if draw(st.booleans()):
        return job
    stored = InferenceJob.model_validate(
        {**job, "metadata": {"name": "extreme", "namespace": "team", "uid": "u"}}
    )
    load = draw(loads)
    demand = RoleDemand("server", (BucketDemand(load, load, load, load, load),))
    (scaled,) = scaled_loads(stored, stored.spec.roles[0], demand, NOW)
    return {**job, "status": {"roles": [{"name": "server", "loads": [scaled.wire()]}]}}


def planned_with(job: Manifest, *more: Manifest) -> set[str]:
    """The jobs that a plan gives a place, another tenant's ordinary job among those asked for."""
    snapshot = seen(*CLUSTER, *more, job, a_training_job(OTHER, rates={T4: 1}))
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    solution = solve(plan_input.problem, EFFORT)
    assert not violations(plan_input.problem, solution.placements)
    plan_of(snapshot, PlanResult(plan_input, solution))
    return {name.rpartition("/")[2] for name, each in solution.placements.items() if each}


@given(gangs())
def test_no_number_of_a_gang_keeps_anothers_job_from_its_place(job: Manifest) -> None:
    assert OTHER in planned_with(job)


@given(gangs())
def test_nor_does_one_where_completion_counts(job: Manifest) -> None:
    policy = {
        "apiVersion": job["apiVersion"],
        "kind": "PlacementPolicy",
        "metadata": {"name": "default"},
        "spec": {"objective": {"preset": "Completion"}},
    }
    assert OTHER in planned_with(job, policy)


@given(services())
def test_no_number_of_a_service_keeps_anothers_job_from_its_place(job: Manifest) -> None:
    assert OTHER in planned_with(job)
