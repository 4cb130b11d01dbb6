"""Nothing is moved, resized or preempted for less than it throws away."""

from dataclasses import replace
from typing import Any

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.heuristics.baseline import with_baseline
from plimsoll_placement.heuristics.carry_over import carried
from plimsoll_placement.heuristics.settling import settled
from plimsoll_placement.model import Assignments, Job, JobName
from plimsoll_placement.preemption.evict import MOST_IN_ONE_ORDER
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Outcome
from plimsoll_placement.solve import solve, solve_lean
from support.problems.builders import (
    H100,
    Placements,
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
    some_nodes,
)

HOUR = 3600
AT_ONCE, SEARCHED = Effort(0.0), Effort(0.5)
EFFORTS = pytest.mark.parametrize("effort", [AT_ONCE, SEARCHED], ids=["at once", "searched"])


def running(name: str, gpus: int, node: str, *, priority: int = 0, unsaved: int = 0) -> Job:
    """A gang of one worker that would lose so many seconds of work."""
    job = a_training_job(name, worker=a_role(gpu_milli=1000 * gpus))
    return replace(job, running=gang_on(node), priority=priority, restart_seconds=unsaved)


def waiting(name: str, gpus: int, *, priority: int = 0) -> Job:
    return replace(a_training_job(name, worker=a_role(gpu_milli=1000 * gpus)), priority=priority)


def places(problem: Problem, effort: Effort = AT_ONCE) -> dict[str, Assignments]:
    return {str(name): each for name, each in solve_lean(problem, effort).placements.items()}


def in_the_way(*, priority: int, unsaved: int) -> Problem:
    """A gang of 4 GPUs on the only node of 8, which another job needs; there is room beside it."""
    gang = running("gang", 4, "n0", priority=priority, unsaved=unsaved)
    nodes = [a_node("n0"), a_node("n1", gpus=4)]
    return a_problem(nodes, [gang, waiting("small", 8, priority=-100)])


@EFFORTS
def test_fifty_unsaved_hours_are_not_thrown_away_for_a_job_of_low_priority(effort: Effort) -> None:
    found = solve_lean(in_the_way(priority=1000, unsaved=50 * HOUR), effort)
    assert found.placements == placed(gang=gang_on("n0"))
    assert effort is AT_ONCE or (found.outcome, found.gap_percent) == (Outcome.OPTIMAL, 0)


@EFFORTS
def test_work_of_a_higher_priority_is_never_spent_on_a_lower_one(effort: Effort) -> None:
    assert "small" not in places(in_the_way(priority=1000, unsaved=1), effort)
    assert "small" in places(in_the_way(priority=1000, unsaved=0), SEARCHED)


def test_a_move_is_made_that_gains_more_than_it_throws_away() -> None:
    """8 GPUs for an hour, for the unsaved work of 4."""
    assert "small" in places(in_the_way(priority=-100, unsaved=2 * HOUR - 60), SEARCHED)
    assert "small" not in places(in_the_way(priority=-100, unsaved=2 * HOUR), SEARCHED)


def test_break_even_and_horizon_decide_what_pays() -> None:
    problem = in_the_way(priority=-100, unsaved=2 * HOUR - 60)
    assert "small" in places(problem, SEARCHED)
    dearer = replace(problem.weights, break_even_percent=150)
    assert "small" not in places(replace(problem, weights=dearer), SEARCHED)
    longer = replace(dearer, gain_seconds=2 * HOUR)
    assert "small" in places(replace(problem, weights=longer), SEARCHED)


@EFFORTS
def test_without_a_price_any_gain_will_do(effort: Effort) -> None:
    problem = a_problem(
        some_nodes(1), [running("low", 8, "n0", unsaved=50 * HOUR), waiting("high", 1, priority=1)]
    )
    assert "high" not in places(problem, effort)
    free = replace(problem.weights, break_even_percent=0)
    assert "high" in places(replace(problem, weights=free), effort)


@EFFORTS
def test_a_job_that_is_overdue_preempts_lower_priorities_whatever_they_lose(
    effort: Effort,
) -> None:
    low, high = running("low", 8, "n0", unsaved=50 * HOUR), waiting("high", 1, priority=1)
    assert set(places(a_problem(some_nodes(1), [low, high]), effort)) == {"low"}
    overdue = replace(high, overdue=True)
    assert set(places(a_problem(some_nodes(1), [low, overdue]), effort)) == {"high"}
    equal = replace(low, priority=1)
    assert set(places(a_problem(some_nodes(1), [equal, overdue]), effort)) == {"low"}


