from collections.abc import Mapping
from datetime import timedelta

import pytest

from plimsoll.planning.training.stragglers import FRESH, Pace, paces
from support.clusters.seen import NOW, a_report, at, pods_of
from support.objects.job_manifests import a_training_job

PODS = pods_of(at(a_training_job("gang", workers=8), *["n"] * 8))


def judged(
    *seconds: float | None, ages: Mapping[int, timedelta] | None = None, percent: int = 25
) -> tuple[Pace, ...] | None:
    """The paces of a gang whose workers compute for so long in a step of 2 s; None says nothing."""
    reports = [
        a_report(
            pod,
            at=NOW - (ages or {}).get(replica, timedelta(0)),
            compute_seconds=each,
            step_seconds=2.0,
        )
        for replica, (pod, each) in enumerate(zip(PODS, seconds, strict=False))
    ]
    return paces(reports, NOW, percent)


def slow(*seconds: float | None, percent: int = 25) -> list[int]:
    """Who is a straggler, by replica."""
    found = judged(*seconds, percent=percent)
    assert found is not None
    return [pace.report.replica for pace in found if pace.is_slow]


def test_a_worker_that_computes_for_much_longer_is_a_straggler() -> None:
    assert slow(1.0, 1.01, 1.9, 0.99) == [2]


def test_of_three_the_one_that_differs_is_found() -> None:
    assert slow(1.0, 1.0, 1.5) == [2]


def test_the_slowest_comes_first() -> None:
    assert slow(1.0, 1.0, 1.5, 1.0, 2.0) == [4, 2]


@pytest.mark.parametrize(
    "seconds",
    [
        (1.0, 1.0, 1.0, 1.2),
        (1.0, 0.1, 1.0, 1.0),
        (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6),
        (1.0, 1.0, 2.0, 2.0),
        (1.0, 2.0, 3.0),
    ],
    ids=["a little slower", "one is faster", "all differ", "two halves", "three that differ"],
)
def test_that_is_no_straggler(seconds: tuple[float, ...]) -> None:
    assert slow(*seconds) == []


def test_how_much_slower_is_for_the_policy_to_say() -> None:
    gang = (1.0, 1.0, 1.0, 1.4)
    assert slow(*gang, percent=30) == [3]
    assert slow(*gang, percent=50) == []


@pytest.mark.parametrize(
    "seconds",
    [(1.0, 5.0), (1.0, 5.0, None), (1.0, 5.0, 0.0), (1.0, 5.0, float("inf")), (1.0, 5.0, 1e300)],
    ids=["two", "two that say it", "nothing", "for ever", "absurd"],
)
def test_too_few_cannot_be_judged(seconds: tuple[float | None, ...]) -> None:
    assert judged(*seconds) is None


def test_what_was_said_long_ago_does_not_count() -> None:
    old = {2: FRESH + timedelta(seconds=1)}
    assert judged(1.0, 1.0, 5.0, ages=old) is None
    found = judged(1.0, 1.0, 5.0, 1.0, ages=old)
    assert found is not None
    assert not any(pace.is_slow for pace in found)


def test_what_the_gang_loses_is_the_time_it_waits_for_the_straggler() -> None:
    found = judged(0.8, 1.0, 0.9, 0.9, 1.5)
    assert found is not None
    assert [(pace.report.replica, pace.lost, pace.percent) for pace in found[:2]] == [
        (4, 0.25, 67),
        (1, 0.0, 11),
    ]
