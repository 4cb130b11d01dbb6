from datetime import timedelta
from typing import Any

import msgspec
import pytest

from plimsoll.kube.objects.objects import Pod
from plimsoll.observe.snapshot import PodWait
from plimsoll.observe.views.pod_starts import has_served, prepared_at, wait_of
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW


def a_pod(**status: Any) -> Pod:  # noqa: ANN401 - fields of a status
    return msgspec.convert({"metadata": {"name": "pod"}, "status": status}, Pod)


def a_wait(name: str, reason: str) -> Manifest:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": "why"}}}


def test_a_container_that_cannot_start_is_named_before_one_that_has_not_yet() -> None:
    pod = a_pod(containerStatuses=[a_wait("a", "ContainerCreating"), a_wait("b", "ErrImagePull")])
    assert wait_of(pod) == PodWait("b", "ErrImagePull", "why", is_error=True)


def test_an_init_container_counts_like_any_other() -> None:
    pod = a_pod(
        initContainerStatuses=[a_wait("fetch", "InvalidImageName")],
        containerStatuses=[a_wait("main", "PodInitializing")],
    )
    assert wait_of(pod) == PodWait("fetch", "InvalidImageName", "why", is_error=True)


def test_one_that_starts_and_ends_again_and_again_could_be_started() -> None:
    found = wait_of(a_pod(containerStatuses=[a_wait("main", "CrashLoopBackOff")]))
    assert found is not None
    assert not found.is_error


def test_nothing_is_said_of_containers_that_run() -> None:
    assert wait_of(a_pod(containerStatuses=[{"name": "main", "state": {}}])) is None


@pytest.mark.parametrize(
    ("status", "seconds", "served"),
    [("True", 0, True), ("False", 1, False), ("False", 600, True)],
)
def test_that_containers_are_not_ready_is_said_again_only_when_they_were(
    status: str, seconds: int, *, served: bool
) -> None:
    since = (NOW + timedelta(seconds=seconds)).isoformat()
    said = {"type": "ContainersReady", "status": status, "lastTransitionTime": since}
    assert has_served(a_pod(startTime=NOW.isoformat(), conditions=[said])) == served


def test_a_pod_of_which_nothing_is_said_has_not_served() -> None:
    assert not has_served(a_pod())


def test_it_is_prepared_when_the_last_of_its_init_containers_is_done() -> None:
    ends = [
        {"name": str(n), "state": {"terminated": {"exitCode": 0, "finishedAt": at.isoformat()}}}
        for n, at in enumerate((NOW, NOW + timedelta(minutes=1)))
    ]
    assert prepared_at(a_pod(initContainerStatuses=ends)) == NOW + timedelta(minutes=1)
    assert prepared_at(a_pod()) is None
