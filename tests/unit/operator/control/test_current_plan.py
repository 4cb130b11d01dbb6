from dataclasses import replace

from structlog.testing import capture_logs

from plimsoll.control.current_plan import CurrentPlan
from plimsoll.planning.actions import Admit
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_policy, a_training_job

NODE = fake_node("n-0", gpus=4)
JOB = a_training_job("job", gpus=4)


def input_of(*manifests: Manifest) -> PlanInput:
    return plan_input_of(seen(*manifests), ProblemBuilder())


def adopted(*manifests: Manifest, later: tuple[Manifest, ...] | None = None) -> CurrentPlan:
    """The plan for a cluster, adopted in it or in what has become of it."""
    found, now = input_of(*manifests), manifests if later is None else later
    result = PlanResult(found, solve(found.problem, Effort(deterministic_seconds=0)))
    current = CurrentPlan()
    current.adopt(seen(*now), result, input_of(*now))
    return current


def test_a_plan_covers_the_problem_as_it_leaves_it() -> None:
    current = adopted(NODE, JOB)
    assert [type(each) for each in current.changes] == [Admit]
    assert not current.covers(input_of(NODE, JOB).problem)
    assert current.covers(input_of(NODE, at(JOB, "n-0")).problem)


def test_it_covers_nothing_once_something_was_left_undone() -> None:
    current = adopted(NODE, JOB)
    current.unsettle()
    assert not current.covers(input_of(NODE, at(JOB, "n-0")).problem)


def test_advice_covers_the_problem_as_it_is() -> None:
    policy = a_policy(mode="Advise")
    assert adopted(NODE, policy, JOB).covers(input_of(NODE, policy, JOB).problem)


def test_who_changed_while_it_was_planned_is_planned_next_even_if_it_changes_back() -> None:
    running, waits = at(JOB, "n-0"), a_training_job("waits", gpus=2)
    now = input_of(NODE, running, waits).problem
    steady = adopted(NODE, running, waits)
    assert steady.plan is not None
    assert len(steady.plan.holds) == 1
    assert steady.covers(now)
    changed = adopted(NODE, running, waits, later=(NODE, running, a_training_job("waits", gpus=3)))
    assert changed.plan is not None
    assert changed.plan.holds == (), "nothing is known of it yet"
    assert not changed.covers(now)


def test_a_result_that_no_longer_holds_is_no_plan() -> None:
    taken = at(a_training_job("other", gpus=4), "n-0")
    current = adopted(NODE, JOB, later=(NODE, JOB, taken))
    assert (current.plan, current.changes) == (None, ())


def test_plans_are_logged_that_change_something_or_are_not_like_the_last() -> None:
    taken = at(a_training_job("other", gpus=4), "n-0")
    current = CurrentPlan()
    with capture_logs() as logged:
        for manifests in ((NODE, JOB), (NODE, taken), (NODE, taken, JOB), (NODE, taken, JOB)):
            found = input_of(*manifests)
            result = PlanResult(found, solve(found.problem, Effort(deterministic_seconds=0)))
            assert current.adopt(seen(*manifests), result, found) is not None
    levels = [(line["log_level"], line["changes"], line["holds"]) for line in logged]
    assert levels == [("info", 1, 0), ("debug", 0, 0), ("info", 0, 1), ("debug", 0, 1)]


def a_minute_later(problem: Problem) -> Problem:
    """The same problem, but stops cost more."""
    jobs = tuple(replace(job, restart_seconds=job.restart_seconds + 60) for job in problem.jobs)
    return replace(problem, jobs=jobs)


def test_what_stops_cost_needs_no_new_plan_if_nothing_could_be_better() -> None:
    placed = at(JOB, "n-0")
    current, problem = adopted(NODE, placed), input_of(NODE, placed).problem
    later = a_minute_later(problem)
    assert current.covers(later)
    assert current.covers(a_minute_later(later))
    assert (current.settled, current.before) == (a_minute_later(later),) * 2


def test_what_stops_cost_is_planned_for_if_a_job_could_do_better_elsewhere() -> None:
    elastic = at(a_training_job("elastic", workers=(1, 4)), "n-0", "n-0")
    others = elastic, at(a_training_job("other", gpus=2), "n-0")
    current, problem = adopted(NODE, *others), input_of(NODE, *others).problem
    assert current.changes == ()
    assert current.covers(problem)
    assert not current.covers(a_minute_later(problem))


def test_a_change_of_anything_else_needs_a_new_plan() -> None:
    placed = at(JOB, "n-0")
    current, problem = adopted(NODE, placed), input_of(NODE, placed).problem
    pinned = replace(problem, jobs=tuple(replace(job, pinned=True) for job in problem.jobs))
    assert not current.covers(pinned)
    assert not current.covers(replace(a_minute_later(problem), levels=("rack",)))
    assert not current.covers(input_of(NODE, placed, a_training_job("new")).problem)
    assert not current.covers(input_of(NODE).problem)
