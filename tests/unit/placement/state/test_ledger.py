"""A ledger knows the devices of all that it has placed, however much of it there was to place."""

from dataclasses import replace

import numpy as np
import pytest

from plimsoll_placement.model import Assignments, DomainName, Job, QueueName
from plimsoll_placement.placing.place import Request, place
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    A100,
    H100,
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    gang_on,
    placed,
)

ROW = DomainName("row")
GANG = gang_on(*["n0"] * 4)
AT_MOST_HALF = a_queue(limit={H100: 4000})


def an_elastic_gang(running: Assignments = GANG) -> Job:
    """One to four workers with 2 GPUs each, held where they run."""
    worker = a_role(counts=(1, 2, 3, 4), gpu_milli=2000, cpu_millis=1000)
    return a_training_job("elastic", worker=worker, running=running, pinned=True)


def what_is_left(ledger: Ledger) -> tuple[object, ...]:
    """CPU, memory, pods, power, free devices and what queues use."""
    pools = [pool for pools in ledger.device_pools.values() for pool in pools]
    of_nodes = (ledger.cpu, ledger.memory, ledger.slots, ledger.power.left)
    of_pools = (table for pool in pools for table in (pool.free, pool.milli, pool.whole))
    used = [entry for entry in ledger.queue_used.items() if entry[1]]
    return (*(table.tolist() for table in (*of_nodes, *of_pools)), used)


def test_elastic_gang_beyond_its_queues_limit_is_held_with_all_its_devices() -> None:
    problem = a_problem([a_node(gpus=12)], [an_elastic_gang()], queues=[AT_MOST_HALF])
    ledger = ledger_after(problem, placed(elastic=GANG))
    (pool,) = ledger.device_pools[H100]
    assert pool.milli.tolist() == [4000]
    assert ledger.placed == placed(elastic=GANG)
    assert ledger.queue_used[QueueName("research"), H100] == 8000


@pytest.mark.parametrize(
    "problem",
    [
        a_problem([a_node(gpus=8)], [an_elastic_gang()], queues=[AT_MOST_HALF]),
        a_problem([a_node(gpus=8, cpu_millis=2500)], [an_elastic_gang()]),
        a_problem([a_node(gpus=8, pod_slots=1)], [an_elastic_gang()]),
        a_problem(
            [a_node(gpus=8, power_domains=(ROW,), busy_milliwatts=300_000)],
            [an_elastic_gang()],
            power_domains=[a_power_domain("row", budget_watts=900)],
        ),
        a_problem([a_node(gpus=8, gpu_type=A100)], [an_elastic_gang()]),
        a_problem([a_node("another")], [an_elastic_gang()]),
    ],
    ids=["queue limit", "CPU", "pod slots", "power", "GPU type", "node"],
)
def test_what_is_held_beyond_what_there_is_can_be_given_back(problem: Problem) -> None:
    (gang,) = problem.jobs
    ledger = Ledger(problem)
    before = what_is_left(ledger)
    ledger.hold(gang)
    assert not ledger.take(gang, gang_on("n0"))
    assert ledger.placed == placed(elastic=GANG)
    assert ledger.clear(gang) == GANG
    assert what_is_left(ledger) == before


def test_devices_that_are_lacking_are_given_to_nobody_else() -> None:
    gang, other = an_elastic_gang(), a_training_job("other")
    ledger = Ledger(a_problem([a_node(gpus=7)], [gang, other]))
    ledger.hold(gang)
    assert not ledger.take(other, gang_on("n0"))
    (pool,) = ledger.device_pools[H100]
    assert not np.any(pool.free > 0)


def test_what_is_pinned_is_nothing_that_others_could_be_given() -> None:
    gang = an_elastic_gang()
    ledger = Ledger(a_problem([a_node(gpus=8)], [gang]))
    ledger.hold(gang)
    assert not ledger.occupancy.could(gang.priority).any()
    ledger.clear(gang)
    assert ledger.take(gang, GANG)
    assert not ledger.occupancy.could(gang.priority).any()


def test_most_pods_follow_what_is_placed_and_what_budgets_become() -> None:
    node = a_node(gpus=8, power_domains=(ROW,), busy_milliwatts=300_000)
    problem = a_problem(
        [node], [a_training_job("gang")], power_domains=[a_power_domain("row", budget_watts=1500)]
    )
    (gang,) = problem.jobs
    ledger, role = Ledger(problem), gang.roles[0]

    def most() -> int:
        return ledger.most_pods(H100, role, spot=True)

    before = most()
    assert 0 < before < 8
    assert ledger.take(gang, gang_on("n0"))
    assert most() == before - 1
    ledger.clear(gang)
    assert most() == before
    more = replace(problem, power_domains=(a_power_domain("row", budget_watts=1800),))
    assert ledger.turn_to(more)
    assert most() == before + 1


def test_a_request_for_which_there_was_no_room_is_tried_again_once_there_may_be() -> None:
    node = a_node(gpus=2, power_domains=(ROW,), busy_milliwatts=300_000)
    jobs = [a_training_job("one"), a_training_job("two")]
    problem = a_problem([node], jobs, power_domains=[a_power_domain("row", budget_watts=550)])
    one, two = problem.jobs
    ledger, request = Ledger(problem), Request(two, two.roles[0], H100, (0,))
    assert ledger.take(one, gang_on("n0"))
    assert place(ledger, request) is None
    more = replace(problem, power_domains=(a_power_domain("row", budget_watts=900),))
    assert ledger.turn_to(more)
    assert place(ledger, request) == gang_on("n0")
    ledger.clear(two)
    assert ledger.turn_to(problem)
    assert place(ledger, request) is None
    ledger.clear(one)
    assert place(ledger, request) == gang_on("n0")
