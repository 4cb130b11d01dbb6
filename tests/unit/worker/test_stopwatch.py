import os
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

import plimsoll_worker
from plimsoll_worker.job import Job
from plimsoll_worker.neighbours import Neighbours, neighbours_in
from plimsoll_worker.stopwatch import WINDOW_SECONDS, StepTime, Stopwatch

SLOW, FAST = StepTime(2.0, 3.0), StepTime(1.0, 3.0)


def timed(*steps: Iterable[float], seconds: float = 10.0) -> StepTime | None:
    """What a step usually is, after steps of so long with such parts of computing."""
    watch, now = Stopwatch(), 0.0
    watch.stepped(now)
    for parts in steps:
        for part in parts:
            watch.computed(part)
        now += seconds
        watch.stepped(now)
    return watch.usual()


def test_a_step_is_reported_once_it_is_known_how_it_usually_is() -> None:
    assert timed((1,), (1,)) is None
    assert timed((1,), (1,), (1,)) == StepTime(1, 10)


def test_one_slow_step_says_nothing() -> None:
    assert timed(*[(1,)] * 4, (9,)) == StepTime(1, 10)


def test_who_stumbles_again_and_again_is_slow() -> None:
    assert timed(*[(1,), (1,), (4,)] * 10, seconds=4) == StepTime(48 / 27, 4)


def test_the_parts_of_a_step_add_up() -> None:
    assert timed(*[(1, 2)] * 3) == StepTime(3, 10)


def test_steps_that_were_not_timed_do_not_count() -> None:
    assert timed((4,), (), (), (4,), (), (4,)) == StepTime(4, 10)
    assert timed(*[()] * 9) is None


def test_what_is_long_ago_does_not_count_for_the_stopwatch() -> None:
    old, new = [(9.0,)] * 20, [(1.0,)] * 5
    assert timed(*old, *new, seconds=WINDOW_SECONDS / 4) == StepTime(1, WINDOW_SECONDS / 4)


def test_no_step_is_shorter_than_its_computing() -> None:
    assert timed(*[(12,)] * 3) == StepTime(12, 12)


def test_a_device_is_waited_for_before_and_after_what_it_computes() -> None:
    done: list[str] = []
    with Job().computing(lambda: done.append("waited")):
        done.append("computed")
    assert done == ["waited", "computed", "waited"]


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_a_time_that_is_none_is_left_out(wrong: float) -> None:
    with plimsoll_worker.attach(environment={}) as job:
        job.computed(wrong)


def test_a_pod_is_as_slow_as_the_slowest_of_its_processes(tmp_path: Path) -> None:
    first, second, third = (Neighbours(tmp_path / "pod", rank) for rank in range(3))
    assert first.slowest(None) is None
    assert first.slowest(FAST) == FAST
    second.share(lambda: SLOW, now=0)
    third.share(lambda: FAST, now=0)
    assert first.slowest(FAST) == SLOW
    assert first.slowest(None) == SLOW


def test_what_a_neighbour_said_long_ago_or_in_part_does_not_count(tmp_path: Path) -> None:
    first, second = (Neighbours(tmp_path, rank) for rank in range(2))
    second.share(lambda: SLOW, now=0)
    (tmp_path / "2.json").write_text("{")
    old = time.time() - WINDOW_SECONDS - 1
    os.utime(tmp_path / "1.json", (old, old))
    assert first.slowest(FAST) == FAST


def test_a_neighbour_shares_every_few_seconds_only(tmp_path: Path) -> None:
    first, second = (Neighbours(tmp_path, rank) for rank in range(2))
    second.share(lambda: None, now=0)
    second.share(lambda: FAST, now=1)
    second.share(lambda: SLOW, now=2)
    assert first.slowest(None) == FAST
    second.share(lambda: SLOW, now=7)
    assert first.slowest(None) == SLOW


def test_a_neighbour_takes_back_what_no_longer_holds(tmp_path: Path) -> None:
    first, second = (Neighbours(tmp_path, rank) for rank in range(2))
    second.forget()
    second.share(lambda: SLOW, now=1)
    second.forget()
    assert first.slowest(None) is None
    second.share(lambda: FAST, now=2)
    assert first.slowest(None) == FAST


def test_a_neighbour_that_cannot_write_trains_on(tmp_path: Path) -> None:
    Neighbours(tmp_path / "not" / "there", 1).share(lambda: SLOW, now=0)


@pytest.mark.parametrize(
    ("environment", "known"),
    [
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "8"}, True),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}, False),
        ({"LOCAL_RANK": "x", "LOCAL_WORLD_SIZE": "2"}, False),
        ({}, False),
    ],
)
def test_a_process_has_neighbours_where_torchrun_says_so(
    environment: dict[str, str], *, known: bool
) -> None:
    assert (neighbours_in(environment) is not None) == known
