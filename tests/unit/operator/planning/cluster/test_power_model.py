"""What GPUs draw as plans count it."""

from statistics import NormalDist

import pytest

from plimsoll.planning.cluster.power_model import draw_milli
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import Job
from plimsoll_placement.problem import Problem
from support.clusters.seen import NOW, seen
from support.objects.job_manifests import a_pool, a_power_domain, a_training_job, an_inference_job

ROW = {"row": "a"}
KWOK = {"type": "kwok"}
POWER = {"idleWatts": 100, "typicalWatts": 500, "limitWatts": 700}
POOL = a_pool("p", KWOK, power=POWER)
IDLE_WATTS, SPREAD_WATTS = 800, 200 * 8**0.5


def problem(*manifests: Manifest) -> Problem:
    nodes = [fake_node("n", labels=ROW), fake_node("m", labels={"row": "b"})]
    return plan_input_of(seen(*nodes, *manifests), ProblemBuilder()).problem


def base_watts(pool: Manifest = POOL, *, status: Manifest | None = None, **spec: str) -> float:
    domain = a_power_domain("row-a", ROW, budget_watts=9000, **spec)
    with_status = {**domain, "status": status or {}}
    return problem(with_status, pool).power_domains[0].base_milliwatts / 1000


def only_job(manifest: Manifest) -> Job:
    [job] = problem(manifest).jobs
    return job


def test_a_domain_keeps_in_reserve_what_its_gpus_draw_beyond_the_typical() -> None:
    assert base_watts() == pytest.approx(IDLE_WATTS + SPREAD_WATTS, abs=0.01)


@pytest.mark.parametrize("quantile", ["0.9", "0.999"])
def test_the_reserve_follows_the_quantile(quantile: str) -> None:
    z = NormalDist().inv_cdf
    expected = IDLE_WATTS + SPREAD_WATTS * z(float(quantile)) / z(0.99)
    assert base_watts(quantile=quantile) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("quantile", ["0.5", "0.1"])
def test_for_half_of_the_time_nothing_is_kept_in_reserve(quantile: str) -> None:
    assert base_watts(quantile=quantile) == IDLE_WATTS


def test_a_domain_without_pools_that_say_what_gpus_draw_has_neither_base_nor_reserve() -> None:
    assert base_watts(a_pool("p", KWOK)) == 0


def test_what_was_measured_takes_the_place_of_what_pools_let_expect() -> None:
    measured = {
        "deviation": {
            "percent": "38.2",
            "plannedPercent": 40,
            "seconds": 3600,
            "observedTime": NOW.isoformat(),
        }
    }
    expected = IDLE_WATTS + 0.4 * SPREAD_WATTS
    assert base_watts(status=measured) == pytest.approx(expected, abs=0.01)


def measured_pool(planned_watts: int) -> Manifest:
    power = {
        "typicalWatts": str(planned_watts),
        "plannedWatts": planned_watts,
        "seconds": 3600,
        "observedTime": NOW.isoformat(),
    }
    return {**POOL, "status": {"power": power}}


def test_plans_count_with_the_typical_draw_that_was_measured() -> None:
    [at_n] = [each for each in problem(measured_pool(300)).nodes if each.name == "n"]
    assert at_n.busy_milliwatts == 200_000
    assert base_watts(measured_pool(300)) == pytest.approx(IDLE_WATTS + 400 * 8**0.5, abs=0.01)


def test_what_was_measured_stays_between_idle_and_the_limit_whatever_the_spec_becomes() -> None:
    drawn = {each.busy_milliwatts for each in problem(measured_pool(2000)).nodes}
    assert drawn == {600_000}
    assert {each.busy_milliwatts for each in problem(measured_pool(20)).nodes} == {0}


def test_a_new_measurement_is_planned_with_at_once() -> None:
    translator, nodes = ProblemBuilder(), [fake_node("n", labels=ROW)]
    before = plan_input_of(seen(*nodes, POOL), translator).problem
    after = plan_input_of(seen(*nodes, measured_pool(300)), translator).problem
    drawn = [each.nodes[0].busy_milliwatts for each in (before, after)]
    assert drawn == [400_000, 200_000]


def test_training_draws_what_is_typical() -> None:
    [role] = only_job(a_training_job("t", gpus=4)).roles
    assert role.shape.draw_milli == role.shape.gpu_milli == 4000


@pytest.mark.parametrize(("used_for", "draws"), [("Prefill", 2300), ("Decode", 1300), ("", 1800)])
def test_a_role_draws_by_what_it_is_used_for(used_for: str, draws: int) -> None:
    role = {"utilization": used_for} if used_for else {}
    [found] = only_job(an_inference_job("s", gpus=2, role=role)).roles
    assert (found.shape.gpu_milli, found.shape.draw_milli) == (2000, draws)


def test_a_fraction_of_a_gpu_never_draws_nothing() -> None:
    assert draw_milli(1, "Decode") == 1


def test_a_quantile_next_to_certainty_is_no_more_than_that() -> None:
    nearly, as_float = "0.999999999", "0.99999999999999999999"
    assert base_watts(quantile=as_float) == base_watts(quantile=nearly)
