"""Services that there is just enough for, by an integer program over classes of nodes."""

from dataclasses import replace

from plimsoll_placement.classes.relaxation import relaxation
from plimsoll_placement.cpsat.branching import branched
from plimsoll_placement.cpsat.builder import ModelBuilder, builder
from plimsoll_placement.cpsat.constraints import constrain
from plimsoll_placement.cpsat.objective import admission_levels, worth_level
from plimsoll_placement.cpsat.realise import realised
from plimsoll_placement.cpsat.search import hold
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from support.problems.builders import (
    A100,
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    an_inference_job,
)

WANTED = 3000


def two_services(*, h100: int) -> Problem:
    """Either service is served by three H100; only one of them also by nine A100."""
    nodes = [a_node("h", gpus=h100), a_node("a", gpus=9, gpu_type=A100)]
    able = a_mixable_role(
        counts=range(1, 10), wanted_milli=WANTED, carried={H100: 3000, A100: 1000}
    )
    able = replace(able, fineness=3)
    bound = a_mixable_role(counts=range(1, 10), wanted_milli=WANTED, carried={H100: 1000})
    services = [an_inference_job("able", roles=(able,)), an_inference_job("bound", roles=(bound,))]
    return a_problem(nodes, services)


def all_served(problem: Problem) -> ModelBuilder:
    """The model, in which everything wanted must be served."""
    made = builder(relaxation(problem))
    constrain(made)
    for level, wanted in zip(admission_levels(made), (0, 0, 2 * WANTED), strict=True):
        hold(made, level, wanted)
    return made


def test_all_are_served_where_there_is_just_enough() -> None:
    problem = two_services(h100=3)
    made = all_served(problem)
    values, seconds = branched(made, worth_level(made), 1.0)
    assert seconds <= 1.0
    best = max(score(problem, each) for each in realised(made, values))
    assert best.levels[:-1] == (0, 0, 2 * WANTED)
    assert branched(made, worth_level(made), 1.0)[0] == values


def test_there_are_no_values_where_there_is_too_little_or_no_time() -> None:
    made = all_served(two_services(h100=2))
    assert not branched(made, worth_level(made), 1.0)[0]
    assert branched(all_served(two_services(h100=3)), worth_level(made), 0.0) == ((), 0.0)
