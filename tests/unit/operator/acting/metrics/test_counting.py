from dataclasses import replace
from datetime import timedelta
from typing import Any

from prometheus_client import REGISTRY

from plimsoll.acting.metrics.counting import count, count_jobs, forget_jobs
from plimsoll.acting.metrics.labels import UNKNOWN_QUEUE
from plimsoll.acting.step import Step
from plimsoll.vocabulary.reasons import Reason
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_queue, a_training_job, an_inference_job

BY_QUEUE = (
    "plimsoll_pending_jobs",
    "plimsoll_jobs",
    "plimsoll_running_jobs",
    "plimsoll_admitted_jobs_total",
    "plimsoll_admission_wait_time_seconds_count",
)


def counted() -> set[str]:
    """The queues that any metric mentions."""
    return {
        sample.labels["queue"]
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name in BY_QUEUE
    }


def test_names_of_queues_that_are_not_there_add_no_series() -> None:
    forged = [a_training_job(f"j-{number}", queue=f"forged-{number}") for number in range(50)]
    real = a_training_job("real", queue="real")
    left = at(a_training_job("left", queue="deleted"), "n-1")
    snapshot = seen(*forged, left, a_training_job("plain"), a_queue("real"), at(real, "n"))
    admitted = seen(*(at(job, "n-1") for job in forged), a_queue("real"))
    count_jobs(snapshot)
    for before, after in zip(seen(*forged).jobs, admitted.jobs, strict=True):
        count(Step(before, after.resource.status), admitted)
    assert {"real", "default", UNKNOWN_QUEUE} <= counted()
    assert not [queue for queue in counted() if queue.startswith(("forged", "deleted"))]
    labels = {"queue": UNKNOWN_QUEUE, "status": "active"}
    assert REGISTRY.get_sample_value("plimsoll_pending_jobs", labels) == len(forged)
    running = {"queue": UNKNOWN_QUEUE}
    assert REGISTRY.get_sample_value("plimsoll_running_jobs", running) == 1
    forget_jobs()


def test_a_job_of_a_queue_that_there_is_counts_for_it() -> None:
    job, queue = a_training_job("job", queue="vision"), a_queue("vision")
    (before,), placed = seen(job, queue).jobs, seen(at(job, "n-1"), queue)
    count(Step(before, placed.jobs[0].resource.status), placed)
    assert REGISTRY.get_sample_value("plimsoll_admitted_jobs_total", {"queue": "vision"}) == 1


def jobs(**labels: str) -> float | None:
    return REGISTRY.get_sample_value("plimsoll_jobs", {"queue": "default", **labels})


def test_all_jobs_are_counted_by_kind_state_and_reason() -> None:
    held = {"status": {"reason": "QueueLimit"}}
    going = a_training_job("going")
    going["metadata"] |= {"deletionTimestamp": NOW.isoformat(), "finalizers": ["example.com/a"]}
    done = {"type": "Complete", "status": "True", "reason": "Completed"}
    since = {"lastTransitionTime": NOW.isoformat()}
    over = {"status": {"reason": "Completed", "conditions": [{**done, **since}]}}
    newer = {"status": {"reason": "ReasonOfANewerVersion"}}
    count_jobs(
        seen(
            a_training_job("new"),
            a_training_job("held") | held,
            a_training_job("newer") | newer,
            a_training_job("paused", suspend=True),
            going,
            a_training_job("over") | over,
            at(an_inference_job("serve"), "n-1", reason="Running"),
        )
    )
    assert jobs(kind="TrainingJob", state="Waiting", reason="") == 2
    assert jobs(kind="TrainingJob", state="Waiting", reason="QueueLimit") == 1
    assert jobs(kind="TrainingJob", state="Suspended", reason="") == 1
    assert jobs(kind="TrainingJob", state="Deleting", reason="") == 1
    assert jobs(kind="TrainingJob", state="Finished", reason="Completed") == 1
    assert jobs(kind="InferenceJob", state="Running", reason="Running") == 1
    forget_jobs()
    assert jobs(kind="InferenceJob", state="Running", reason="Running") is None


def lost(reason: Reason) -> float:
    labels = {"queue": "default", "reason": reason}
    return REGISTRY.get_sample_value("plimsoll_lost_gpu_seconds_total", labels) or 0.0


def stopped(reason: Reason, **update: Any) -> Step:  # noqa: ANN401 - fields of a status
    """A gang of two workers of 4 GPUs stops that has trained for five minutes without a save."""
    started = (NOW - timedelta(minutes=5)).isoformat()
    checkpoint = {"interval": "1h", "saveSeconds": 10, "restoreSeconds": 20}
    job = a_training_job("job", workers=2, gpus=4, checkpoint=checkpoint)
    (view,) = seen(at(job, "n-1", "n-2", startedTime=started)).jobs
    now = {"reason": reason, "started_time": None, **update}
    return Step(view, view.resource.status.model_copy(update=now))


def test_the_work_that_a_stop_throws_away_is_counted_by_its_reason() -> None:
    before = lost(Reason.PREEMPTED), lost(Reason.RESTARTING)
    count(stopped(Reason.PREEMPTED, placement=None), seen())
    count(stopped(Reason.RESTARTING), seen())
    assert lost(Reason.PREEMPTED) == before[0] + 8 * 330
    assert lost(Reason.RESTARTING) == before[1] + 8 * 330


def test_no_work_is_lost_of_what_ends_or_had_not_begun() -> None:
    before = lost(Reason.COMPLETED), lost(Reason.PREEMPTED)
    count(stopped(Reason.COMPLETED, placement=None, finished_time=NOW), seen())
    step = stopped(Reason.PREEMPTED, placement=None)
    (view,) = seen(at(a_training_job("job", workers=2, gpus=4), "n-1", "n-2")).jobs
    count(replace(step, job=view), seen())
    assert before == (lost(Reason.COMPLETED), lost(Reason.PREEMPTED))


def ended(was: Reason, reason: str) -> Step:
    """What becomes of a job that is, or was, over."""
    (view,) = seen(at(a_training_job("job"), "n-1", reason=was)).jobs
    return Step(view, view.resource.status.model_copy(update={"reason": reason}))


def finished() -> float:
    labels = {"queue": "default", "result": "Completed"}
    return REGISTRY.get_sample_value("plimsoll_finished_jobs_total", labels) or 0.0


def test_a_job_that_has_ended_is_counted_once() -> None:
    before = finished()
    count(ended(Reason.RUNNING, "Completed"), seen())
    assert finished() == before + 1
    count(ended(Reason.COMPLETED, "Completed"), seen())
    assert finished() == before + 1


def test_a_reason_of_a_newer_version_is_no_error() -> None:
    before = finished()
    count(ended(Reason.RUNNING, "OfTomorrow"), seen())
    assert finished() == before
