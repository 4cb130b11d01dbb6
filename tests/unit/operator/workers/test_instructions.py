from datetime import timedelta
from typing import Any

from plimsoll.workers.instructions import instructions
from plimsoll.workers.membership import Worker
from plimsoll.workers.messages import BatchMessage, Instructions
from support.clusters.seen import NOW, at, seen
from support.objects.job_manifests import a_training_job


def given(acknowledged: str = "", **status: Any) -> Instructions:  # noqa: ANN401 - fields of a status
    job = at(a_training_job("train", checkpoint={"interval": "5m"}), "n-0", **status)
    [view] = seen(job).jobs
    assert view.training is not None
    worker = Worker("train-worker-0", "uid", 0, 1, view.training)
    return instructions(worker, acknowledged, NOW, save_seconds=300, report_seconds=15)


NOTICE = {
    "id": "2-1",
    "reason": "Preempted",
    "message": "for others",
    "sentTime": NOW.isoformat(),
    "deadline": (NOW + timedelta(seconds=90)).isoformat(),
    "revision": 1,
}


def test_without_a_notice_a_worker_goes_on() -> None:
    said = given()
    assert (said.save, said.stop, said.notice) == (False, False, None)
    assert (said.checkpoint_interval_seconds, said.report_interval_seconds) == (300, 15)


def test_a_notice_says_save_and_stop_why_and_how_long_there_is() -> None:
    said = given(notice=NOTICE)
    assert (said.save, said.stop) == (True, True)
    assert said.notice is not None
    assert (said.notice.id, said.notice.reason, said.notice.seconds_left) == (
        "2-1",
        "Preempted",
        90,
    )


def test_who_has_saved_for_it_need_not_save_again() -> None:
    assert not given("2-1", notice=NOTICE).save
    assert given("2-1", notice=NOTICE).stop
    assert given("1-1", notice=NOTICE).save


def test_a_deadline_that_has_passed_leaves_no_time() -> None:
    late = {**NOTICE, "deadline": (NOW - timedelta(seconds=1)).isoformat()}
    said = given(notice=late)
    assert said.notice is not None
    assert said.notice.seconds_left == 0


def test_a_worker_hears_the_batch_of_its_own_gang_alone() -> None:
    job = at(a_training_job("train"), "n-0")
    job["status"]["placement"]["batch"] = {"size": 512, "local": 64, "accumulation": 4}
    [view] = seen(job).jobs
    assert view.training is not None
    said = [
        instructions(
            Worker("train-worker-0", "uid", 0, revision, view.training),
            "",
            NOW,
            save_seconds=300,
            report_seconds=15,
        ).batch
        for revision in (1, 0)
    ]
    assert said == [BatchMessage(512, 64, 4), None]