@EFFORTS
@pytest.mark.parametrize("fields", [{"overdue": True}, {"queue": "owner"}], ids=str)
def test_what_is_due_pays_for_nothing_else(effort: Effort, fields: dict[str, Any]) -> None:
    """Another gang would have to move for a small job, which alone cannot pay for that."""
    jobs = [
        running("low", 8, "n0", unsaved=60),
        replace(waiting("due", 8, priority=1), **fields),
        running("moves", 4, "n1", unsaved=3 * HOUR),
        waiting("small", 8),
    ]
    queues = [a_queue(), a_queue("owner", guaranteed={H100: 8000})]
    nodes = [a_node("n0"), a_node("n1"), a_node("n2", gpus=4)]
    assert places(a_problem(nodes, jobs, queues=queues), effort) == {
        "due": gang_on("n0"),
        "moves": gang_on("n1"),
    }


@EFFORTS
def test_the_one_is_preempted_that_can_be_paid_for(effort: Effort) -> None:
    """Though it has the higher priority of the two."""
    dear = running("dear", 8, "n0", priority=0, unsaved=50 * HOUR)
    cheap = running("cheap", 8, "n1", priority=1, unsaved=60)
    problem = a_problem(some_nodes(2), [dear, cheap, waiting("high", 8, priority=2)])
    assert places(problem, effort).keys() == {"dear", "high"}


@EFFORTS
def test_several_victims_are_paid_for_together(effort: Effort) -> None:
    """Each alone could be, for 8 GPUs of the upper of two priorities: 16 GPU-hours."""
    four = [running(f"low-{n}", 2, "n0", unsaved=3 * HOUR) for n in range(4)]
    problem = a_problem(some_nodes(1), [*four, waiting("high", 8, priority=1)])
    assert "high" not in places(problem, effort)
    four = [replace(job, restart_seconds=HOUR) for job in four]
    problem = a_problem(some_nodes(1), [*four, waiting("high", 8, priority=1)])
    assert places(problem, effort).keys() == {"high"}


@EFFORTS
def test_a_guarantee_is_reclaimed_from_who_loses_least(effort: Effort) -> None:
    jobs = [
        running("dear", 8, "n0", unsaved=50 * HOUR),
        running("cheap", 8, "n1", priority=5, unsaved=20 * HOUR),
        replace(waiting("owed", 8, priority=-1), queue=a_queue("owner").name),
    ]
    queues = [a_queue(), a_queue("owner", guaranteed={H100: 8000})]
    kept = places(a_problem(some_nodes(2), jobs, queues=queues), effort)
    assert kept.keys() == {"dear", "owed"}, "priority does not hold against a guarantee"


def test_a_gang_grows_only_where_that_pays() -> None:
    worker = a_role(counts=(1, 2), gpu_milli=1000)
    job = replace(a_training_job("job", worker=worker), running=gang_on("n0"))
    slow = replace(job, restart_seconds=HOUR)
    assert len(places(a_problem(some_nodes(1), [slow]), SEARCHED)["job"]) == 1
    quick = a_problem(some_nodes(1), [replace(job, restart_seconds=HOUR - 60)])
    assert len(places(quick)["job"]) == len(places(quick, SEARCHED)["job"]) == 2
    dearer = replace(quick, weights=replace(quick.weights, break_even_percent=200))
    assert len(places(dearer)["job"]) == len(places(dearer, SEARCHED)["job"]) == 1


