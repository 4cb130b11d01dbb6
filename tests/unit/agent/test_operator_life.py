from plimsoll_agent.operator_life import Life, Sightings


def seen(*looks: tuple[str | None, float]) -> Sightings:
    """What an agent that started at 0 has seen: versions of the Lease, and when."""
    sightings = Sightings(since=0)
    for version, at in looks:
        sightings = sightings.next(version, at)
    return sightings


def life(sightings: Sightings, now: float) -> Life:
    return sightings.life(now, timeout_seconds=60)


def test_a_lease_that_was_seen_once_says_nothing() -> None:
    assert life(seen(("1", 5)), 59) is Life.UNKNOWN


def test_a_lease_that_changes_is_a_sign_of_life() -> None:
    assert life(seen(("1", 5), ("2", 10)), 11) is Life.ALIVE


def test_a_lease_that_stands_still_for_the_timeout_is_none_any_more() -> None:
    still = seen(("1", 5), ("2", 10), ("2", 40), ("2", 69))
    assert life(still, 69.9) is Life.ALIVE
    assert life(still, 70) is Life.SILENT


def test_without_any_look_for_the_timeout_the_operator_is_silent() -> None:
    assert life(seen(), 59) is Life.UNKNOWN
    assert life(seen(), 60) is Life.SILENT
    assert life(seen(("1", 5), ("2", 10)), 70) is Life.SILENT


def test_a_silent_operator_lives_again_with_the_next_change() -> None:
    assert life(seen(("1", 5), ("1", 65), ("2", 100)), 100) is Life.ALIVE


def test_a_lease_that_appears_is_a_sign_of_life_and_one_that_goes_is_none() -> None:
    assert life(seen((None, 5), ("1", 10)), 11) is Life.ALIVE
    gone = seen(("1", 5), ("2", 10), (None, 40))
    assert life(gone, 70) is Life.SILENT


def test_a_lease_that_was_made_anew_after_it_was_gone_counts() -> None:
    assert life(seen(("1", 5), (None, 10), ("9", 65)), 66) is Life.ALIVE
