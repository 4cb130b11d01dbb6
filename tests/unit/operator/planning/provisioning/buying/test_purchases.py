"""Which nodes are bought for the jobs that a plan leaves waiting."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

import pytest

from plimsoll.control.provisioning.procurement import worked_out
from plimsoll.observe.measured.prices import NO_PRICES, NodePrice, NodePrices
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.validation import settled
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.provisioning.buying.purchases import (
    Purchases,
    left_out,
    offer_to,
    waits_for_nodes,
)
from plimsoll.planning.provisioning.future_nodes import future_nodes
from plimsoll_devcluster.gpu_models import H100, L4
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from plimsoll_simulator.inline_solver import InlineSolver
from support.clusters.seen import NAMESPACE, seen
from support.objects.bought_nodes import (
    LABEL,
    NODE_CLASS,
    a_claim,
    a_growing_pool,
    a_node_of,
    a_request,
    a_typed_pool,
    an_autoscaled_pool,
)
from support.objects.job_manifests import (
    a_policy,
    a_priority_class,
    a_queue,
    a_template,
    a_training_job,
    an_inference_job,
    without_speeds,
)
from support.objects.volumes import a_template_with_claims, a_volume

NOTHING: Final[Mapping[str, int]] = {}


def plan_for(
    *manifests: Manifest, left: float | None = None, prices: NodePrices = NO_PRICES
) -> tuple[Snapshot, Purchases]:
    """What is bought once a plan has given out what there is."""
    snapshot, builder = seen(*manifests, prices=prices), ProblemBuilder()
    plan_input = plan_input_of(snapshot, builder)
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0))
    plan = settled(PlanResult(plan_input, solution))
    future = future_nodes(snapshot, frozenset())
    offer = offer_to(snapshot, plan, future, ProblemBuilder())
    found = asyncio.run(worked_out(InlineSolver(0), offer, _exact(left)))
    assert found is not None
    return snapshot, found


def _exact(left: float | None) -> Decimal | None:
    return None if left is None else Decimal(str(left))


def bought(*manifests: Manifest, left: float | None = None) -> Mapping[str, int]:
    return plan_for(*manifests, left=left)[1].nodes


def waits(*manifests: Manifest) -> bool:
    """Whether some job would start if it had GPUs."""
    snapshot = seen(*manifests)
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    result = PlanResult(plan_input, solve(plan_input.problem, Effort(deterministic_seconds=0)))
    holds = plan_of(snapshot, result).holds
    return waits_for_nodes(snapshot, settled(result), holds, Purchases())


def test_who_waits_for_gpus_is_who_would_start_with_more_of_them() -> None:
    there = (a_node_of("h100", "there"), a_training_job("runs", gpus=8))
    assert not waits(*there)
    assert waits(*there, a_training_job("waits", gpus=8))
    assert not waits(*there, a_training_job("fits-nowhere", gpus=9))
    limited = a_queue("few", limit=4)
    assert not waits(*there, limited, a_training_job("limited", gpus=8, queue="few"))
    assert waits(*there, limited, a_training_job("within", gpus=4, queue="few"))


def test_nothing_is_bought_while_nothing_waits() -> None:
    assert bought(a_growing_pool()) == NOTHING
    there = a_node_of("h100", "there")
    assert bought(a_growing_pool(), there, a_training_job("job", gpus=8)) == NOTHING


def test_a_gang_gets_all_the_nodes_that_it_lacks_or_none() -> None:
    gang = a_training_job("gang", workers=3, gpus=8)
    assert bought(a_growing_pool(most=3), gang) == {"h100": 3}
    assert bought(a_growing_pool(most=3), a_node_of("h100", "there"), gang) == {"h100": 2}
    assert bought(a_growing_pool(most=2), gang) == NOTHING


def test_a_job_that_names_no_type_gets_nodes_of_a_type_that_nobody_has_yet() -> None:
    gang = without_speeds(a_training_job("gang", workers=2, gpus=8))
    assert bought(a_growing_pool(), gang) == {"h100": 2}
    assert bought(a_growing_pool(), a_node_of("other", "small", gpu_type=L4), gang) == {"h100": 2}


def test_it_gets_none_that_its_template_does_not_admit() -> None:
    elsewhere = a_template(nodeSelector={LABEL: "other"})
    there = a_template(nodeSelector={LABEL: "h100"})
    picky, fitting = (
        without_speeds(a_training_job("gang", gpus=8, template=template))
        for template in (elsewhere, there)
    )
    assert bought(a_growing_pool(), picky) == NOTHING
    assert bought(a_growing_pool(), fitting) == {"h100": 1}
    claim = {"spec": {"nodeClassRef": NODE_CLASS, "taints": [{"key": "t", "effect": "NoSchedule"}]}}
    tainted = a_growing_pool(provisioning={"nodeClaim": claim})
    assert bought(tainted, fitting) == NOTHING


def test_what_is_on_its_way_is_not_bought_again() -> None:
    gang = a_training_job("gang", workers=2, gpus=8)
    pool = a_growing_pool(most=4)
    assert bought(pool, a_claim("h100-1"), gang) == {"h100": 1}
    both = (a_claim("h100-1"), a_claim("h100-2"))
    _, found = plan_for(pool, *both, gang)
    assert found.nodes == NOTHING
    assert [len(nodes) for nodes in found.waiting.values()] == [2]


def test_small_jobs_share_as_few_nodes_as_hold_them() -> None:
    jobs = [a_training_job(f"job-{n}", gpus=1) for n in range(10)]
    assert bought(a_growing_pool(most=10), *jobs) == {"h100": 2}


def test_the_cheaper_pool_is_taken_and_the_other_where_it_is_short() -> None:
    cheap, dear = a_growing_pool("cheap", most=1, price="1"), a_growing_pool("dear", price="3")
    job, other = a_training_job("job", gpus=8), a_training_job("other", gpus=8)
    assert bought(dear, cheap, job) == {"cheap": 1}
    assert bought(dear, cheap, job, other) == {"cheap": 1, "dear": 1}


@pytest.mark.parametrize(("preset", "pool"), [("Economy", "slow"), ("Throughput", "fast")])
def test_a_faster_gpu_is_bought_for_no_more_than_the_preset_pays_for_speed(
    preset: str, pool: str
) -> None:
    """A fast GPU does twice the work for four times the money."""
    job = a_training_job("job", workers=8, rates={H100: 8, L4: 4})
    fast, slow = a_growing_pool("fast", price="4"), a_growing_pool("slow", gpu_type=L4, price="1")
    policy = a_policy(objective={"preset": preset})
    assert bought(fast, slow, job, policy) == {pool: 1}


def test_a_gang_that_prefers_one_node_takes_the_cheapest_and_what_is_on_its_way() -> None:
    near = {"preferred": "kubernetes.io/hostname"}
    job = a_training_job("job", workers=2, gpus=1, topology=near)
    cheap, dear = a_growing_pool("h100-cheap", price="1"), a_growing_pool(price="3")
    assert bought(dear, cheap, job) == {"h100-cheap": 1}
    assert bought(dear, a_claim("h100-1"), job) == NOTHING


def test_jobs_that_leave_gaps_do_not_go_to_a_dearer_pool_for_that() -> None:
    cheap, dear = a_growing_pool("cheap", price="1"), a_growing_pool("dear", price="3")
    jobs = [a_training_job(f"job-{n}", gpus=5) for n in range(3)]
    assert bought(dear, cheap, *jobs) == {"cheap": 3}


def test_a_job_gets_only_what_it_can_run_on() -> None:
    small = a_growing_pool("small", gpu_type=L4, gpus=1, price="1")
    only = a_training_job("job", gpus=1, accelerators=[{"type": H100}])
    assert bought(small, only) == NOTHING
    assert bought(small, a_growing_pool(), only) == {"h100": 1}


def test_nodes_are_bought_as_far_as_they_can_be_paid_for_the_most_important_first() -> None:
    urgent = a_training_job("urgent", gpus=8, priorityClassName="urgent")
    jobs = [a_training_job("early", gpus=8), urgent, a_priority_class("urgent", 1000)]
    _, found = plan_for(a_growing_pool(price="2"), *jobs, left=20)
    assert found.nodes == {"h100": 1}
    assert [name.split("/")[2] for name in found.waiting] == ["urgent"]
    assert [name.split("/")[2] for name in found.unpaid] == ["early"]
    assert bought(a_growing_pool(price="2"), *jobs, left=15.9) == NOTHING


def test_nothing_is_bought_beyond_what_a_queue_may_have() -> None:
    queue = a_queue("default", quotas=[{"type": H100, "limit": 8}])
    jobs = [a_training_job(f"job-{n}", gpus=8) for n in range(2)]
    assert bought(a_growing_pool(), queue, *jobs) == {"h100": 1}


def test_a_service_gets_nodes_for_the_replicas_that_it_lacks() -> None:
    service = an_inference_job("serve", replicas=3, role={"gpusPerReplica": 8})
    assert bought(a_growing_pool(), a_node_of("h100", "there"), service) == {"h100": 2}


def test_replicas_that_leave_gaps_all_get_their_nodes() -> None:
    service = an_inference_job("serve", replicas=3, role={"gpusPerReplica": 5})
    assert bought(a_growing_pool(), service) == {"h100": 3}


def test_nodes_on_which_a_gang_waits_for_the_rest_are_kept() -> None:
    gang = a_training_job("gang", workers=2, gpus=8)
    there = (a_claim("h100-1", node="n", arrived=True), a_node_of("h100", "n"))
    _, found = plan_for(a_growing_pool(), *there, gang)
    assert (found.nodes, [*found.kept.values()]) == ({"h100": 1}, [{"n"}])


def test_what_is_on_its_way_is_paid_for_whatever_the_budget_leaves() -> None:
    gang = a_training_job("gang", workers=2, gpus=8)
    both = (a_claim("h100-1"), a_claim("h100-2"))
    _, found = plan_for(a_growing_pool(most=4), *both, gang, left=-8)
    assert (len(found.waiting), found.unpaid) == (1, {})


def test_what_nodes_cost_by_the_catalogue_decides_which_are_bought() -> None:
    pools = [a_typed_pool(name, name) for name in ("h100.a", "h100.b")]

    def prices(**dollars: int) -> NodePrices:
        found = (NodePrice(f"h100.{n}", "OnDemand", Decimal(d)) for n, d in dollars.items())
        return NodePrices(tuple(found))

    job = a_training_job("job", gpus=8)
    assert plan_for(*pools, job, prices=prices(a=8, b=24))[1].nodes == {"h100.a": 1}
    assert plan_for(*pools, job, prices=prices(a=24, b=8))[1].nodes == {"h100.b": 1}


def test_nodes_are_requested_together_for_each_gang_and_a_shared_one_once() -> None:
    gangs = [a_training_job(f"gang-{n}", workers=2, gpus=8) for n in range(2)]
    small = [a_training_job(f"small-{n}", gpus=4) for n in range(2)]
    _, found = plan_for(an_autoscaled_pool(most=9), *gangs, *small)
    assert found.lots("h100") == [2, 2, 1]
    assert found.lots("other") == []


def test_what_has_been_requested_is_not_bought_again() -> None:
    gang, pool = a_training_job("gang", workers=2, gpus=8), an_autoscaled_pool()
    request = a_request("h100-1", count=2)
    assert bought(pool, request, gang) == NOTHING
    assert (
        bought(pool, request, a_node_of("h100", "n", came="2026-11-21T11:59:00Z"), gang) == NOTHING
    )
    assert bought(pool, a_request("h100-1", count=1), gang) == {"h100": 1}


def test_jobs_that_fit_on_no_node_that_is_there_are_told_apart_though_no_plan_knows_them() -> None:
    def out(*jobs: Manifest) -> frozenset[tuple[str, int]]:
        snapshot = seen(a_growing_pool(), *jobs)
        return left_out(snapshot, plan_input_of(snapshot, ProblemBuilder()).problem)

    first, second = a_training_job("first", gpus=8), a_training_job("second", gpus=8)
    assert out(first) == {("uid-TrainingJob-first", 1)}
    assert len(out(first, second)) == 2
    assert out(a_node_of("h100", "there"), first) == frozenset()
    assert out(a_training_job("held", gpus=8, suspend=True)) == frozenset()


def test_nodes_are_bought_where_the_storage_of_claims_can_be_reached() -> None:
    pools = [a_typed_pool(f"in-{zone}", "p5.48xlarge", zone=zone) for zone in "ab"]
    job = a_training_job("train", rates={H100: 1}, template=a_template_with_claims("data"))
    key = "topology.ebs.csi.aws.com/zone"
    for zone in "ab":
        disk = a_volume("disk", NAMESPACE, "data", key=key, values=[zone])
        assert bought(*pools, disk, job) == {f"in-{zone}": 1}
