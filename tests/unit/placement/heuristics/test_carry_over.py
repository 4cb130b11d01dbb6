"""What is left of a plan when the cluster has changed: the part that is still to be had."""

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.carry_over import carried
from plimsoll_placement.model import JobName
from support.problems.builders import (
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
    placed,
    some_nodes,
)

FOUR = a_role(gpu_milli=4000)
WHOLE = a_role(gpu_milli=8000)


def test_a_plan_is_had_whole_where_nothing_changed() -> None:
    problem = a_problem(some_nodes(2), [a_training_job("one"), a_training_job("two")])
    wanted = placed(one=gang_on("n0"), two=gang_on("n1"))
    found = carried(problem, wanted)
    assert found is not None
    assert found.placements == wanted


def test_what_came_since_keeps_its_place_and_the_rest_is_had() -> None:
    came = a_training_job("came", worker=WHOLE, running=gang_on("n0"))
    problem = a_problem(some_nodes(2), [came, a_training_job("one"), a_training_job("two")])
    found = carried(problem, placed(one=gang_on("n0"), two=gang_on("n1")))
    assert found is not None
    assert found.placements == placed(came=gang_on("n0"), two=gang_on("n1"))


def test_two_swap_places() -> None:
    """Each takes what the other gives up, though neither could move alone."""
    small = a_training_job("small", worker=FOUR, running=gang_on("n0"), restart_seconds=0)
    large = a_training_job("large", worker=WHOLE, priority=1)
    problem = a_problem([a_node("n0"), a_node("n1", gpus=4)], [small, large])
    wanted = placed(small=gang_on("n1"), large=gang_on("n0"))
    found = carried(problem, wanted)
    assert found is not None
    assert found.placements == wanted


def test_a_plan_that_is_no_better_than_what_runs_is_thrown_away() -> None:
    runs = a_training_job("runs", running=gang_on("n0"))
    assert carried(a_problem(some_nodes(2), [runs]), placed(runs=gang_on("n1"))) is None


def test_a_plan_that_would_cost_another_its_place_is_thrown_away() -> None:
    """The move makes room for a job that is gone, and its room is taken."""
    moving = a_training_job("moving", worker=WHOLE, running=gang_on("n0"))
    came = a_training_job("came", worker=WHOLE, running=gang_on("n1"))
    assert carried(a_problem(some_nodes(2), [moving, came]), placed(moving=gang_on("n1"))) is None


def test_nobody_is_carried_onto_a_node_that_is_closed_by_now() -> None:
    nodes = [a_node("n0", open=False), a_node("n1")]
    assert carried(a_problem(nodes, [a_training_job("one")]), placed(one=gang_on("n0"))) is None


def test_what_is_pinned_stays() -> None:
    pinned = a_training_job("pinned", worker=WHOLE, running=gang_on("n0"), pinned=True)
    one = a_training_job("one")
    problem = a_problem(some_nodes(2), [pinned, one])
    found = carried(problem, placed(pinned=gang_on("n1"), one=gang_on("n1")))
    assert found is not None
    assert found.placements[JobName("pinned")] == gang_on("n0")
    assert violations(problem, found.placements) == ()
