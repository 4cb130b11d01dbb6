import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import msgspec
import pytest
import urllib3

from plimsoll.kube.objects.objects import ObjectMeta
from plimsoll_devcluster.waiting import wait_until
from support.clusters.seen import at
from support.objects.job_manifests import a_training_job
from support.servers.worker_endpoint import WorkerEndpoint, a_notice

HTTP = urllib3.PoolManager(retries=False, timeout=30)


@pytest.fixture
def endpoint() -> Iterator[WorkerEndpoint]:
    with WorkerEndpoint(at(a_training_job("train", workers=2), "n-0", "n-0")).served() as served:
        yield served


def ask(
    endpoint: WorkerEndpoint, path: str, body: object = None, *, token: str | None = None
) -> urllib3.BaseHTTPResponse:
    bearer = endpoint.token() if token is None else token
    return HTTP.request(
        "GET" if body is None else "POST",
        f"{endpoint.url}{path}",
        body=body if isinstance(body, bytes) or body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {bearer}"} if bearer else {},
    )


def report(endpoint: WorkerEndpoint, **said: Any) -> urllib3.BaseHTTPResponse:  # noqa: ANN401
    return ask(endpoint, "/v1/report", {"job": "train", **said})


def test_where_spot_is_often_taken_back_workers_are_to_save_more_often(
    endpoint: WorkerEndpoint,
) -> None:
    endpoint.interruptions_per_hour = {"": Decimal(2)}
    often = report(endpoint, done=7).json()["checkpointIntervalSeconds"]
    assert 60 <= often < 600


def test_a_report_is_kept_in_its_pods_place_and_answered_with_instructions(
    endpoint: WorkerEndpoint,
) -> None:
    answer = report(endpoint, done=7, rate=0.5, saved=6, savedSecondsAgo=30)
    assert answer.status == 200
    assert answer.json() == {
        "save": False,
        "stop": False,
        "notice": None,
        "checkpointIntervalSeconds": 600.0,
        "reportIntervalSeconds": 15.0,
        "batch": None,
    }
    kept = endpoint.said()
    assert kept is not None
    assert (kept.pod, kept.replica, kept.revision) == ("train-worker-0", 0, 1)
    assert (kept.done, kept.rate, kept.saved) == (7, Decimal("0.5"), 6)
    assert kept.saved_at is not None
    assert 29 < (kept.at - kept.saved_at).total_seconds() < 31


def test_only_news_wakes_the_operator(endpoint: WorkerEndpoint) -> None:
    report(endpoint, done=1)
    report(endpoint, done=2)
    assert endpoint.wakes == 1
    report(endpoint, done=2, saved=2, savedSecondsAgo=0)
    assert endpoint.wakes == 2


def test_a_worker_speaks_for_itself_only(endpoint: WorkerEndpoint) -> None:
    ask(endpoint, "/v1/report", {"job": "train", "done": 9}, token=endpoint.token(1))
    assert endpoint.said(0) is None
    answer = ask(endpoint, "/v1/report", {"job": "another"})
    assert answer.status == 403
    assert "works for train" in answer.json()["error"]


@pytest.mark.parametrize("path", ["/v1/report", "/v1/notice"])
@pytest.mark.parametrize("token", ["", "forged", "x" * 20_000])
def test_nobody_is_heard_without_a_good_token(
    endpoint: WorkerEndpoint, path: str, token: str
) -> None:
    body = {"job": "train"} if path == "/v1/report" else None
    assert ask(endpoint, path, body, token=token).status in (400, 401)
    assert endpoint.said() is None


def test_a_pod_that_is_gone_or_another_by_now_is_no_worker(endpoint: WorkerEndpoint) -> None:
    pod = endpoint.pods.pop("train-worker-0")
    assert report(endpoint).status == 403
    other = msgspec.structs.replace(pod.metadata, uid="another")
    endpoint.pods["train-worker-0"] = msgspec.structs.replace(pod, metadata=other)
    assert report(endpoint).status == 403


def test_a_pod_that_only_bears_the_jobs_labels_is_no_worker(endpoint: WorkerEndpoint) -> None:
    pod = endpoint.pods["train-worker-0"]
    orphan: ObjectMeta = msgspec.structs.replace(pod.metadata, owner_references=())
    endpoint.pods["train-worker-0"] = msgspec.structs.replace(pod, metadata=orphan)
    assert report(endpoint).status == 403


def test_what_is_wrong_is_named(endpoint: WorkerEndpoint) -> None:
    answer = report(endpoint, done="many")
    assert answer.status == 400
    assert "done" in answer.json()["error"]
    answer = ask(endpoint, "/v1/notice?wait=long")
    assert answer.status == 400
    assert "wait" in answer.json()["error"]


def test_a_report_has_its_bounds(endpoint: WorkerEndpoint) -> None:
    assert ask(endpoint, "/v1/report", b"[" + b"0," * 4096).status == 413


def test_a_replica_that_does_not_lead_sends_workers_on(endpoint: WorkerEndpoint) -> None:
    endpoint.is_leading = False
    answer = report(endpoint)
    assert answer.status == 503
    assert answer.headers["Connection"] == "close"
    assert not endpoint.reviews, "nor does it ask about tokens"


def test_who_waits_hears_of_a_notice_as_soon_as_it_is_there(endpoint: WorkerEndpoint) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(ask, endpoint, "/v1/notice?wait=30")
        wait_until(lambda: endpoint.reviews, timeout_seconds=10, what="it asks")
        assert not waiting.done()
        begun = time.monotonic()
        endpoint.notify(a_notice("1-1"))
        said = waiting.result(timeout=10).json()
    assert time.monotonic() - begun < 5
    assert (said["save"], said["stop"], said["notice"]["id"]) == (True, True, "1-1")


def test_who_knows_a_notice_hears_that_it_is_taken_back(endpoint: WorkerEndpoint) -> None:
    endpoint.notify(a_notice("1-1"))
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(ask, endpoint, "/v1/notice?wait=30&known=1-1")
        wait_until(lambda: endpoint.reviews, timeout_seconds=10, what="it asks")
        endpoint.notify(None)
        assert waiting.result(timeout=10).json()["notice"] is None


def test_who_waits_in_vain_is_answered_in_time(endpoint: WorkerEndpoint) -> None:
    answer = ask(endpoint, "/v1/notice?wait=0.1")
    assert answer.status == 200
    assert answer.json()["notice"] is None


def test_who_waits_is_sent_on_when_the_lease_is_lost(endpoint: WorkerEndpoint) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(ask, endpoint, "/v1/notice?wait=30")
        wait_until(lambda: endpoint.reviews, timeout_seconds=10, what="it asks")
        endpoint.is_leading = False
        assert waiting.result(timeout=10).status == 503


def test_who_has_saved_is_not_asked_to_save_again(endpoint: WorkerEndpoint) -> None:
    endpoint.notify(a_notice("1-1"))
    assert report(endpoint).json()["save"]
    said = report(endpoint, saved=3, savedSecondsAgo=0, acknowledged="1-1").json()
    assert (said["save"], said["stop"]) == (False, True)
