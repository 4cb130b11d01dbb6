"""Only those pods are ended for a node that a kubelet would have ended long since."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.histories.kubelets import LATE, forgotten
from plimsoll_devcluster.histories.world import World
from plimsoll_devcluster.manifest import Manifest

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG_AGO = "2026-01-01T11:59:00Z"


def a_pod(node: str = "up", **metadata: Any) -> Manifest:  # noqa: ANN401 - fields of metadata
    return {"metadata": {"name": "pod", **metadata}, "spec": {"nodeName": node}}


def a_node(ready: str) -> Manifest:
    return {**fake_node("node"), "status": {"conditions": [{"type": "Ready", "status": ready}]}}


@pytest.mark.parametrize(
    ("pod", "is_ended"),
    [
        (a_pod(deletionTimestamp=LONG_AGO), True),
        (a_pod(), False),
        (a_pod("silent", deletionTimestamp=LONG_AGO), False),
        (a_pod("gone", deletionTimestamp=LONG_AGO), False),
        (a_pod(deletionTimestamp=(NOW - LATE + timedelta(seconds=1)).isoformat()), False),
    ],
    ids=["forgotten", "nobody deletes it", "node is not up", "node is gone", "not late yet"],
)
def test_what_a_kubelet_would_have_ended(pod: Manifest, is_ended: bool) -> None:  # noqa: FBT001 - a case
    world = World({"up": a_node("True"), "silent": a_node("False")}, [pod], [], [])
    assert (forgotten(world, NOW) == [pod]) is is_ended
