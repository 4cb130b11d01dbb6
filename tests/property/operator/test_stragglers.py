"""Noise makes nobody a straggler, and what is slow is found whatever the others' noise."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from plimsoll.api.parts.stragglers import SlowWorker
from plimsoll.api.placement_policy import Stragglers
from plimsoll.planning.training.stragglers import paces, sentence
from support.clusters.seen import NOW, a_report, at, pods_of
from support.objects.job_manifests import a_training_job

NOISE = 0.1
PERCENT = Stragglers().slower_percent
PODS = pods_of(at(a_training_job("gang", workers=64), *["n"] * 64))

usual = st.floats(1e-4, 1e4)
gangs = st.lists(st.floats(1 - NOISE, 1 + NOISE), min_size=3, max_size=64)


def stragglers(seconds: list[float]) -> list[int]:
    reports = [
        a_report(pod, compute_seconds=each) for pod, each in zip(PODS, seconds, strict=False)
    ]
    found = paces(reports, NOW, PERCENT)
    assert found is not None
    return [pace.report.replica for pace in found if pace.is_slow]


@given(usual, gangs)
def test_a_gang_of_equal_workers_never_has_a_straggler(unit: float, noise: list[float]) -> None:
    """With up to 10 % of noise either way."""
    assert stragglers([unit * each for each in noise]) == []


@given(usual, gangs, st.data())
def test_one_that_takes_thrice_as_long_is_found_alone(
    unit: float, noise: list[float], data: st.DataObject
) -> None:
    slow = data.draw(st.integers(0, len(noise) - 1))
    seconds = [unit * each * (3 if i == slow else 1) for i, each in enumerate(noise)]
    assert stragglers(seconds) == [slow]


@given(gangs, st.floats(1.0, 100.0), st.data())
def test_fewer_than_half_are_ever_found(
    noise: list[float], factor: float, data: st.DataObject
) -> None:
    slower = data.draw(st.sets(st.integers(0, len(noise) - 1)))
    seconds = [each * (factor if i in slower else 1) for i, each in enumerate(noise)]
    assert 2 * len(stragglers(seconds)) < len(seconds)


@given(st.lists(st.floats(0, allow_infinity=True), min_size=3, max_size=8))
def test_whatever_workers_say_of_their_steps_can_be_reported(seconds: list[float]) -> None:
    reports = [a_report(pod, compute_seconds=s) for pod, s in zip(PODS, seconds, strict=False)]
    for pace in paces(reports, NOW, PERCENT) or ():
        slow = SlowWorker(
            replica=pace.report.replica,
            node="n",
            since=NOW,
            compute_seconds=round(Decimal(repr(pace.seconds)), 6),
            gang_seconds=round(Decimal(repr(pace.gang_seconds)), 6),
            lost_percent=int(100 * pace.lost),
        )
        assert pace.percent >= -100
        assert "% longer than the median of its gang" in sentence(slow)
