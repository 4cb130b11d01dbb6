from typing import Any

import pytest

from plimsoll_console.history.frames import JobChange, changes_between, moment_of
from plimsoll_devcluster.fake_nodes import fake_node
from support.clusters.held_gpus import holding
from support.clusters.seen import at, seen
from support.objects.job_manifests import a_training_job

NODES = [fake_node("n-0"), fake_node("n-1")]


def changes(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[JobChange]:
    was, then = (seen(*NODES, *each) for each in (before, now))
    moments = [{v.name: moment_of(s, v) for v in s.jobs} for s in (was, then)]
    return list(changes_between(*moments))


def on(*nodes: str) -> list[dict[str, Any]]:
    return holding(at(a_training_job("job", workers=(1, 4)), *nodes))


@pytest.mark.parametrize(
    ("before", "now", "what"),
    [
        ([], on("n-0"), "Starts"),
        (on("n-0"), on("n-0", "n-0"), "Grows"),
        (on("n-0", "n-1"), on("n-0"), "Shrinks"),
        (on("n-0"), on("n-1"), "Moves"),
        (on("n-0"), [a_training_job("job", workers=(1, 4))], "Stops"),
        (on("n-0"), [], "Gone"),
        ([], [a_training_job("job")], "Waits"),
    ],
    ids=["starts", "grows", "shrinks", "moves", "stops", "gone", "waits"],
)
def test_what_changed_is_said_in_a_word(
    before: list[dict[str, Any]], now: list[dict[str, Any]], what: str
) -> None:
    assert [each.what for each in changes(before, now)] == [what]


def test_where_nothing_has_changed_there_is_no_change() -> None:
    assert changes(on("n-0"), on("n-0")) == []
