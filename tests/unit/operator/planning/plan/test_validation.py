from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import carried_over, renewed, settled
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_gpu_pod, a_priority_class, a_training_job

NODE = fake_node("n-0", gpus=4)
HIGH = a_priority_class("high", 100)
LOW = at(a_training_job("low", gpus=4), "n-0")
URGENT = a_training_job("urgent", gpus=4, priorityClassName="high")


def input_of(*manifests: Manifest) -> PlanInput:
    return plan_input_of(seen(*manifests), ProblemBuilder())


def result_of(*manifests: Manifest) -> PlanResult:
    found = input_of(*manifests)
    return PlanResult(found, solve(found.problem, Effort(deterministic_seconds=0)))


def placed(result: PlanResult) -> dict[str, list[str]]:
    return {
        name.rpartition("/")[2]: [node for assignment in assignments for node in assignment.nodes]
        for name, assignments in result.solution.placements.items()
    }


def names(result: PlanResult | None) -> set[str] | None:
    """Who has a place; None where there is no result."""
    return result and {name.rpartition("/")[2] for name in result.solution.placements}


def test_a_result_holds_where_nothing_has_changed() -> None:
    result = result_of(NODE, HIGH, LOW, URGENT)
    carried, broken = renewed(result, input_of(NODE, HIGH, LOW, URGENT))
    assert (placed(carried), broken) == ({"urgent": ["n-0"]}, ())


def test_a_job_that_came_since_is_neither_placed_nor_reported_as_waiting() -> None:
    one = a_training_job("one")
    carried, broken = renewed(
        result_of(NODE, one), input_of(NODE, one, a_training_job("two", gpus=2))
    )
    assert (placed(carried), broken) == ({"one": ["n-0"]}, ())
    assert [job.name for job in carried.problem.jobs] == ["TrainingJob/team/one"]


def test_a_job_that_changed_since_keeps_what_it_has() -> None:
    running = at(a_training_job("job", workers=(1, 4)), "n-0")
    changed = at(a_training_job("job", workers=(1, 2)), "n-0")
    result = result_of(NODE, running)
    assert placed(result) == {"job": ["n-0"] * 4}
    carried, broken = renewed(result, input_of(NODE, changed))
    assert (placed(carried), broken) == ({"job": ["n-0"]}, ())


def test_an_answer_falls_with_its_node() -> None:
    job, other = a_training_job("job"), fake_node("n-1", gpus=8)
    result = result_of(NODE, other, job)
    assert placed(result) == {"job": ["n-0"]}
    cordoned = {**NODE, "spec": {"unschedulable": True}}
    assert "n-0, closed to what is new" in renewed(result, input_of(cordoned, other, job))[1][0]


def test_an_answer_says_nothing_of_what_can_no_longer_run_at_all() -> None:
    job = a_training_job("job")
    now = input_of({**NODE, "spec": {"unschedulable": True}}, job)
    carried, broken = renewed(result_of(NODE, job), now)
    assert (placed(carried), broken) == ({}, ())
    assert [hold.job for hold in carried.plan_input.holds] == ["TrainingJob/team/job"]


def test_an_answer_falls_when_others_have_taken_the_room() -> None:
    result = result_of(NODE, a_training_job("job", gpus=3))
    foreign = a_gpu_pod("foreign", "n-0", gpus=2)
    late = at(a_training_job("late", gpus=2), "n-0")
    assert renewed(result, input_of(NODE, a_training_job("job", gpus=3), late))[1]
    _, broken = renewed(result, input_of(NODE, foreign, at(a_training_job("job", gpus=2), "n-0")))
    assert broken == ()  # it changed, and keeps what it has


def test_nobody_is_disturbed_for_a_job_that_is_gone() -> None:
    result = result_of(NODE, HIGH, LOW, URGENT)
    assert renewed(result, input_of(NODE, HIGH, LOW))[1] == (
        "TrainingJob/team/urgent: others would make room for it, but it is gone or has changed",
    )


def test_a_job_that_is_gone_disturbs_no_answer_that_disturbs_nobody() -> None:
    one, two = a_training_job("one"), a_training_job("two")
    carried, broken = renewed(result_of(NODE, one, two), input_of(NODE, two))
    assert (placed(carried), broken) == ({"two": ["n-0"]}, ())


def test_what_was_acted_on_leaves_nothing_to_plan() -> None:
    jobs = [a_training_job("one", workers=2), a_training_job("two")]
    result = result_of(NODE, *jobs)
    acted = [at(jobs[0], "n-0", "n-0"), at(jobs[1], "n-0")]
    assert settled(result) == input_of(NODE, *acted).problem


def test_a_late_result_is_used_for_the_jobs_that_are_as_they_were() -> None:
    one, came = a_training_job("one"), at(a_training_job("came"), "n-0")
    result = carried_over(result_of(NODE, one), input_of(NODE, one, came))
    assert names(result) == {"one", "came"}


def test_who_is_to_give_way_by_a_late_result_gives_way() -> None:
    other, came = fake_node("n-1", gpus=1), at(a_training_job("came"), "n-1")
    result = carried_over(
        result_of(NODE, other, HIGH, LOW, URGENT), input_of(NODE, other, HIGH, LOW, URGENT, came)
    )
    assert names(result) == {"urgent", "came"}


def test_a_late_result_says_nothing_of_jobs_that_came_since_and_wait() -> None:
    one = a_training_job("one")
    result = carried_over(result_of(NODE, one), input_of(NODE, one, a_training_job("came")))
    assert result is not None
    assert [job.name for job in result.problem.jobs] == ["TrainingJob/team/one"]


def test_a_late_result_is_thrown_away_where_others_have_taken_the_room() -> None:
    one = a_training_job("one", gpus=4)
    assert (
        carried_over(result_of(NODE, one), input_of(NODE, one, at(a_training_job("came"), "n-0")))
        is None
    )


def test_a_job_that_changed_before_a_late_result_keeps_what_it_has() -> None:
    was = at(a_training_job("job", workers=(1, 4)), "n-0")
    other = a_training_job("other")
    changed = at(a_training_job("job", workers=(1, 2)), "n-0")
    result = carried_over(result_of(NODE, was, other), input_of(NODE, changed, other))
    assert result is not None
    assert len(result.solution.placements[result.problem.jobs[0].name]) == 1
