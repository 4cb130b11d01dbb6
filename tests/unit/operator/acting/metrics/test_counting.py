from prometheus_client import REGISTRY

from plimsoll.acting.metrics.counting import UNKNOWN_QUEUE, count, count_jobs, forget_jobs
from plimsoll.acting.step import Step
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_queue, a_training_job

BY_QUEUE = (
    "plimsoll_pending_jobs",
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
