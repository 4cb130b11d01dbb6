"""What plans do for services whose load changes, beside each other and beside training."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan, Resize
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, pods_of, seen, serving
from support.objects.job_manifests import (
    a_pool,
    a_priority_class,
    a_queue,
    a_training_job,
    an_inference_job,
)

FROM_1_TO_9: Manifest = {"replicas": {"min": 1, "max": 9}}


def planned(*manifests: Manifest) -> Plan:
    snapshot = seen(*manifests)
    return plan_for(snapshot)


def plan_for(snapshot: Snapshot) -> Plan:
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    return plan_of(snapshot, PlanResult(plan_input, solve(plan_input.problem, Effort())))


def replicas(plan: Plan, job: str) -> list[tuple[str, str]]:
    """Role and GPU type of each replica after the plan's change of a job."""
    change = next(change for change in plan.changes if change.job.endswith(f"/{job}"))
    return sorted(
        (assignment.role, assignment.gpu_type) for assignment in getattr(change, "assignments", ())
    )


def a_service(name: str = "s", **role: Any) -> Manifest:  # noqa: ANN401 - fields of a role
    return an_inference_job(name, loads={H100: 4, L4: 1}, role={**FROM_1_TO_9, **role})


def priced(**dollars: float) -> list[Manifest]:
    kinds = {"h100": H100, "a100": A100, "l4": L4}
    label = "nvidia.com/gpu.product"
    return [
        a_pool(name, {label: kinds[name]}, pricePerGPUHour=str(price))
        for name, price in dollars.items()
    ]


def test_no_more_replicas_than_carry_the_load_beside_the_fewest_allowed() -> None:
    nodes = [fake_node("h", H100, 4), fake_node("l", L4, 8)]
    job = serving(a_service(replicas={"min": 3, "max": 9}), server=5)
    plan = planned(*nodes, *priced(h100=3, l4=1), job)
    assert replicas(plan, "s") == [("server", H100), ("server", L4), ("server", L4)]
    held = serving(at(a_service(replicas={"min": 3, "max": 9}), "h", "l", "l"), server=5)
    for place in held["status"]["placement"]["assignments"][1:]:
        place["acceleratorType"] = L4
    assert not planned(*nodes, *priced(h100=3, l4=1), held).changes


def test_the_fewest_allowed_are_there_though_fewer_would_carry_the_load() -> None:
    nodes = [fake_node("h", H100, 4), fake_node("l", L4, 8)]
    job = serving(a_service(replicas={"min": 3, "max": 9}), server=5)
    plan = planned(*nodes, *priced(h100=1, l4=1), job)
    assert len(replicas(plan, "s")) == 3


def test_a_service_gets_the_cheapest_mix_that_carries_its_load() -> None:
    nodes = [fake_node("h", H100, 4), fake_node("l", L4, 4)]
    job = serving(a_service(), server=6)
    dear_h100 = planned(*nodes, *priced(h100=5, l4=1), job)
    assert replicas(dear_h100, "s") == [("server", H100), ("server", L4), ("server", L4)]
    less_dear = planned(*nodes, *priced(h100=1.9, l4=1), job)
    assert replicas(less_dear, "s") == [("server", H100), ("server", H100)]


def test_one_service_leaves_the_scarce_type_to_another_that_needs_it_more() -> None:
    nodes = [fake_node("h", H100, 1), fake_node("l", L4, 4)]
    picky = an_inference_job("picky", loads={H100: 4}, role=FROM_1_TO_9)
    plan = planned(
        *nodes, *priced(h100=1, l4=1), serving(a_service(), server=4), serving(picky, server=4)
    )
    assert replicas(plan, "picky") == [("server", H100)]
    assert replicas(plan, "s") == [("server", L4)] * 4


def test_prefill_grows_and_decode_does_not_when_inputs_are_longer() -> None:
    job = an_inference_job("s", loads={H100: 100}, role={**FROM_1_TO_9, "name": "prefill"})
    [prefill] = job["spec"]["roles"]
    job["spec"]["roles"] = [prefill, {**prefill, "name": "decode"}]
    placed = serving(at(job, "n-0", "n-0", role=""), prefill=400, decode=100)
    places = placed["status"]["placement"]["assignments"]
    places[1] |= {"role": "decode", "replica": 0}
    places[0] |= {"role": "prefill"}
    [change] = planned(fake_node("n-0", H100, 8), placed).changes
    assert isinstance(change, Resize)
    kept = {
        (assignment.role, assignment.replica, assignment.nodes) for assignment in change.assignments
    }
    assert {("prefill", 0, ("n-0",)), ("decode", 0, ("n-0",))} <= kept
    assert sorted(assignment.role for assignment in change.assignments) == [
        "decode",
        *["prefill"] * 4,
    ]
    assert "for a load of prefill 400, decode 100" in change.message


