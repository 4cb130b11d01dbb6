"""A job without an operator, and processes that agree."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import plimsoll_worker
from plimsoll_worker.attaching import place_in
from plimsoll_worker.job import Job
from plimsoll_worker.termination import Termination
from plimsoll_worker.wire import Place

NOWHERE = {
    "PLIMSOLL_JOB": "train",
    "PLIMSOLL_WORKER_URL": "http://127.0.0.1:9",
    "PLIMSOLL_TOKEN_FILE": "/nowhere/token",
}


def test_outside_of_plimsoll_nothing_is_asked_for() -> None:
    with plimsoll_worker.attach(environment={}) as job:
        for step in range(3):
            job.progress(done=step)
            assert not job.should_save
            assert not job.should_stop
        job.saved(3)
        assert job.notice is None


@pytest.mark.slow
def test_an_operator_that_cannot_be_reached_does_not_hold_up_training() -> None:
    begun = time.monotonic()
    with plimsoll_worker.attach(environment=NOWHERE) as job:
        for step in range(10_000):
            job.progress(done=step)
            assert not job.should_stop
        job.saved(10_000)
    assert time.monotonic() - begun < 5


@pytest.mark.slow
def test_what_the_program_raises_goes_on_its_way() -> None:
    with (
        pytest.raises(ZeroDivisionError),
        plimsoll_worker.attach(environment=NOWHERE) as job,
    ):
        job.progress(done=1 / 0)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), "many", object()])
def test_a_number_that_is_none_is_left_out_with_a_warning(
    wrong: float, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        caplog.at_level(logging.WARNING, "plimsoll_worker"),
        plimsoll_worker.attach(environment={}) as job,
    ):
        job.progress(done=wrong)
        job.saved(wrong)
    assert "done is left out" in caplog.text


@pytest.mark.parametrize(
    ("environment", "reports"),
    [
        (NOWHERE, True),
        ({**NOWHERE, "LOCAL_RANK": "0"}, True),
        ({**NOWHERE, "LOCAL_RANK": "1"}, False),
        ({**NOWHERE, "PLIMSOLL_WORKER_URL": ""}, False),
        ({}, False),
    ],
)
def test_of_a_pods_processes_the_first_one_reports(
    environment: dict[str, str], *, reports: bool
) -> None:
    place = Place("train", "http://127.0.0.1:9", "/nowhere/token")
    assert place_in(environment) == (place if reports else None)


def maximum(processes: int) -> Callable[[int], int]:
    """What torch.distributed's all_reduce(MAX) does, between threads."""
    words: list[int] = []
    whole, read = threading.Barrier(processes), threading.Barrier(processes, words.clear)

    def agreed(word: int) -> int:
        words.append(word)
        whole.wait(10)
        most = max(words)
        read.wait(10)
        return most

    return agreed


def test_all_processes_stop_after_the_same_step_when_one_is_told_to() -> None:
    signals = [Termination() for _ in range(3)]
    agree = maximum(len(signals))

    def trained(rank: int) -> tuple[int, list[int]]:
        job = Job(agree=agree, termination=signals[rank])
        saves: list[int] = []
        for step in range(1000):
            if (rank, step) == (1, 20):
                signals[rank].is_asked = True
            job.progress(done=step)
            if job.should_save:
                saves.append(step)
                job.saved(step)
            if job.should_stop:
                return step, saves
        raise AssertionError

    with ThreadPoolExecutor(len(signals)) as pool:
        ends = list(pool.map(trained, range(len(signals))))
    assert ends == [(20, [20])] * 3


def test_a_save_that_is_asked_for_stays_so_until_it_is_done() -> None:
    signal = Termination()
    job = Job(termination=signal)
    signal.is_asked = True
    for _ in range(3):
        job.progress()
        assert job.should_save
    job.saved(1)
    assert not job.should_save
    assert job.should_stop
    job.progress()
    assert not job.should_save, "it is saved for just this"


def test_what_comes_between_two_questions_does_not_part_the_answers() -> None:
    signal = Termination()
    job = Job(termination=signal)
    job.progress()
    assert not job.should_save
    signal.is_asked = True
    assert not job.should_stop, "what it did not save for it does not stop for"


def test_the_batch_is_that_of_the_plan() -> None:
    chosen = {
        "PLIMSOLL_GLOBAL_BATCH": "96",
        "PLIMSOLL_LOCAL_BATCH": "16",
        "PLIMSOLL_ACCUMULATION": "3",
    }
    assert plimsoll_worker.batch(7, environment=chosen) == plimsoll_worker.Batch(16, 3, 96)


def test_where_no_plan_has_chosen_a_batch_it_is_what_the_program_says() -> None:
    assert plimsoll_worker.batch(7, environment={}) == plimsoll_worker.Batch(7, 1, None)
