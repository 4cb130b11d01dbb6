from datetime import timedelta

from plimsoll.kube.watching.workloads import Reading
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.vocabulary.reasons import Reason
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, a_reading, seen
from support.clusters.target_lives import a_targeting_job, a_workload
from support.objects.target_pods import ORDINAL, a_scaled_job, a_target_pod

PODS = [a_target_pod(name, "a", labels={ORDINAL: str(n)}) for n, name in enumerate("pqr")]


def input_of(*manifests: Manifest, target: Manifest | None = None, problem: str = "") -> PlanInput:
    reading = a_reading(target or a_workload(replicas=3), problem=problem)
    return plan_input_of(looked_at(*manifests, reading=reading), ProblemBuilder())


def looked_at(*manifests: Manifest, reading: Reading) -> Snapshot:
    return seen(fake_node("a", gpus=8), *manifests, targets=[reading])


def kept(found: PlanInput) -> list[int]:
    return [assignment.replica for assignment in found.problem.jobs[0].running]


def test_a_job_whose_target_was_not_read_yet_is_not_asked_about() -> None:
    found = plan_input_of(seen(fake_node("a"), a_targeting_job()), ProblemBuilder())
    assert (found.problem.jobs, found.holds) == ((), ())


def test_a_job_whose_target_is_of_no_use_waits_though_it_ran() -> None:
    (hold,) = input_of(a_scaled_job(a_targeting_job(), "a"), problem="it is gone").holds
    assert (hold.reason, hold.message, hold.inadmissible) == (
        Reason.FAILED_GET_SCALE,
        "it is gone",
        True,
    )


def test_what_kube_scheduler_placed_is_pinned_and_what_we_placed_is_not() -> None:
    job = a_scaled_job(a_targeting_job(), "a", "a", "a")
    (bound,) = input_of(job, *PODS).problem.jobs
    (ours,) = input_of(job, *PODS, target=a_workload(replicas=3, gated=True)).problem.jobs
    assert (bound.pinned, ours.pinned) == (True, False)


def test_a_pinned_target_grows_by_what_is_missing() -> None:
    job = a_scaled_job(a_targeting_job(replicas=5), "a", "a", "a")
    whole, missing = input_of(job, *PODS).problem.jobs
    assert len(whole.running) == 3
    assert missing.roles[0].counts == (0, 1, 2)


def test_while_no_load_is_known_a_target_has_what_it_was_found_with_within_the_bounds() -> None:
    (job,) = input_of(a_targeting_job(), *PODS).problem.jobs
    assert len(job.running) == 3
    assert job.roles[0].counts[-1] == 3
    (less,) = input_of(a_targeting_job(bounds=(0, 2)), *PODS).problem.jobs
    assert len(less.running) == 2
    slept = {"replicas": 0, "found": 2}
    again, *_ = input_of(a_scaled_job(a_targeting_job(), target=slept)).problem.jobs
    assert again.roles[0].counts[-1] == 2, "also after it had to give way"


def test_of_numbered_replicas_the_last_go() -> None:
    target = a_workload("StatefulSet", replicas=3)
    job = a_scaled_job(a_targeting_job(target=target, replicas=1), "a", "a", "a")
    assert kept(input_of(job, *PODS, target=target)) == [0]


def test_a_contested_target_neither_grows_nor_shrinks() -> None:
    times = [(NOW - timedelta(minutes=n)).isoformat() for n in (1, 2, 3)]
    status = {"replicas": 5, "found": 5, "overriddenTimes": times}
    for wanted in (1, 5):
        job = a_scaled_job(a_targeting_job(replicas=wanted), "a", "a", "a", target=status)
        (alone,) = input_of(job, *PODS).problem.jobs
        assert (alone.pinned, len(alone.running)) == (True, 3)
