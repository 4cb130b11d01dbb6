"""What runs, when the cluster has changed under it: the rules hold for what stays as well."""

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import DomainName, Job, JobName, Node
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve
from support.problems.builders import (
    GIB,
    H100,
    Placements,
    a_mixable_role,
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
)


def planned(problem: Problem) -> list[Placements]:
    """What greedy and the whole solver make of it, both sound."""
    plans: list[Placements] = [greedy_placements(problem), solve(problem).placements]
    for placements in plans:
        assert violations(problem, placements) == ()
    return plans


def test_a_gang_with_a_pod_on_a_closed_node_does_not_grow_and_restart_there() -> None:
    job = a_training_job(worker=a_role(counts=(1, 2)), running=gang_on("closed"))
    nodes = (a_node("closed", open=False), a_node("open"))
    for placements in planned(a_problem(nodes, [job])):
        assert "closed" not in placements[job.name][0].nodes or len(placements[job.name]) == 1


@pytest.mark.parametrize(
    "shrunk",
    [
        a_node(gpus=0),
        a_node(cpu_millis=0),
        a_node(memory_bytes=0),
        a_node(pod_slots=0),
        a_node(open=False),
        a_node(gpu_type=H100, spot=True),
    ],
    ids=["gpus", "cpu", "memory", "slots", "closed", "spot"],
)
def test_a_pinned_job_stays_on_a_node_that_has_no_more_room_for_it(shrunk: Node) -> None:
    worker = a_role(cpu_millis=1000, memory_bytes=GIB)
    pinned = a_training_job(worker=worker, running=gang_on("n0"), pinned=True)
    for placements in planned(a_problem([shrunk], [pinned])):
        assert placements[pinned.name] == pinned.running


def a_pinned_job() -> Job:
    return a_training_job(worker=a_role(counts=(2,)), running=gang_on("n0", "n0"), pinned=True)


def test_a_pinned_job_stays_in_a_queue_over_its_limit() -> None:
    pinned = a_pinned_job()
    queue = a_queue(limit={H100: 1000})
    for placements in planned(a_problem([a_node()], [pinned], queues=[queue])):
        assert placements[pinned.name] == pinned.running


def test_a_pinned_job_stays_in_a_power_domain_over_its_budget() -> None:
    pinned, row = a_pinned_job(), a_power_domain("row", budget_watts=1, base_watts=2)
    node = a_node(power_domains=(DomainName("row"),), busy_milliwatts=500_000)
    for placements in planned(a_problem([node], [pinned], power_domains=[row])):
        assert placements[pinned.name] == pinned.running


def test_the_spot_share_holds_when_replicas_beside_those_on_spot_stop() -> None:
    running = (on("lost", role="server"), on("spot", role="server", replica=1))
    job = an_inference_job(
        roles=(a_mixable_role(wanted_milli=2000),), running=running, spot_percent=50
    )
    nodes = (a_node("lost", usable=False), a_node("spot", spot=True))
    planned(a_problem(nodes, [job]))


def test_replicas_of_a_role_that_is_no_more_make_room_for_those_of_the_new_one() -> None:
    web = a_mixable_role("web", counts=(2,), wanted_milli=2000)
    service = an_inference_job(
        "service", roles=(web,), running=(on("n0", role="old"), on("n0", role="old", replica=1))
    )
    beside = an_inference_job("beside", roles=(a_mixable_role(counts=(1,), wanted_milli=1000),))
    problem = a_problem([a_node(gpus=2)], [service, beside])
    solution = solve(problem)
    assert [assignment.role for assignment in solution.placements[JobName("service")]] == [
        "web",
        "web",
    ]
    assert JobName("beside") not in solution.placements
