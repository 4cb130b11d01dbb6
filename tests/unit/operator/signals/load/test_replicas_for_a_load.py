"""From a load to the replicas that are wanted for it, by all functions that decide on the way."""

import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from plimsoll.signals.load.foresight.series import STEP_SECONDS, step_of
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW
from support.objects.load_results import a_service
from support.objects.served import LOOK, Served

EACH = 10
"""What a replica carries."""
MOST = 40
MONDAY = NOW.replace(hour=0, minute=0, second=0) - NOW.weekday() * timedelta(days=1)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
STEP = timedelta(seconds=STEP_SECONDS)

Load = Callable[[datetime], float]


def a_served(load: Load | None = None, *, at: datetime = MONDAY, **forecast: object) -> Served:
    """A service with up to 40 replicas, and what Prometheus has of two weeks of this load."""
    spec: Manifest = {"load": {"forecast": forecast}} if forecast else {}
    job = a_service(least=0, **spec)
    [role] = job.spec.roles
    wide = role.model_copy(update={"replicas": role.replicas.model_copy(update={"max": MOST})})
    job = job.model_copy(update={"spec": job.spec.model_copy(update={"roles": (wide,)})})
    served = Served(job, H100, now=at)
    if load is not None:
        steps = [at - n * STEP for n in range(1, 14 * 24 * 30 + 1)]
        served.foresight.fill(served.key, {step_of(each): load(each) for each in steps})
    return served


def noisy(level: float, *, by: float = 0.1) -> Load:
    draw = random.Random(1)
    return lambda _: level * draw.uniform(1 - by, 1 + by)


def by_office_hours(at: datetime) -> float:
    """What comes on working days only, from nine to five."""
    works = at.weekday() < 5 and 9 <= at.hour < 17
    return 200.0 if works else 20.0


def by_the_hour_of_the_day(at: datetime) -> float:
    day = (at - MONDAY) / DAY * 2 * math.pi
    return 100 - 80 * math.cos(day)


def meets(served: Served, load: Load) -> tuple[float, float]:
    """What comes now, and what is there for it, before the next look."""
    now = load(served.now), float(EACH * served.ready)
    served.look(now[0])
    return now


def test_a_leap_that_nothing_announced_is_followed_at_the_next_look() -> None:
    served = a_served(noisy(50))
    before = served.live(noisy(50), HOUR)
    assert max(before) <= 7
    assert served.look(250) >= 25


@pytest.mark.slow
def test_no_forecast_keeps_less_than_what_comes_now() -> None:
    """All that was learned says that nothing comes at night; now something does."""
    night = MONDAY + DAY
    served = a_served(lambda at: 0.0 if at.hour < 6 else 100.0, at=night)
    assert served.live(lambda _: 0.0, HOUR)[-1] == 0
    wanted = served.live(lambda _: 95.0, HOUR)
    assert min(wanted) >= 10


@pytest.mark.slow
def test_a_leap_that_is_over_is_not_kept() -> None:
    served = a_served(noisy(50))
    served.live(noisy(50), HOUR)
    served.live(noisy(250), HOUR / 2)
    served.live(noisy(50), 12 * HOUR)
    assert served.wanted <= 9


