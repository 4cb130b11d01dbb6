from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.lateness import carried_over
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_priority_class, a_training_job

NODE = fake_node("n-0", gpus=4)


def input_of(*manifests: Manifest) -> PlanInput:
    return plan_input_of(seen(*manifests), ProblemBuilder())


def late(*manifests: Manifest) -> PlanResult:
    found = input_of(*manifests)
    return PlanResult(found, solve(found.problem, Effort(deterministic_seconds=0)))


def names(result: PlanResult | None) -> set[str] | None:
    """Who has a place; None where there is no result."""
    return result and {name.rpartition("/")[2] for name in result.solution.placements}


def test_a_late_result_is_used_for_the_jobs_that_are_as_they_were() -> None:
    one, came = a_training_job("one"), at(a_training_job("came"), "n-0")
    result = carried_over(late(NODE, one), input_of(NODE, one, came))
    assert names(result) == {"one", "came"}


def test_who_is_to_give_way_by_it_gives_way() -> None:
    high = a_priority_class("high", 100)
    low = at(a_training_job("low", gpus=4), "n-0")
    urgent = a_training_job("urgent", gpus=4, priorityClassName="high")
    other, came = fake_node("n-1", gpus=1), at(a_training_job("came"), "n-1")
    result = carried_over(
        late(NODE, other, high, low, urgent), input_of(NODE, other, high, low, urgent, came)
    )
    assert names(result) == {"urgent", "came"}


def test_it_says_nothing_of_jobs_that_came_since_and_wait() -> None:
    one = a_training_job("one")
    result = carried_over(late(NODE, one), input_of(NODE, one, a_training_job("came")))
    assert result is not None
    assert [job.name for job in result.problem.jobs] == ["TrainingJob/team/one"]


def test_it_is_thrown_away_where_others_have_taken_the_room() -> None:
    one = a_training_job("one", gpus=4)
    assert (
        carried_over(late(NODE, one), input_of(NODE, one, at(a_training_job("came"), "n-0")))
        is None
    )


def test_a_job_that_changed_since_keeps_what_it_has() -> None:
    was = at(a_training_job("job", workers=(1, 4)), "n-0")
    other = a_training_job("other")
    changed = at(a_training_job("job", workers=(1, 2)), "n-0")
    result = carried_over(late(NODE, was, other), input_of(NODE, changed, other))
    assert result is not None
    assert len(result.solution.placements[result.problem.jobs[0].name]) == 1
