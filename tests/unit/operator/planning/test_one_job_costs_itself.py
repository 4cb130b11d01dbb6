from plimsoll.observe.observer import Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Admit
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve_lean
from support.clusters.seen import NOW, at, objects_of, with_pods
from support.objects.job_manifests import a_training_job, without_speeds
from support.problems.unbelievable import without_workers

NODES = [fake_node(f"node-{number}", gpus=4) for number in range(2)]


def cluster(*manifests: Manifest, bad: str = "") -> Snapshot:
    objects = objects_of(*NODES, *manifests)
    return Observer().snapshot(without_workers(objects, bad), NOW)


def result_of(plan_input: PlanInput) -> PlanResult:
    return PlanResult(plan_input, solve_lean(plan_input.problem, Effort(deterministic_seconds=0)))


def test_a_job_that_cannot_be_translated_waits_and_says_so() -> None:
    plan_input = plan_input_of(
        cluster(a_training_job("bad"), a_training_job("good"), bad="bad"), ProblemBuilder()
    )
    assert [job.name for job in plan_input.problem.jobs] == ["TrainingJob/team/good"]
    [hold] = plan_input.holds
    assert (hold.job, hold.reason) == ("TrainingJob/team/bad", Reason.INVALID_SPEC)
    assert hold.inadmissible


def test_nor_does_one_whose_speeds_cannot_be_assumed_stop_the_others() -> None:
    bad = without_speeds(a_training_job("bad"))
    plan_input = plan_input_of(cluster(bad, a_training_job("good"), bad="bad"), ProblemBuilder())
    assert [job.name for job in plan_input.problem.jobs] == ["TrainingJob/team/good"]
    [hold] = plan_input.holds
    assert (hold.job, hold.reason) == ("TrainingJob/team/bad", Reason.INVALID_SPEC)


def test_the_others_are_planned_as_if_it_were_not_there() -> None:
    good = [a_training_job(f"good-{number}", gpus=2) for number in range(5)]
    bad, translator = cluster(a_training_job("bad"), *good, bad="bad"), ProblemBuilder()
    with_it = plan_of(bad, result_of(plan_input_of(bad, translator)))
    alone = cluster(*good)
    without_it = plan_of(alone, result_of(plan_input_of(alone, ProblemBuilder())))
    assert with_it.changes == without_it.changes
    assert [each for each in with_it.holds if each.job != "TrainingJob/team/bad"] == [
        *without_it.holds
    ]


def test_a_job_that_runs_keeps_what_its_pods_hold() -> None:
    running = at(a_training_job("bad", gpus=4), "node-0")
    pods = with_pods([running])[1:]
    for pod in pods:
        limits = {"limits": {"nvidia.com/gpu": "4"}}
        pod["spec"]["containers"] = [{"name": "main", "resources": limits}]
    snapshot = cluster(running, *pods, a_training_job("good", gpus=4), bad="bad")
    plan_input = plan_input_of(snapshot, ProblemBuilder())
    [hold] = [each for each in plan_input.holds if each.job == "TrainingJob/team/bad"] or [None]
    assert hold is None, "it does not wait"
    assert "TrainingJob/team/bad" in plan_input.faults
    [change] = plan_of(snapshot, result_of(plan_input)).changes
    assert isinstance(change, Admit)
    assert (change.job, change.assignments[0].nodes) == ("TrainingJob/team/good", ("node-1",))


def test_a_job_that_is_mended_is_planned_at_once() -> None:
    translator = ProblemBuilder()
    plan_input_of(cluster(a_training_job("job"), bad="job"), translator)
    mended = a_training_job("job")
    mended["metadata"]["generation"] = 2
    plan_input = plan_input_of(cluster(mended), translator)
    assert (len(plan_input.problem.jobs), plan_input.holds, plan_input.faults) == (1, (), {})