@pytest.mark.slow
def test_at_night_a_service_shrinks_and_in_the_morning_it_grows_in_time() -> None:
    served = a_served(by_the_hour_of_the_day, at=MONDAY + 3 * DAY)
    lived = [meets(served, by_the_hour_of_the_day) for _ in range(DAY // LOOK)][10:]
    total = sum(load for load, _ in lived)
    assert sum(max(0.0, load - held) for load, held in lived) <= 0.01 * total
    assert min(held for _, held in lived) <= 4 * EACH
    assert sum(held for _, held in lived) < 1.35 * total


@pytest.mark.slow
@pytest.mark.parametrize(("day", "grows"), [(0, True), (1, True), (5, False), (6, False)])
def test_working_days_are_told_from_weekends(day: int, grows: bool) -> None:  # noqa: FBT001
    served = a_served(by_office_hours, at=MONDAY + day * DAY + 8 * HOUR)
    early = served.live(by_office_hours, HOUR)
    assert (max(early) > 6) == grows


@pytest.mark.slow
def test_on_its_first_day_a_service_follows_what_comes() -> None:
    served, draw = a_served(), random.Random(0)
    for hour in range(24):
        level = 10 + 5 * hour
        wanted = served.live(lambda _, level=level: level * draw.uniform(0.95, 1.05), HOUR)
        assert level * 0.9 <= min(wanted[5:]) * EACH
        assert max(wanted[5:]) * EACH <= 2.0 * level + EACH
    assert served.last is not None
    assert served.last.quantile is not None


@pytest.mark.slow
@pytest.mark.parametrize("gap", [timedelta(minutes=4), HOUR, DAY])
def test_a_gap_in_the_data_changes_nothing(gap: timedelta) -> None:
    load = noisy(100)
    served = a_served(load)
    served.live(load, HOUR)
    before = served.wanted
    assert set(served.live(lambda _: None, gap)) == {before}
    after = served.live(load, HOUR)
    assert 0.8 * before <= min(after)
    assert max(after) <= 1.5 * before + 1


@pytest.mark.slow
def test_a_deploy_that_resets_all_counters_takes_no_replicas_away() -> None:
    """For some minutes only a part of the load is seen, and none at all of some looks."""
    load = noisy(100)
    served = a_served(load)
    served.live(load, HOUR)
    before = served.wanted
    seen = [60.0, None, 20.0, None, 45.0, 80.0]
    during = [served.look(each) for each in seen]
    after = served.live(load, HOUR)
    assert min(during) >= before - 1
    assert min(after) * EACH >= 100


@pytest.mark.slow
def test_a_restart_goes_on_with_the_same_replicas_and_account() -> None:
    load = noisy(100)
    served = a_served(load)
    served.live(load, 3 * HOUR)
    before, written = served.wanted, served.written
    assert written.unserved is not None
    served.restart()
    served.look(100.0)
    assert abs(served.wanted - before) <= 1
    assert served.written.unserved == written.unserved
    assert served.last is not None
    assert served.last.unserved is not None
    assert served.last.unserved.seconds == pytest.approx(written.unserved.seconds, abs=1)


@pytest.mark.slow
def test_the_share_is_kept_over_days_without_much_more_than_that_takes() -> None:
    """Of a noisy daily wave, about the allowed percent stays unserved."""
    draw = random.Random(3)

    def wave(at: datetime) -> float:
        return by_the_hour_of_the_day(at) * math.exp(draw.gauss(0, 0.12))

    served = a_served(wave)
    lived = [meets(served, wave) for _ in range(4 * DAY // LOOK)]
    total = sum(load for load, _ in lived)
    assert 0.002 < sum(max(0.0, load - held) for load, held in lived) / total < 0.015
    assert sum(held for _, held in lived) < 1.4 * total


@pytest.mark.slow
def test_a_fixed_quantile_is_kept() -> None:
    served = a_served(noisy(100), quantile="0.5")
    served.live(noisy(100), HOUR)
    assert served.written.quantile == pytest.approx(0.5)
    assert served.written.unserved is None
    careful = a_served(noisy(100), quantile="0.999")
    careful.live(noisy(100), HOUR)
    assert careful.wanted >= served.wanted


@pytest.mark.slow
def test_a_higher_objective_wants_more() -> None:
    wanted: list[int] = []
    for percent in ("90", "99.9"):
        served = a_served(noisy(100, by=0.4))
        slo = served.job.spec.slo.model_copy(update={"attainment_percent": percent})
        spec = served.job.spec.model_copy(update={"slo": slo})
        served.job = served.job.model_copy(update={"spec": spec})
        wanted.append(served.live(noisy(100, by=0.4), HOUR)[-1])
    assert wanted[0] < wanted[1]
