"""Plans that count on caps: more jobs within a budget, at a known loss."""

from typing import Any

import pytest

from plimsoll.planning.capping.reaction import power_reactions
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Role
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import (
    a_policy,
    a_pool,
    a_power_domain,
    a_priority_class,
    a_training_job,
    an_inference_job,
)

ROW = {"row": "a"}
POWER: Manifest = {
    "idleWatts": 100,
    "typicalWatts": 500,
    "limitWatts": 700,
    "minCapWatts": 150,
}
HIGH = a_priority_class("high", 100)


def a_row(*, budget_watts: int = 9000, power: Manifest = POWER, **spec: Any) -> list[Manifest]:  # noqa: ANN401 - fields of the domain
    domain = a_power_domain("row-a", ROW, budget_watts=budget_watts, quantile="0.5", **spec)
    return [
        fake_node("n", labels=ROW),
        a_pool("p", {"type": "kwok"}, power=power),
        domain,
        HIGH,
    ]


def role_of(job: Manifest, *others: Manifest) -> Role:
    [found] = plan_input_of(seen(job, *others), ProblemBuilder()).problem.jobs
    return found.roles[0]


def losing(percent: int, **capping: Any) -> Manifest:  # noqa: ANN401 - fields of the policy
    return a_policy(capping={"maxLossPercent": percent, **capping})


def test_a_job_that_may_lose_a_tenth_of_its_speed_draws_a_fifth_less() -> None:
    role = role_of(a_training_job("t", gpus=2), losing(10), *a_row())
    assert role.shape.draw_milli == 2000 * 81 // 100
    assert role.full_draw_milli == 2000


@pytest.mark.parametrize("policy", [losing(0), a_policy()])
def test_plans_count_on_no_caps_unless_the_policy_says_so(policy: Manifest) -> None:
    role = role_of(a_training_job("t"), policy, *a_row())
    assert (role.shape.draw_milli, role.full_draw_milli) == (1000, 1000)


def test_jobs_of_positive_priority_are_never_capped_by_plan() -> None:
    urgent = a_training_job("t", priorityClassName="high")
    assert role_of(urgent, losing(10), *a_row()).shape.draw_milli == 1000
    assert role_of(urgent, losing(10, belowPriority=101), *a_row()).shape.draw_milli == 810


def test_what_waits_for_memory_saves_more_for_the_same_loss() -> None:
    decode = an_inference_job("s", role={"utilization": "Decode"})
    role = role_of(decode, losing(10), *a_row())
    assert role.full_draw_milli == 650
    assert role.shape.draw_milli < 650 * 0.81


def test_nothing_is_saved_below_the_lowest_cap_nor_where_there_is_none() -> None:
    high, none = {**POWER, "minCapWatts": 460}, {**POWER}
    del none["minCapWatts"]
    job = a_training_job("t")
    assert role_of(job, losing(50), *a_row(power=high)).shape.draw_milli == 900
    assert role_of(job, losing(50), *a_row(power=none)).shape.draw_milli == 1000


def test_plans_count_on_no_caps_where_the_domain_does_not_cap() -> None:
    row = a_row(reaction={"order": ["Shrink", "Preempt"]})
    assert role_of(a_training_job("t"), losing(10), *row).shape.draw_milli == 1000


@pytest.mark.parametrize(("percent", "running"), [(0, 6), (10, 7), (30, 8)])
def test_more_jobs_run_within_a_budget_by_what_caps_save(percent: int, running: int) -> None:
    jobs = [a_training_job(f"t{index}") for index in range(8)]
    row = a_row(budget_watts=800 + 6 * 400)
    problem = plan_input_of(seen(*jobs, losing(percent), *row), ProblemBuilder()).problem
    placements = solve(problem).placements
    assert sum(bool(held) for held in placements.values()) == running


def test_the_caps_that_a_plan_counts_on_are_given() -> None:
    jobs = [at(a_training_job(f"t{index}"), "n") for index in range(8)]
    budget = 800 + 6 * 400
    snapshot = seen(*jobs, losing(30), *a_row(budget_watts=budget))
    [reaction] = power_reactions(snapshot, plan_input_of(snapshot, ProblemBuilder()).problem)
    cap = reaction.caps["n"]
    assert cap is not None
    assert 150 <= cap <= budget / 8
    unneeded = seen(*jobs, losing(30), *a_row(budget_watts=9000))
    [calm] = power_reactions(unneeded, plan_input_of(unneeded, ProblemBuilder()).problem)
    assert calm.caps["n"] is None


def test_what_runs_by_a_plan_that_counts_on_caps_goes_on() -> None:
    jobs = [at(a_training_job(f"t{index}"), "n") for index in range(8)]
    budget = 800 + 6 * 400
    snapshot = seen(*jobs, losing(30), *a_row(budget_watts=budget))
    problem = plan_input_of(snapshot, ProblemBuilder()).problem
    assert problem.power_domains[0].budget_milliwatts == budget * 1000
    assert all(solve(problem).placements.get(job.name) == job.running for job in problem.jobs)