def test_where_much_is_placed_one_is_preempted_that_can_be_paid_for() -> None:
    """Then nodes are cleared one by one."""
    fillers = [
        replace(running(f"filler-{n}", 1, f"n{2 + n // 8}", unsaved=50 * HOUR), priority=2)
        for n in range(MOST_IN_ONE_ORDER)
    ]
    dear = running("dear", 8, "n0", priority=0, unsaved=50 * HOUR)
    cheap = running("cheap", 8, "n1", priority=1, unsaved=60)
    high = waiting("high", 8, priority=2)
    nodes = some_nodes(2 + -(-MOST_IN_ONE_ORDER // 8))
    found = places(a_problem(nodes, [dear, cheap, high, *fillers]))
    assert {"dear", "high"} <= found.keys()
    assert "cheap" not in found
    dear, cheap = (replace(job, restart_seconds=50 * HOUR) for job in (dear, cheap))
    found = places(a_problem(nodes, [dear, cheap, high, *fillers]))
    assert {"dear", "cheap"} <= found.keys()
    assert "high" not in found


def test_one_that_cannot_pay_is_in_nobodys_way() -> None:
    """What the four lose together is too much, though each alone could be paid for."""
    four = [running(f"low-{n}", 2, "n0", unsaved=3 * HOUR) for n in range(4)]
    cheap = running("cheap", 8, "n1", unsaved=60)
    two = [waiting(f"high-{n}", 8, priority=1) for n in range(2)]
    found = places(a_problem(some_nodes(2), [*four, cheap, *two]))
    assert found.keys() == {"low-0", "low-1", "low-2", "low-3", "high-0"}
    assert found["high-0"] == gang_on("n1")


def test_a_gang_that_may_not_grow_is_in_no_others_way() -> None:
    """Each would be worth more after it; the work of the upper priority counts twice."""
    worker = a_role(counts=(1, 2), gpu_milli=1000)
    plain = a_training_job("plain", worker=worker, running=gang_on("n0"), restart_seconds=60)
    dear = a_training_job(
        "dear", worker=worker, running=gang_on("n0"), restart_seconds=90 * 60, priority=1
    )
    found = places(a_problem(some_nodes(1), [plain, dear]))
    assert (len(found["plain"]), len(found["dear"])) == (2, 1)


def test_what_a_queue_can_claim_is_the_same_once_gangs_are_settled() -> None:
    """What is pinned can be claimed whole; a gang that may move, only if it fits the guarantee."""
    gang = running("gang", 2, "n0", unsaved=50 * HOUR)
    nodes = [a_node("n0"), a_node("n1", gpus=1)]
    queues = [a_queue(guaranteed={H100: 1500})]
    problem = a_problem(nodes, [gang, waiting("large", 7)], queues=queues)
    found = solve(problem, SEARCHED)
    assert found.score == score(with_baseline(problem), found.placements)


def test_a_guarantee_is_found_room_for_by_moving_even_what_is_dear() -> None:
    """The gang in the way is within its own queue's guarantee, so it may only be moved."""
    gang = running("gang", 4, "n0", unsaved=50 * HOUR)
    owed = replace(waiting("owed", 8), queue=a_queue("owner").name)
    nodes = [a_node("n0"), a_node("n1", gpus=4)]
    queues = [a_queue(guaranteed={H100: 4000}), a_queue("owner", guaranteed={H100: 8000})]
    found = places(a_problem(nodes, [gang, owed], queues=queues), SEARCHED)
    assert found == {"gang": gang_on("n1"), "owed": gang_on("n0")}


def test_a_replica_of_a_higher_priority_may_move_for_a_gang() -> None:
    """It has no unsaved work: what its move costs is paid by whoever gains."""
    role = a_mixable_role("serve", counts=range(3), wanted_milli=1000)
    service = replace(
        an_inference_job("service", roles=(role,)),
        priority=1000,
        running=(on("n0", role="serve"),),
        restart_seconds=60,
    )
    nodes = [a_node("n0", gpus=4), a_node("n1", gpus=1)]
    found = places(a_problem(nodes, [service, waiting("gang", 4)]), SEARCHED)
    assert found["gang"] == gang_on("n0")
    assert found["service"][0].nodes == ("n1",)


def test_what_must_leave_its_node_costs_nobody_anything() -> None:
    """Its work is lost in any case."""
    gang = running("gang", 4, "n0", priority=0, unsaved=50 * HOUR)
    nodes = [a_node("n0", usable=False), a_node("n1", gpus=4)]
    assert places(a_problem(nodes, [gang]), AT_ONCE)["gang"] == gang_on("n1")


def test_an_older_plan_is_not_carried_out_once_it_no_longer_pays() -> None:
    wanted: Placements = placed(gang=gang_on("n1"), small=gang_on("n0"))
    cheap, dear = (in_the_way(priority=-100, unsaved=each) for each in (600, 3 * HOUR))
    assert carried(cheap, wanted) is not None
    assert carried(dear, wanted) is None


def test_what_is_not_paid_is_worse_than_any_gain_and_better_than_a_lost_guarantee() -> None:
    problem = with_baseline(in_the_way(priority=1000, unsaved=HOUR))
    stays = score(problem, {JobName("gang"): gang_on("n0")})
    moved = score(problem, placed(gang=gang_on("n1"), small=gang_on("n0")))
    assert moved.levels > stays.levels
    assert moved < stays
    assert replace(moved, levels=(1, *moved.levels[1:])) > stays


# The disruption budget


def crowded(*, allowed: int | None, priority: int = 0, overdue: bool = False) -> Problem:
    """Four gangs of 4 GPUs, one on each node of 8; a job needs two whole nodes."""
    gangs = [running(f"g{i}", 4, f"n{i}", unsaved=100) for i in range(4)]
    large = a_training_job("large", worker=a_role(counts=[2], gpu_milli=8000))
    large = replace(large, priority=priority, overdue=overdue)
    problem = a_problem(some_nodes(4), [*gangs, large])
    return replace(problem, loss_allowance=allowed)


@pytest.mark.parametrize(
    ("allowed", "moves"),
    [(None, True), (2 * 4000 * 100, True), (2 * 4000 * 100 - 1, False), (0, False)],
)
def test_no_more_work_is_thrown_away_than_the_budget_allows(
    allowed: int | None, *, moves: bool
) -> None:
    assert ("large" in places(crowded(allowed=allowed), SEARCHED)) is moves


def test_what_is_lost_beyond_the_budget_is_worse_than_any_gain() -> None:
    free = with_baseline(crowded(allowed=None))
    moved = solve_lean(free, SEARCHED).placements
    for beyond in (0, 1):
        problem = replace(free, loss_allowance=2 * 4000 * 100 - beyond)
        reached, calm = score(problem, moved), score(problem, problem.baseline or {})
        assert reached.unpaid == beyond
        assert (reached > calm) is (beyond == 0)


@EFFORTS
def test_what_a_higher_priority_pays_for_does_not_count_against_the_budget(effort: Effort) -> None:
    assert "large" in places(crowded(allowed=0, priority=1), effort)
    gangs = [running("low", 8, "n0", unsaved=100), running("high", 8, "n1", priority=5)]
    urgent = waiting("urgent", 8, priority=1)
    problem = a_problem(some_nodes(2), [*gangs, urgent])
    assert set(places(replace(problem, loss_allowance=0), effort)) == {"high", "urgent"}


@EFFORTS
def test_nor_does_what_is_due(effort: Effort) -> None:
    problem = crowded(allowed=0, priority=1, overdue=True)
    dear = tuple(replace(j, restart_seconds=9 * HOUR if j.running else 0) for j in problem.jobs)
    assert "large" in places(replace(problem, jobs=dear), effort)


def test_what_the_budget_allows_is_spent_where_most_is_gained() -> None:
    """Only one of two gangs may move, and the larger job gets the room."""
    gangs = [running(f"g{i}", 1, f"n{i}", unsaved=100) for i in range(2)]
    spare = running("spare", 6, "n2")
    jobs = [*gangs, replace(spare, pinned=True), waiting("small", 8), waiting("large", 8)]
    fast = replace(jobs[-1], roles=(replace(jobs[-1].roles[0], yields={H100: (9000,)}),))
    problem = a_problem(some_nodes(3), [*jobs[:-1], fast])
    found = places(replace(problem, loss_allowance=1000 * 100), SEARCHED)
    assert set(found) == {"g0", "g1", "spare", "large"}


def test_gangs_that_the_budget_does_not_let_stop_need_not_be_tried() -> None:
    problem = with_baseline(crowded(allowed=4000 * 100 - 1))
    assert all(job.pinned for job in settled(problem).jobs if job.running)
    assert not any(job.pinned for job in settled(replace(problem, loss_allowance=None)).jobs)


def test_to_be_resized_is_no_matter_of_the_budget() -> None:
    gang = running("gang", 1, "n0", unsaved=100)
    elastic = replace(gang, roles=(a_role(counts=[1, 2], gpu_milli=1000),))
    problem = replace(a_problem(some_nodes(1), [elastic]), loss_allowance=0)
    assert len(places(problem, SEARCHED)["gang"]) == 2
