"""What the aim to save energy may choose, and what it may not touch."""

from datetime import timedelta
from typing import Any

import pytest

from plimsoll.planning.actions import Admit, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import NOW, seen, serving
from support.objects.job_manifests import a_policy, a_pool, a_training_job, an_inference_job

HUNGRY = {"idleWatts": 100, "typicalWatts": 650, "limitWatts": 700}
LEAN = {"idleWatts": 50, "typicalWatts": 250, "limitWatts": 300}
SIGNAL = {"query": "grid", "usual": 400}
ENERGY = a_policy(objective={"preset": "Energy"})
MONEY_AND_ENERGY = {"usefulWork": 1, "money": 1, "energy": 1}


def by_signal(factor: str, **objective: Any) -> Manifest:  # noqa: ANN401 - fields of a spec
    """A policy whose signal has energy count so many times its weight."""
    policy = a_policy(objective={"energySignal": SIGNAL, **objective})
    return {**policy, "status": {"energy": {"factor": factor, "observedTime": NOW.isoformat()}}}


def gpu_types(
    *jobs: Manifest, policy: Manifest, dear: str = "0", hungry: Manifest = HUNGRY
) -> dict[str, list[str]]:
    """The GPU types that jobs get; the pool of A100 is lean, and costs so much more."""
    snapshot = seen(
        fake_node("hungry", H100, 4, labels={"pool": "hungry"}),
        fake_node("lean", A100, 4, labels={"pool": "lean"}),
        a_pool("hungry", {"pool": "hungry"}, power=hungry, pricePerGPUHour="0"),
        a_pool("lean", {"pool": "lean"}, power=LEAN, pricePerGPUHour=dear),
        policy,
        *jobs,
    )
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    plan: Plan = plan_of(
        snapshot,
        PlanResult(plan_input, solve(plan_input.problem, Effort(deterministic_seconds=0.5))),
    )
    admitted = [each for each in plan.changes if isinstance(each, Admit)]
    return {
        each.job.rpartition("/")[2]: sorted(
            str(assignment.gpu_type) for assignment in each.assignments
        )
        for each in admitted
    }


@pytest.mark.parametrize("policy", [ENERGY, by_signal("10"), a_policy()])
def test_of_types_that_are_equally_fast_the_one_that_draws_less_is_taken(policy: Manifest) -> None:
    alike = a_training_job("alike", workers=2, rates={H100: 10, A100: 10})
    assert gpu_types(alike, policy=policy) == {"alike": [A100] * 2}


@pytest.mark.parametrize(
    ("factor", "chosen"),
    [("0.1", H100), ("1", H100), ("10", A100)],
    ids=["clean", "usual", "dirty"],
)
def test_the_signal_decides_between_what_costs_money_and_what_costs_energy(
    factor: str, chosen: str
) -> None:
    alike = a_training_job("alike", workers=2, rates={H100: 10, A100: 10})
    policy = by_signal(factor, weights=MONEY_AND_ENERGY)
    assert gpu_types(alike, policy=policy, dear="0.5") == {"alike": [chosen] * 2}


@pytest.mark.parametrize("policy", [ENERGY, by_signal("10", preset="Energy")])
def test_to_save_energy_a_deadline_is_not_missed_and_no_service_goes_short(
    policy: Manifest,
) -> None:
    by = NOW + timedelta(hours=3)
    work = {"amount": 4 * 3600, "unit": "steps", "deadline": by.isoformat()}
    two_hours_or_four = {H100: 2, A100: 1}
    due = a_training_job("due", workers=2, rates=two_hours_or_four, work=work)
    free = a_training_job("free", workers=2, rates={H100: 10, A100: 10})
    replicas = {"replicas": {"min": 1, "max": 8}}
    service = an_inference_job("service", loads={H100: 100, A100: 40}, role=replicas)
    found = gpu_types(due, free, serving(service, server=200), policy=policy)
    assert found == {"due": [H100] * 2, "free": [A100] * 2, "service": [H100] * 2}


def on_kilowatts(policy: Manifest) -> tuple[int, int]:
    """How many GPUs a service for four and a gang of one to four get that draw kilowatts."""
    voracious = {"idleWatts": 100, "typicalWatts": 2200, "limitWatts": 2300}
    replicas = {"replicas": {"min": 1, "max": 8}}
    service = an_inference_job("service", loads={H100: 100}, role=replicas)
    alone = gpu_types(serving(service, server=400), policy=policy, hungry=voracious)
    gang = a_training_job("gang", workers=(1, 4), rates={H100: {1: 10, 4: 40}})
    grown = gpu_types(gang, policy=policy, hungry=voracious)
    return len(alone["service"]), len(grown["gang"])


@pytest.mark.parametrize("policy", [ENERGY, by_signal("10", preset="Energy")])
def test_with_a_preset_services_carry_their_load_and_gangs_grow_whatever_gpus_draw(
    policy: Manifest,
) -> None:
    assert on_kilowatts(policy) == (4, 4)


def test_with_own_weights_gangs_stay_small_while_the_grid_is_dirty_and_services_do_not() -> None:
    own = {"usefulWork": 1, "energy": 20}
    assert on_kilowatts(by_signal("1", weights=own)) == (4, 4)
    assert on_kilowatts(by_signal("10", weights=own)) == (4, 1)
