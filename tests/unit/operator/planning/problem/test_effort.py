from dataclasses import replace

from plimsoll.planning.problem.effort import LARGE, effort, effort_now
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from support.clusters.seen import seen
from support.objects.job_manifests import a_policy
from support.problems.builders import a_problem, a_training_job, some_nodes

WHOLE = Effort(deterministic_seconds=7.0, workers=2)
AT_ONCE = replace(WHOLE, deterministic_seconds=0.0)


def with_jobs(count: int, changed: int = 0) -> Problem:
    jobs = [a_training_job(f"j{index}", sequence=int(index < changed)) for index in range(count)]
    return a_problem(some_nodes(1), jobs)


def test_the_policy_says_how_long_and_on_how_many_cores() -> None:
    policy = a_policy(planning={"timeLimit": "7s", "workers": 2})
    assert effort(seen(policy)) == WHOLE
    assert effort(seen()) == Effort()


def test_a_small_cluster_is_searched_for_as_long_as_the_change_is_large() -> None:
    def seconds(changed: int) -> float:
        spent = effort_now(WHOLE, with_jobs(100, changed=changed), with_jobs(100))
        assert spent.workers == WHOLE.workers
        return spent.deterministic_seconds

    assert seconds(100) == 7.0
    assert seconds(50) == 3.5
    assert seconds(1) == seconds(0) == seconds(5)
    assert 0 < seconds(5) < seconds(6)


def test_a_large_cluster_is_searched_as_a_whole_at_first() -> None:
    assert effort_now(WHOLE, with_jobs(LARGE), None) == WHOLE


def test_a_small_change_of_a_large_cluster_is_answered_at_once() -> None:
    assert effort_now(WHOLE, with_jobs(LARGE, changed=LARGE // 20), with_jobs(LARGE)) == AT_ONCE


def test_a_large_change_is_searched_as_a_whole() -> None:
    assert effort_now(WHOLE, with_jobs(LARGE, changed=LARGE // 10), with_jobs(LARGE)) == WHOLE


def test_jobs_that_are_new_are_changes() -> None:
    assert effort_now(WHOLE, with_jobs(LARGE), with_jobs(LARGE // 2)) == WHOLE


def test_that_stops_cost_more_by_the_minute_is_no_change_of_jobs() -> None:
    before = with_jobs(LARGE)
    jobs = tuple(replace(job, restart_seconds=job.restart_seconds + 60) for job in before.jobs)
    assert effort_now(WHOLE, replace(before, jobs=jobs), before) == AT_ONCE


def test_what_is_large_can_be_said() -> None:
    assert effort_now(WHOLE, with_jobs(40), with_jobs(40), large=41) == AT_ONCE
    assert effort_now(WHOLE, with_jobs(40), with_jobs(40), large=42) != AT_ONCE
