from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from plimsoll.observe.measured.reports import JobReport, Saved, WorkerReport
from plimsoll.observe.observer import Observer
from support.clusters.seen import NOW, a_report, at, objects_of, pods_of, seen
from support.objects.job_manifests import a_training_job

GANG = at(a_training_job("gang", workers=3), "n-0", "n-0", "n-0")
PODS = pods_of(GANG)
BEFORE = NOW - timedelta(minutes=1)


def report(*reports: WorkerReport) -> JobReport:
    [job] = seen(GANG, *PODS, reports=reports).jobs
    assert job.report is not None
    return job.report


def saved(replica: int, done: int, at_time: timedelta = timedelta(0)) -> WorkerReport:
    return a_report(PODS[replica], saved=Decimal(done), saved_at=NOW - at_time)


def test_a_job_of_which_nobody_was_heard_has_no_report() -> None:
    [job] = seen(GANG, *PODS).jobs
    assert job.report is None


def test_a_gang_is_as_far_as_its_last_worker() -> None:
    first, second, third = PODS
    said = report(
        a_report(third, done=Decimal(90)), a_report(first, done=Decimal(100)), a_report(second)
    )
    assert said.done == 90
    assert [each.replica for each in said.reports] == [0, 1, 2]


def test_workers_of_a_gang_that_is_no_more_are_not_heard() -> None:
    former = {**PODS[0], "metadata": {**PODS[0]["metadata"], "name": "former"}}
    labels = {**PODS[0]["metadata"]["labels"], "plimsoll.dev/revision": "0"}
    former["metadata"]["labels"] = labels
    [job] = seen(GANG, *PODS, former, reports=[a_report(former, done=Decimal(7))]).jobs
    assert job.report is None


def test_a_worker_whose_pod_is_gone_is_not_heard() -> None:
    [job] = seen(GANG, *PODS[1:], reports=[a_report(PODS[0], done=Decimal(7))]).jobs
    assert job.report is None


def test_the_gangs_rate_is_the_median_of_what_its_workers_say() -> None:
    rates = ("3", "100", "2")
    said = [a_report(pod, rate=Decimal(rate)) for pod, rate in zip(PODS, rates, strict=True)]
    assert report(*said).rate == 3


def test_a_rate_that_nobody_reports_is_not_known() -> None:
    assert report(a_report(PODS[0])).rate is None


def test_where_only_worker_0_saves_its_word_counts() -> None:
    assert report(saved(0, 50), a_report(PODS[1])).saved == Saved(Decimal(50), NOW)


def test_a_checkpoint_in_parts_is_whole_when_the_last_part_is_saved() -> None:
    late = saved(1, 50, timedelta(seconds=1))
    assert report(saved(0, 60), late, saved(2, 50, timedelta(seconds=9))).saved == Saved(
        Decimal(50), NOW - timedelta(seconds=1)
    )


def test_without_worker_0_there_is_no_checkpoint() -> None:
    assert report(saved(1, 50), saved(2, 50)).saved is None


def test_who_has_saved_for_a_notice_is_known_by_its_id() -> None:
    said = report(
        a_report(PODS[0], acknowledged="2-1"),
        a_report(PODS[1], acknowledged="1-1"),
        a_report(PODS[2]),
    )
    assert said.acknowledged("2-1") == {"gang-worker-0"}


def test_a_job_is_the_same_until_its_workers_say_something_new() -> None:
    observer = Observer()
    objects = objects_of(GANG, *PODS)

    def job(*reports: WorkerReport) -> object:
        return observer.snapshot(replace(objects, reports=reports), NOW).jobs[0]

    before = job(a_report(PODS[0], at=BEFORE))
    assert job(a_report(PODS[0], at=BEFORE)) is before
    assert job(a_report(PODS[0], at=NOW)) is not before
