from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from plimsoll.workers.registry import FORGOTTEN, Registry
from support.clusters.seen import NOW, a_report, at, pods_of
from support.objects.job_manifests import a_training_job

[POD] = pods_of(at(a_training_job("train"), "n-0"))
FIRST = a_report(POD, done=Decimal(1))
SECOND = timedelta(seconds=1)


def test_the_first_word_of_a_worker_is_news_and_mere_progress_is_not() -> None:
    registry = Registry()
    assert registry.take(FIRST)
    assert not registry.take(replace(FIRST, at=NOW + SECOND, done=Decimal(2)))
    assert registry.current(NOW) == (replace(FIRST, at=NOW + SECOND, done=Decimal(2)),)


def test_a_save_and_a_notice_heeded_are_news_once() -> None:
    registry = Registry()
    registry.take(FIRST)
    saved = replace(FIRST, saved=Decimal(1), saved_at=NOW)
    assert registry.take(saved)
    assert not registry.take(saved)
    heeded = replace(saved, acknowledged="2-1")
    assert registry.take(heeded)
    assert not registry.take(heeded)


def test_the_time_of_a_save_does_not_waver_with_each_report() -> None:
    registry = Registry()
    registry.take(replace(FIRST, saved=Decimal(1), saved_at=NOW))
    assert not registry.take(replace(FIRST, saved=Decimal(1), saved_at=NOW + SECOND))
    [kept] = registry.current(NOW)
    assert kept.saved_at == NOW


def test_the_same_work_saved_once_more_is_a_new_checkpoint() -> None:
    registry = Registry()
    registry.take(replace(FIRST, saved=Decimal(1), saved_at=NOW))
    assert registry.take(replace(FIRST, saved=Decimal(1), saved_at=NOW + timedelta(minutes=1)))


def test_a_worker_that_falls_silent_is_forgotten() -> None:
    registry = Registry()
    registry.take(FIRST)
    assert registry.current(NOW + FORGOTTEN)
    assert not registry.current(NOW + FORGOTTEN + SECOND)
    assert registry.of(FIRST.pod_uid) is None


def test_many_workers_report_less_often_each() -> None:
    registry = Registry()
    registry.take(FIRST)
    few = registry.report_seconds
    for number in range(10_000):
        registry.take(replace(FIRST, pod_uid=str(number)))
    assert few == 15
    assert registry.report_seconds == 10_001 / 200
