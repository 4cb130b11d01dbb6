from typing import Any

import pytest

from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import seen
from support.objects.job_manifests import a_pool
from support.problems.power_cases import (
    EXPECTED,
    POWER,
    ROW,
    a_domain,
    a_node,
    jobs,
    problem_of,
    row,
)

TAKING = {"order": ["Shrink", "Preempt"]}
REDUCED = {"reducedWatts": 2250}


def planned(budget_watts: int, status: Manifest | None = None, **spec: Any) -> int:  # noqa: ANN401 - fields of a spec
    """The watts that plans give out, without a reserve, while 4000 W are expected."""
    domain = a_domain(budget_watts, status, quantile="0.5", **spec)
    [found] = problem_of(row(domain)).power_domains
    return found.budget_milliwatts // 1000


@pytest.mark.parametrize("budget", [4000, 9000])
def test_a_budget_that_is_kept_is_planned_with(budget: int) -> None:
    assert planned(budget) == budget


def test_when_a_feed_is_lost_what_caps_can_save_is_left_to_them() -> None:
    assert planned(2600) == 4000  # caps could save 2400 W: nothing goes, nothing new comes
    assert planned(1500) == 3900  # 100 W too few: work goes
    assert planned(1500, reaction=TAKING) == 1500
    assert planned(1500, reaction={"order": ["Cap"]}) == 4000


def test_a_reduced_budget_is_planned_with_until_it_is_restored() -> None:
    assert planned(8000, REDUCED) == 2250
    assert planned(2600, REDUCED) == 2250
    assert planned(8000, {"reducedWatts": 9999}) == 8000


def test_what_a_node_should_save_that_keeps_no_cap_is_not_left_to_caps() -> None:
    def planned_with(**notes: str) -> int:
        nodes = a_node("n-1", power_cap_watts="200", **notes), a_node("n-2")
        [found] = problem_of(row(a_domain(2600, quantile="0.5"), *nodes)).power_domains
        return found.budget_milliwatts // 1000

    assert planned_with(power_limit_watts="200,200,200,200") == 4000
    assert planned_with(power_limit_problem="GPU 0: refused") == 2600 + 4 * 300


def test_gpus_at_their_lowest_caps_need_no_reserve() -> None:
    """All eight GPUs at 200 W draw 1600 W, whatever they would stray without."""
    [kept] = problem_of(row(a_domain(1600))).power_domains
    [over] = problem_of(row(a_domain(1500))).power_domains
    counted = kept.budget_milliwatts
    assert counted > EXPECTED * 1000
    assert over.budget_milliwatts == counted - 100_000
    rigid = {key: watts for key, watts in POWER.items() if key != "minCapWatts"}
    pool = a_pool("p", ROW, power=rigid)
    snapshot = seen(a_node("n-1"), a_node("n-2"), pool, a_domain(1600), *jobs())
    [uncapped] = problem_of(snapshot).power_domains
    assert uncapped.budget_milliwatts == 1600 * 1000
