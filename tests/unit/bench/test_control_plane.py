"""What the benchmark of the control plane waits for."""

from collections.abc import Iterator
from queue import SimpleQueue
from typing import cast

import pytest

import control_plane
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.manifest import Manifest


class Watched:
    """An API server whose watch reports what a test puts in."""

    def __init__(self) -> None:
        self._events: SimpleQueue[Manifest] = SimpleQueue()

    def watch(self, _path: str) -> Iterator[Manifest]:
        while True:
            yield self._events.get()

    def bound(self, pod: str, event: str = "MODIFIED") -> None:
        item = {"metadata": {"name": pod}, "spec": {"nodeName": "n"}}
        self._events.put({"type": event, "object": item})


def test_late_events_of_pods_that_are_gone_do_not_pass_for_pods_that_are_awaited() -> None:
    api = Watched()
    binding = control_plane.Bindings(cast("ApiServer", api))
    for pod in ("raw-0", "raw-1"):
        api.bound(pod)
    assert binding.wait(["raw-0", "raw-1"], 5).keys() == {"raw-0", "raw-1"}
    for pod in ("raw-0", "raw-1"):
        api.bound(pod, "DELETED")
    api.bound("job-0-worker-0")
    with pytest.raises(TimeoutError, match="2 pods are bound"):
        binding.wait(["job-0-worker-0", "job-1-worker-0"], 0.1)
    api.bound("job-1-worker-0")
    found = binding.wait(["job-0-worker-0", "job-1-worker-0"], 5)
    assert found.keys() == {"job-0-worker-0", "job-1-worker-0"}
