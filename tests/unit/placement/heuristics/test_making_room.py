"""Who moves at once, without a search, for a job that fits nowhere."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Again, giving_way
from plimsoll_placement.model import Assignments, Job
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve_lean
from support.problems.builders import (
    A100,
    H100,
    JobFields,
    a_mixable_role,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    placed,
    some_devices,
    some_nodes,
)

HOUR = 3600
AT_ONCE = Effort(0)


def running(name: str, milli: int, *nodes: str, **fields: Unpack[JobFields]) -> Job:
    """A gang with a worker on each of these nodes, which loses a minute by a stop."""
    worker = a_role(gpu_milli=milli, counts=(len(nodes),))
    fields = {"restart_seconds": 60, "running": gang_on(*nodes), **fields}
    return a_training_job(name, worker=worker, **fields)


def waiting(milli: int = 8000, workers: int = 1, **fields: Unpack[JobFields]) -> Job:
    worker = a_role(gpu_milli=milli, counts=(workers,))
    return a_training_job("waits", worker=worker, **fields)


def plan(problem: Problem) -> Mapping[str, Assignments]:
    found = solve_lean(problem, AT_ONCE).placements
    assert violations(problem, found) == ()
    return {str(name): each for name, each in found.items()}


def halves(**fields: Unpack[JobFields]) -> Problem:
    """Two nodes that are half free, and a job that needs a whole one."""
    jobs = [
        running("little", 4000, "n0", restart_seconds=60),
        running("much", 4000, "n1", **fields),
    ]
    return a_problem(some_nodes(2), [*jobs, waiting()])


def test_who_loses_least_moves_off_a_node_that_another_needs() -> None:
    assert plan(halves(restart_seconds=90)) == {
        "little": gang_on("n1"),
        "much": gang_on("n1"),
        "waits": gang_on("n0"),
    }


def test_nobody_moves_for_less_than_is_lost() -> None:
    """The job gains 8 GPU-hours; each of the others would lose them."""
    problem = halves(restart_seconds=2 * HOUR)
    dear = replace(problem.jobs[0], restart_seconds=2 * HOUR)
    problem = replace(problem, jobs=(dear, *problem.jobs[1:]))
    assert "waits" not in plan(problem)
    as_it_runs = Again(problem, placed(little=gang_on("n0"), much=gang_on("n1")))
    found = giving_way(as_it_runs, problem.jobs[-1])
    assert found is not None
    [loss] = found.losses
    assert (loss.job, loss.gpu_seconds, found.gain.pays) == ("little", 8 * HOUR, False)


def test_what_moves_within_the_disruption_budget_moves() -> None:
    loss = 4000 * 60
    problem = halves(pinned=True)
    assert "waits" in plan(replace(problem, loss_allowance=loss))
    assert "waits" not in plan(replace(problem, loss_allowance=loss - 1))


@pytest.mark.parametrize(
    "fields",
    [{"pinned": True}, {"priority": 1}],
    ids=["it is pinned", "its work counts more"],
)
def test_another_moves_instead(fields: JobFields) -> None:
    problem = halves()
    first = replace(problem.jobs[0], **fields)
    found = plan(replace(problem, jobs=(first, *problem.jobs[1:])))
    assert found["little"] == gang_on("n0")
    assert found["much"] == gang_on("n0")


def test_work_of_a_higher_priority_is_not_spent_on_a_lower_one() -> None:
    """Not even by greedy, which finds a place for both."""
    jobs = [running(name, 4000, node, priority=1) for name, node in (("a", "n0"), ("b", "n1"))]
    assert "waits" not in plan(a_problem(some_nodes(2), [*jobs, waiting()]))
    saved = [replace(job, restart_seconds=0) for job in jobs]
    assert "waits" in plan(a_problem(some_nodes(2), [*saved, waiting()]))


def test_several_leave_a_node_if_they_lose_less_than_who_alone_makes_room() -> None:
    small = [running(f"small-{n}", 2000, "n0") for n in range(3)]
    dear = [running("large", 6000, "n1", restart_seconds=HOUR)]
    nodes = [*some_nodes(2), a_node("n2", gpus=6)]
    found = plan(a_problem(nodes, [*small, *dear, waiting()]))
    assert found["waits"] == gang_on("n0")
    assert found["large"] == gang_on("n1")


def test_nodes_are_cleared_for_each_pod_of_a_gang_that_is_still_without_one() -> None:
    jobs = [running("a", 2000, "n0"), running("b", 2000, "n1"), running("c", 4000, "n2")]
    found = plan(a_problem(some_nodes(4), [*jobs, waiting(workers=3)]))
    assert {each.nodes[0] for each in found["waits"]} == {"n0", "n1", "n3"}
    assert found["c"] == gang_on("n2")


def test_a_gang_is_kept_within_its_domain() -> None:
    """Less would have to move on one node of each row, which is no use."""
    rows = {"n0": "left", "n1": "left", "n2": "right", "n3": "right"}
    nodes = [a_node(name, topology=(row,)) for name, row in rows.items()]
    jobs = [
        *(running(f"job-{name}", 2000, name) for name in rows if name != "n3"),
        running("dear", 2000, "n3", restart_seconds=120),
    ]
    spare = a_node("spare", topology=("far",))
    gang = waiting(workers=2, required_level=0)
    found = plan(a_problem([*nodes, spare], [*jobs, gang], levels=("row",)))
    assert {each.nodes[0] for each in found["waits"]} == {"n0", "n1"}


def test_another_yields_in_turn_to_who_has_no_place_left() -> None:
    """700 go where 150 were, these beside the 800, and a whole device becomes free."""
    nodes = [a_node(name, devices=(some_devices(1, share_milli=1),)) for name in "abc"]
    jobs = [
        running("700", 700, "a"),
        running("200", 200, "b", pinned=True),
        running("150", 150, "b"),
        running("800", 800, "c"),
    ]
    assert plan(a_problem(nodes, [*jobs, waiting(1000)])) == {
        "waits": gang_on("a"),
        "700": gang_on("b"),
        "200": gang_on("b"),
        "150": gang_on("c"),
        "800": gang_on("c"),
    }


def test_a_job_moves_to_another_type_only_if_it_yields_as_much_there() -> None:
    def problem(percent: int) -> Problem:
        worker = a_role(gpu_milli=4000, rates={H100: 100, A100: percent})
        mover = replace(running("moves", 4000, "n0"), roles=(worker,))
        nodes = [a_node("n0"), a_node("n1", gpu_type=A100)]
        return a_problem(nodes, [mover, waiting()])

    assert plan(problem(100))["moves"] == gang_on("n1", gpu_type=A100)
    assert "waits" not in plan(problem(99))


def test_a_replica_of_a_service_moves_alone() -> None:
    server = a_mixable_role(counts=(1, 2), wanted_milli=2000)
    pods = tuple(on(f"n{n}", role="server", replica=n) for n in range(2))
    service = an_inference_job("serves", roles=(server,), running=pods)
    found = plan(a_problem(some_nodes(2), [service, waiting()]))
    assert "waits" in found
    assert len(set(found["serves"]) & set(pods)) == 1


def test_a_gang_gives_back_what_it_would_have_grown_into() -> None:
    elastic = a_training_job("grows", worker=a_role(gpu_milli=4000, counts=(1, 2)))
    jobs = [replace(elastic, running=gang_on("n0"), restart_seconds=60), running("b", 4000, "n1")]
    found = plan(a_problem(some_nodes(2), [*jobs, waiting()]))
    assert "waits" in found
    assert len(found["grows"]) == 1


def test_a_limit_of_the_queue_is_no_reason_to_move() -> None:
    queues = [a_queue(limit={H100: 8000})]
    problem = replace(halves(), queues=tuple(queues))
    assert plan(problem) == {"little": gang_on("n0"), "much": gang_on("n1")}


def test_nobody_moves_to_where_that_costs_more_than_is_gained() -> None:
    dear = a_node("n1", microdollars_per_gpu_hour=80_000_000)
    problem = halves()
    assert "waits" not in plan(replace(problem, nodes=(problem.nodes[0], dear)))


@pytest.mark.parametrize(
    ("fields", "allowance"),
    [({"priority": 1}, None), ({"restart_seconds": 61}, 4000 * 120)],
    ids=["the work counts more", "the budget is spent"],
)
def test_what_may_not_move_keeps_nobody_else_from_moving(
    fields: JobFields, allowance: int | None
) -> None:
    """On each of two types a job needs a whole node; the work on one of them may not be lost."""
    jobs = list(halves().jobs)
    worker = a_role(gpu_milli=4000, rates={A100: 100})
    for name in ("n2", "n3"):
        held = gang_on(name, gpu_type=A100)
        job = a_training_job(f"job-{name}", worker=worker, running=held, restart_seconds=60)
        jobs.append(replace(job, **fields))
    whole = a_role(gpu_milli=8000, rates={A100: 100})
    jobs.append(a_training_job("waits-too", worker=whole))
    nodes = [*some_nodes(2), a_node("n2", gpu_type=A100), a_node("n3", gpu_type=A100)]
    found = plan(replace(a_problem(nodes, jobs), loss_allowance=allowance))
    assert "waits" in found
    assert "waits-too" not in found


def crowded(held: int, **fields: Unpack[JobFields]) -> Problem:
    """A service of four replicas that holds some of them, beside a gang that could go elsewhere."""
    replicas = tuple(on("n0", role="server", replica=n) for n in range(held))
    types = {H100: 1000, A100: 1000}
    worker = a_role(gpu_milli=8000 - 1000 * held, counts=(1,), rates=types)
    fields = {"running": gang_on("n0"), "restart_seconds": 60, **fields}
    gang = a_training_job("gang", worker=worker, **fields)
    nodes = (a_node("n0"), a_node("n1", gpu_type=A100))
    return a_problem(nodes, [an_inference_job(running=replicas), gang])


@pytest.mark.parametrize("held", [0, 2])
def test_a_gang_moves_for_the_replicas_that_a_service_lacks(held: int) -> None:
    found = plan(crowded(held))
    assert {each.nodes for each in found["serve"]} == {("n0",)}
    assert len(found["serve"]) == 4
    assert [each.nodes for each in found["gang"]] == [("n1",)]


def test_no_gang_moves_for_replicas_that_gain_less_than_it_loses() -> None:
    problem = crowded(2, restart_seconds=HOUR)
    assert len(plan(problem)["serve"]) == 2
    assert plan(problem)["gang"] == gang_on("n0")


@pytest.mark.parametrize("free", [0, 1, 2])
def test_nobody_moves_for_a_replica_that_is_of_no_use_alone(free: int) -> None:
    service = an_inference_job(roles=(a_mixable_role(counts=(4,)),))
    worker = a_role(gpu_milli=1000, counts=(1,), rates={H100: 1000, A100: 1000})
    jobs = [
        running("stays", 7000 - 1000 * free, "n0"),
        a_training_job("moves", worker=worker, running=gang_on("n0"), restart_seconds=60),
    ]
    nodes = (a_node("n0"), a_node("n1", gpus=1, gpu_type=A100))
    found = plan(a_problem(nodes, [service, *jobs]))
    assert (found.get("serve", ()), found["moves"]) == ((), gang_on("n0"))


def test_a_role_that_lacks_its_only_replica_gets_it_before_others_get_more() -> None:
    """Without a prefill the decoders are of no use."""
    roles = (
        a_mixable_role("decode", counts=(0, 1, 2), wanted_milli=2000),
        a_mixable_role("prefill", counts=(1,), wanted_milli=1000),
    )
    worker = a_role(gpu_milli=8000, counts=(1,), rates={H100: 1000, A100: 1000})
    gang = a_training_job("gang", worker=worker, running=gang_on("n0"), restart_seconds=60)
    nodes = (a_node("n0"), a_node("n1", gpu_type=A100))
    found = plan(a_problem(nodes, [an_inference_job(roles=roles), gang]))
    assert sorted(each.role for each in found["serve"]) == ["decode", "decode", "prefill"]
