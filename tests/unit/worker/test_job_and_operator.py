"""The helper and the endpoint, talking over loopback."""

import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest

import plimsoll_worker
from plimsoll.api.parts.batch import PlacedBatch
from plimsoll_devcluster.waiting import wait_until
from plimsoll_worker import STOPPED, Batch, Job
from support.clusters.seen import at
from support.objects.job_manifests import a_training_job
from support.servers.worker_endpoint import WorkerEndpoint, a_notice

JOB = at(a_training_job("train", workers=2), "n-0", "n-0")
ROOT = Path(__file__).parents[3]
SECONDS = 20
PROGRAM = """
import plimsoll_worker

with plimsoll_worker.attach() as job:
    print("begun", flush=True)
    for step in range(10**9):
        job.progress(done=step)
        if job.should_save:
            job.saved(step)
            print("saved", flush=True)
        if job.should_stop:
            break
print("finished", flush=True)
"""


@pytest.fixture
def endpoint() -> Iterator[WorkerEndpoint]:
    with WorkerEndpoint(JOB).served() as served:
        yield served


def environment(endpoint: WorkerEndpoint, folder: Path, replica: int = 0) -> dict[str, str]:
    token = folder / f"token-{replica}"
    token.write_text(endpoint.token(replica) + "\n")
    return {
        "PLIMSOLL_JOB": "train",
        "PLIMSOLL_WORKER_URL": endpoint.url,
        "PLIMSOLL_TOKEN_FILE": str(token),
    }


def attached(endpoint: WorkerEndpoint, folder: Path, replica: int = 0) -> Job:
    return plimsoll_worker.attach(environment=environment(endpoint, folder, replica))


def heard(endpoint: WorkerEndpoint, replica: int = 0) -> None:
    wait_until(lambda: endpoint.said(replica), timeout_seconds=SECONDS, what="a report comes")


def acknowledged(endpoint: WorkerEndpoint, replica: int = 0) -> None:
    wait_until(
        lambda: (said := endpoint.said(replica)) and said.acknowledged == "1-1",
        timeout_seconds=SECONDS,
        what="it says that it has saved for the notice",
    )


def saves(job: Job) -> bool:
    job.progress()
    return job.should_save


