"""What the benchmark of adopted Jobs refuses to take for a result."""

from collections.abc import Callable
from typing import Any, cast

import pytest

import adoption
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest


def a_pod(job: str, node: str) -> Manifest:
    spec = {"nodeName": node} if node else {}
    return {"metadata": {"labels": {adoption.JOB_NAME: job}}, "spec": spec}


def a_stand_in(*nodes: str) -> Manifest:
    return {"status": {"placement": {"assignments": [{"nodes": [node]} for node in nodes]}}}


class Lists:
    """An API server that lists just these."""

    def __init__(self, *items: Manifest) -> None:
        self._items = [*items]

    def items(self, _path: str) -> list[Manifest]:
        return self._items


@pytest.mark.parametrize(
    "pods",
    [
        [a_pod("a", "n")],
        [a_pod("a", "n"), a_pod("b", "n"), a_pod("b", "n")],
        [a_pod("a", "n"), a_pod("b", "n"), a_pod("", "n")],
    ],
)
def test_each_job_has_just_one_pod(pods: list[Manifest]) -> None:
    with pytest.raises(adoption.WrongPlacesError, match="not just one pod"):
        adoption.pods_of(cast("ApiServer", Lists(*pods)), ["a", "b"])


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (lambda: adoption.require_room({"a": a_pod("a", "")}, 1), "''"),
        (lambda: adoption.require_room(dict.fromkeys("ab", a_pod("a", "n")), 1), "'n'"),
        (
            lambda: adoption.require_planned_places(
                {"a": a_pod("a", "n")}, {"job-a": a_stand_in("m")}
            ),
            r"on n, planned on \['m'\]",
        ),
        (lambda: adoption.require_planned_places({"a": a_pod("a", "n")}, {}), "planned on"),
    ],
)
def test_a_pod_in_a_wrong_place_is_no_result(check: Callable[[], Any], said: str) -> None:
    with pytest.raises(adoption.WrongPlacesError, match=said):
        check()


def test_pods_in_their_places_are_one() -> None:
    pods = {"a": a_pod("a", "n"), "b": a_pod("b", "n")}
    adoption.require_room(pods, 2)
    adoption.require_planned_places(pods, {"job-a": a_stand_in("n"), "job-b": a_stand_in("n")})
    assert adoption.pods_of(cast("ApiServer", Lists(*pods.values())), ["a", "b"]) == pods
