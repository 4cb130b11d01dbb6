from dataclasses import replace

from plimsoll.planning.adjustment import Adjusted, Adjustment
from plimsoll_placement.model import JobName
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    a_power_domain,
    a_problem,
    a_training_job,
    gang_on,
    on,
    some_nodes,
)

HERE, THERE = gang_on("n0", "n1"), gang_on("n2", "n3")
DOMAIN, LESS = (a_power_domain("row", budget_watts=watts) for watts in (2000, 1000))


def a_cluster() -> Problem:
    jobs = a_training_job("a", running=HERE), a_training_job("c")
    return a_problem(some_nodes(4), jobs, power_domains=[DOMAIN])


def test_what_is_adjusted_takes_the_place_of_its_like_and_parts_stand_beside() -> None:
    problem = a_cluster()
    first, last = problem.jobs
    other = a_training_job("c", priority=7)
    part = replace(first, name=JobName("b"), part_of=first.name)
    adjustment = Adjustment({last.name: other}, {LESS.name: LESS}, parts=(part,))
    asked = adjustment.apply(problem)
    assert asked.jobs == (first, part, other)
    assert asked.power_domains == (LESS,)


def test_an_adjustment_of_nothing_leaves_the_problem_as_it_is() -> None:
    problem = a_cluster()
    assert Adjustment().apply(problem) is problem
    assert Adjustment().restore_draws(problem) is problem


def test_adjustments_are_kept_in_the_order_in_which_they_build_on_each_other() -> None:
    name = JobName("a")
    less, least = (Adjustment({name: a_training_job("a", priority=p)}) for p in (2, 1))
    adjusted = Adjusted(a_cluster()).by(less).by(least)
    assert adjusted.adjustments == (less, least)
    assert adjusted.problem.job_by_name[name].priority == 1


def test_power_is_counted_for_what_runs_only_where_the_adjustment_says_so() -> None:
    problem = a_cluster()
    job = problem.jobs[0]
    there = a_training_job("a", running=THERE)
    for draws, running in ((True, HERE), (False, THERE)):
        moved = Adjustment({job.name: there}, running={job.name: HERE}, draws_as_it_runs=draws)
        asked = moved.apply(problem)
        assert moved.restore_running(asked.jobs[0]).running == HERE
        assert moved.restore_draws(asked).jobs[0].running == running


def test_only_the_job_itself_is_compared_as_it_was_before() -> None:
    first, last = a_cluster().jobs
    kept = Adjustment(originals={first.name: first})
    assert kept.restore_original(a_training_job("a", priority=3)) is first
    assert kept.restore_original(last) is last


def test_placements_without_parts_stay() -> None:
    placements = {JobName("a"): (on("n0"),)}
    assert Adjustment().restore_placements(placements) == placements