def two_phases(*placed: str, **wanted: float) -> Manifest:
    """A service of both phases, each replica of which carries a hundred; `placed`: its roles."""
    job = an_inference_job("s", loads={H100: 100}, role={**FROM_1_TO_9, "name": "prefill"})
    [prefill] = job["spec"]["roles"]
    job["spec"]["roles"] = [prefill, {**prefill, "name": "decode"}]
    job = at(job, *["n-0"] * len(placed)) if placed else job
    places: list[Manifest] = job["status"]["placement"]["assignments"] if placed else []
    for number, (place, role) in enumerate(zip(places, placed, strict=True)):
        place |= {"role": role, "replica": placed[:number].count(role)}
    return serving(job, **wanted)


def counts_of(plan: Plan) -> dict[str, int]:
    roles = [role for role, _ in replicas(plan, "s")]
    return {role: roles.count(role) for role in ("prefill", "decode")}


def test_a_phase_that_was_there_first_does_not_starve_the_other() -> None:
    placed = ["prefill"] * 7 + ["decode"]
    job = two_phases(*placed, prefill=900, decode=900)
    assert counts_of(planned(fake_node("n-0", H100, 8), job)) == {"prefill": 4, "decode": 4}


def test_what_there_is_for_two_replicas_is_one_of_each_phase() -> None:
    job = two_phases(prefill=900, decode=200)
    assert counts_of(planned(fake_node("n-0", H100, 2), job)) == {"prefill": 1, "decode": 1}


def test_phases_are_in_proportion_within_the_limit_of_their_queue() -> None:
    job = two_phases("prefill", "prefill", "prefill", "decode", prefill=800, decode=400)
    job["spec"]["queue"] = "q"
    job["status"]["admission"]["queue"] = "q"
    plan = planned(fake_node("n-0", H100, 8), a_queue("q", limit=6), job)
    assert counts_of(plan) == {"prefill": 4, "decode": 2}


def test_a_phase_at_its_most_replicas_holds_the_other_back() -> None:
    job = two_phases(prefill=900, decode=800)
    job["spec"]["roles"][0]["replicas"] = {"min": 1, "max": 2}
    plan = planned(fake_node("n-0", H100, 16), job)
    assert counts_of(plan) == {"prefill": 2, "decode": 2}


def test_training_shrinks_for_a_spike_and_grows_back_after_it() -> None:
    node = fake_node("n-0", H100, 8)
    classes = [a_priority_class("serving", 1000)]
    train = a_training_job("train", workers=(2, 6), rates={H100: {2: 20, 4: 38, 6: 54}})
    training = at(train, *["n-0"] * 6, startedTime=long_ago(), admittedTime=long_ago())
    service = at(a_service(), "n-0", "n-0")
    service["spec"]["priorityClassName"] = "serving"
    others = (node, *classes, training, *pods_of(training))
    spike = planned(*others, serving(service, server=16))
    by_job = {change.job.rsplit("/", 1)[1]: change for change in spike.changes}
    assert [type(change) for change in by_job.values()] == [Resize, Resize]
    assert len(replicas(spike, "s")) == 4
    assert len(replicas(spike, "train")) == 4
    assert "makes room for InferenceJob/team/s (priority 1000)" in by_job["train"].message

    smaller = at(train, *["n-0"] * 4, startedTime=long_ago(), admittedTime=long_ago())
    busy = at(a_service(), *["n-0"] * 4)
    busy["spec"]["priorityClassName"] = "serving"
    after = planned(node, *classes, smaller, *pods_of(smaller), serving(busy, server=8))
    assert len(replicas(after, "s")) == 2
    freed = at(a_service(), "n-0", "n-0")
    freed["spec"]["priorityClassName"] = "serving"
    later = planned(node, *classes, smaller, *pods_of(smaller), serving(freed, server=8))
    assert len(replicas(later, "train")) == 6


def long_ago() -> str:
    return (seen().now - timedelta(hours=5)).isoformat()


def test_with_the_same_load_nothing_moves() -> None:
    nodes = [fake_node("h", H100, 4), fake_node("l", L4, 4)]
    job = serving(at(a_service(), "h", gpu_type=H100), server=4)
    assert planned(*nodes, *priced(h100=3, l4=1), job).changes == ()


def test_what_is_not_known_of_a_load_changes_nothing() -> None:
    node = fake_node("h", H100, 4)
    job = serving(at(a_service(), "h", "h"), server=8)
    snapshot = seen(node, job)
    unknown = replace(snapshot, jobs=tuple(replace(j, demand=None) for j in snapshot.jobs))
    assert plan_for(unknown).changes == ()
