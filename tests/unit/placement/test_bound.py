from builders import a_node, a_problem, a_training_job, gang_on
from plimsoll_placement.bound import simple_bound
from plimsoll_placement.problem import Node, Problem
from plimsoll_placement.score import score
from plimsoll_placement.solution import Score


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
