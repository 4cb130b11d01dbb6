from typing import Unpack

from plimsoll_placement.model import Job, Node
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score
from support.problems.builders import (
    JobFields,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
    placed,
)


def with_pinned(*nodes: Node) -> Problem:
    """A job that is pinned to the node n0."""
    return a_problem(nodes, [a_training_job(running=gang_on("n0"), pinned=True)])


def held(problem: Problem) -> Score:
    """What is reached if what runs stays."""
    return score(problem, {job.name: job.running for job in problem.jobs})


def test_what_is_pinned_counts_also_where_its_gpus_are_no_longer_offered() -> None:
    problem = with_pinned(a_node("n0", devices=()))
    assert simple_bound(problem) == held(problem)


def test_what_is_pinned_is_not_worth_more_because_other_nodes_are_cheaper() -> None:
    problem = with_pinned(a_node("n0", microdollars_per_gpu_hour=9_000_000), a_node("n1"))
    assert simple_bound(problem) == held(problem)


def a_gang(name: str, workers: int, **fields: Unpack[JobFields]) -> Job:
    return a_training_job(name, worker=a_role(counts=(workers,)), **fields)


def test_the_most_urgent_have_what_there_is() -> None:
    jobs = [
        a_gang("urgent", 2, urgency_milli=3000),
        a_gang("plain", 6),
        a_gang("late", 4),
    ]
    problem = a_problem([a_node("n0", gpus=8)], jobs)
    reached = {"urgent": gang_on(*["n0"] * 2), "plain": gang_on(*["n0"] * 6)}
    assert simple_bound(problem).levels[2] == 2 * 3000 + 6 * 1000
    assert score(problem, placed(**reached)).levels[2] == simple_bound(problem).levels[2]


def test_what_urgent_jobs_hold_is_not_left_for_lower_priority() -> None:
    jobs = [
        a_gang("urgent", 2, urgency_milli=3000, priority=1),
        a_gang("plain", 4, priority=1),
        a_gang("low", 8),
    ]
    problem = a_problem([a_node("n0", gpus=8)], jobs)
    reached = placed(urgent=gang_on("n0", "n0"), plain=gang_on(*["n0"] * 4))
    assert simple_bound(problem, score(problem, reached)).levels[4] == 2 * 1000
