from plimsoll_worker.meter import WINDOW_SECONDS, Meter


def metered(*points: tuple[float, float]) -> float | None:
    meter = Meter()
    for now, done in points:
        meter.saw(now, done)
    return meter.rate()


def test_a_rate_is_not_reported_before_there_is_something_to_report() -> None:
    assert metered() is None
    assert metered((0, 0), (4, 400)) is None


def test_a_rate_is_what_was_done_in_the_time() -> None:
    assert metered((100, 10), (103, 13), (110, 40)) == 3


def test_what_is_long_ago_does_not_count() -> None:
    points = [(float(now), now * 1.0) for now in range(50)]
    points += [(50.0 + now, 50 + now * 2.0) for now in range(int(WINDOW_SECONDS) + 2)]
    assert metered(*points) == 2


def test_after_going_back_to_a_checkpoint_measuring_begins_anew() -> None:
    assert metered((0, 100), (10, 200), (20, 150), (30, 160)) == 1