def test_a_worker_is_heard_of_at_once_and_what_it_saves_too(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    with attached(endpoint, tmp_path) as job:
        heard(endpoint)
        job.progress(done=12, rate=3.5, efficiency=0.9, gradient_noise=2048)
        job.saved(10)
        wait_until(
            lambda: (said := endpoint.said()) and said.saved == 10,
            timeout_seconds=SECONDS,
            what="the save is reported",
        )
        said = endpoint.said()
        assert said is not None
        assert (said.done, said.rate) == (12, Decimal("3.5"))
        assert (said.efficiency, said.gradient_noise) == (0.9, 2048)


def computed(job: Job, seconds: float, steps: int = 4) -> None:
    """Do some steps, in each of which so long is computed."""
    for step in range(steps):
        job.computed(seconds)
        job.progress(done=step)


def test_how_long_a_step_is_computed_is_reported(endpoint: WorkerEndpoint, tmp_path: Path) -> None:
    with attached(endpoint, tmp_path) as job:
        computed(job, 40.0)
    said = endpoint.said()
    assert said is not None
    assert (said.compute_seconds, said.step_seconds) == (40, 40)


def test_a_worker_that_times_nothing_says_nothing_of_it(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    with attached(endpoint, tmp_path) as job:
        for step in range(9):
            job.progress(done=step)
    said = endpoint.said()
    assert said is not None
    assert (said.done, said.compute_seconds, said.step_seconds) == (8, None, None)


def test_a_slow_process_of_a_pod_that_does_not_report_is_reported(
    endpoint: WorkerEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = {**environment(endpoint, tmp_path), "LOCAL_WORLD_SIZE": "2"}
    second = plimsoll_worker.attach(environment={**place, "LOCAL_RANK": "1"})
    computed(second, 70.0)
    with plimsoll_worker.attach(environment={**place, "LOCAL_RANK": "0"}) as first:
        computed(first, 40.0)
    said = endpoint.said()
    assert said is not None
    assert said.compute_seconds == 70


def trains_with(job: Job, size: int) -> bool:
    job.progress()
    return job.batch.size == size


def test_the_batch_changes_while_a_program_trains(endpoint: WorkerEndpoint, tmp_path: Path) -> None:
    """The second process of the pod hears of it from the first one alone."""
    place = {**environment(endpoint, tmp_path), "LOCAL_WORLD_SIZE": "2"}
    begins_with, words = Batch(16, 1, 64), list[int]()

    def agree(word: int) -> int:
        words.append(word)
        return word

    def follow(_: int) -> int:
        return words.pop(0)

    processes = [
        plimsoll_worker.attach(
            agree=how, batch=begins_with, environment={**place, "LOCAL_RANK": rank}
        )
        for rank, how in (("0", agree), ("1", follow))
    ]
    endpoint.change_batch(PlacedBatch(size=256, local=32, accumulation=2))
    with processes[0] as first, processes[1] as second:
        wait_until(
            lambda: trains_with(first, 256) and trains_with(second, 256),
            timeout_seconds=SECONDS,
            what="both have the batch",
        )
        assert first.batch == second.batch == Batch(32, 2, 256)
        wait_until(
            lambda: (said := endpoint.said()) and said.batch == 256,
            timeout_seconds=SECONDS,
            what="it says so",
        )


def test_what_was_measured_with_another_batch_is_forgotten(
    endpoint: WorkerEndpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = {**environment(endpoint, tmp_path), "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"}
    with plimsoll_worker.attach(batch=Batch(16, 1, 32), environment=place) as job:
        computed(job, 40.0)
        job.progress(rate=9.0)
        heard(endpoint)
        endpoint.change_batch(PlacedBatch(size=64, local=32, accumulation=1))
        job.saved(1)  # is reported at once, and answered
        wait_until(lambda: trains_with(job, 64), timeout_seconds=SECONDS, what="it changes")
    said = endpoint.said()
    assert said is not None
    assert (said.rate, said.compute_seconds) == (None, None)


def test_a_program_that_keeps_its_batch_has_none_to_ask_for() -> None:
    with pytest.raises(ValueError, match="attach"):
        _ = Job().batch


def test_the_last_word_of_a_worker_that_is_done_is_heard(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    with attached(endpoint, tmp_path) as job:
        heard(endpoint)
        job.progress(done=99)
    said = endpoint.said()
    assert said is not None
    assert said.done == 99


def test_a_last_word_that_is_refused_at_first_is_said_again(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    place = environment(endpoint, tmp_path)
    token = Path(place["PLIMSOLL_TOKEN_FILE"])
    good = token.read_text()
    expired = good.strip() + "-no-more"

    def renew() -> None:
        wait_until(lambda: expired in endpoint.reviews, timeout_seconds=SECONDS, what="it asks")
        token.write_text(good)

    with ThreadPoolExecutor() as pool:
        with plimsoll_worker.attach(environment=place) as job:
            heard(endpoint)
            token.write_text(expired)
            renewing = pool.submit(renew)
            job.progress(done=99)
        renewing.result()
    said = endpoint.said()
    assert said is not None
    assert said.done == 99


def test_a_worker_saves_for_a_notice_says_so_and_stops(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    job = attached(endpoint, tmp_path)

    def work() -> None:
        with job:
            heard(endpoint)
            endpoint.notify(a_notice("1-1"))
            wait_until(lambda: saves(job), timeout_seconds=SECONDS, what="it is to save")
            assert job.notice is not None
            assert (job.notice.id, job.notice.reason) == ("1-1", "Preempted")
            assert 0 < job.notice.seconds_left <= 60
            job.saved(7)
            assert job.should_stop
            acknowledged(endpoint)
            endpoint.notify(None)

    with pytest.raises(SystemExit) as end:
        work()
    assert end.value.code == STOPPED, "or the job would count as complete"


def test_a_notice_that_is_taken_back_stops_nobody(endpoint: WorkerEndpoint, tmp_path: Path) -> None:
    with attached(endpoint, tmp_path) as job:
        endpoint.notify(a_notice("1-1"))
        wait_until(lambda: saves(job), timeout_seconds=SECONDS, what="it is to save")
        job.saved(7)
        endpoint.notify(None)
        wait_until(lambda: job.notice is None, timeout_seconds=SECONDS, what="it is taken back")
        job.progress(done=8)
        assert not job.should_stop
        endpoint.notify(a_notice("1-2"))
        wait_until(lambda: saves(job), timeout_seconds=SECONDS, what="the next one counts")


@pytest.mark.slow
def test_a_worker_that_saves_nothing_itself_acknowledges_when_it_stops(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    endpoint.notify(a_notice("1-1"))

    def work() -> None:
        with attached(endpoint, tmp_path, replica=1) as job:
            wait_until(lambda: saves(job), timeout_seconds=SECONDS, what="it is to save")
            assert job.should_stop

    with ThreadPoolExecutor() as pool:
        working = pool.submit(work)
        acknowledged(endpoint, replica=1)
        assert not working.done()
        endpoint.notify(None)
        assert isinstance(working.exception(timeout=SECONDS), SystemExit)


@pytest.mark.slow
def test_a_job_is_asked_to_save_as_often_as_its_interval_says(tmp_path: Path) -> None:
    spec = a_training_job("train", checkpoint={"interval": "100ms"})
    with WorkerEndpoint(at(spec, "n-0")).served() as endpoint, attached(endpoint, tmp_path) as job:
        for step in range(3):
            wait_until(lambda: saves(job), timeout_seconds=SECONDS, what="it is time to save")
            assert not job.should_stop
            job.saved(step)
            assert not job.should_save


def test_a_worker_finds_the_leader_again(endpoint: WorkerEndpoint, tmp_path: Path) -> None:
    endpoint.is_leading = False
    with attached(endpoint, tmp_path) as job:
        job.progress(done=5)
        endpoint.is_leading = True
        heard(endpoint)


@pytest.mark.slow
def test_an_operator_that_comes_back_gets_every_report_anew(tmp_path: Path) -> None:
    first = WorkerEndpoint(JOB)
    with first.served():
        job = attached(first, tmp_path)
        job.__enter__()
        job.progress(done=5)
        job.saved(4)
        wait_until(
            lambda: (said := first.said()) and said.saved == 4,
            timeout_seconds=SECONDS,
            what="the first one hears it",
        )
    second = WorkerEndpoint(JOB)
    with second.served(first.port):
        job.saved(4)
        heard(second)
        said = second.said()
        assert said is not None
        assert (said.done, said.saved) == (5, 4)
        job.__exit__(None, None, None)


def test_a_token_that_is_renewed_is_used_at_once(endpoint: WorkerEndpoint, tmp_path: Path) -> None:
    place = environment(endpoint, tmp_path)
    token = Path(place["PLIMSOLL_TOKEN_FILE"])
    good = token.read_text()
    expired = good.strip() + "-no-more"
    token.write_text(expired)
    with plimsoll_worker.attach(environment=place) as job:
        wait_until(lambda: expired in endpoint.reviews, timeout_seconds=SECONDS, what="it asks")
        token.write_text(good)
        job.saved(1)
        heard(endpoint)


def started(place: dict[str, str]) -> "subprocess.Popen[str]":
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)],
        env={"PYTHONPATH": str(ROOT / "worker"), **place},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "begun\n"
    return program


def test_sigterm_makes_a_program_save_and_stop_without_looking_finished() -> None:
    program = started({})
    program.send_signal(signal.SIGTERM)
    said, _ = program.communicate(timeout=SECONDS)
    assert said == "saved\n"
    assert program.returncode == STOPPED


def test_a_program_that_stopped_for_a_notice_waits_to_be_ended(
    endpoint: WorkerEndpoint, tmp_path: Path
) -> None:
    program = started(environment(endpoint, tmp_path))
    endpoint.notify(a_notice("1-1"))
    acknowledged(endpoint)
    assert program.poll() is None, "a program that ends by itself looks as if it had failed"
    begun = time.monotonic()
    program.send_signal(signal.SIGTERM)
    assert program.wait(timeout=SECONDS) == STOPPED
    assert time.monotonic() - begun < 5
