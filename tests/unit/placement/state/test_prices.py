"""What pods cost is what they cost in the problem at hand."""

from dataclasses import replace

import pytest

from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import pod_price
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import a_node, a_problem, a_training_job

CHEAP = a_node("cheap", microdollars_per_gpu_hour=1_000_000)
DEAR = a_node("dear", microdollars_per_gpu_hour=4_000_000)
MARKET = a_problem([CHEAP, DEAR], [a_training_job()])


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(replace(MARKET, nodes=(CHEAP, replace(DEAR, open=False))), id="closed"),
        pytest.param(
            replace(MARKET, nodes=(CHEAP, replace(DEAR, microdollars_per_gpu_hour=9_000_000))),
            id="dearer",
        ),
        pytest.param(
            replace(MARKET, weights=replace(MARKET.weights, gpu_seconds_per_dollar=7)),
            id="dollars weigh less",
        ),
    ],
)
def test_a_ledger_that_turns_to_another_problem_tells_what_pods_cost_in_that(now: Problem) -> None:
    ledger, [job] = Ledger(MARKET), MARKET.jobs
    role = job.roles[0]
    cheap, dear = ledger.prices.of(job, role)
    assert cheap < dear
    assert ledger.turn_to(now)
    assert ledger.prices.of(job, role).tolist() == [
        pod_price(now, job, role, node) for node in now.nodes
    ]
