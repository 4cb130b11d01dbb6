"""The twin's kubelets: they start the pods that are bound, end those that are deleted, and report.

What runs in the pods is given: see `Programs`.
"""

import asyncio
from collections.abc import Mapping
from typing import Protocol

from plimsoll.clock import Clock
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key, timestamp
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.pods import READY, condition, holds, is_deleted, may_serve, report


class Programs(Protocol):
    """What runs in the pods."""

    def start_seconds(self, pod: Raw, /) -> float:
        """How long a pod that is bound takes until it is ready."""
        ...

    def started(self, pod: Raw) -> None:
        """A pod is ready."""
        ...

    def stop_seconds(self, pod: Raw, /) -> float:
        """How long a pod would take to end once it is told to."""
        ...

    def stopped(self, pod: Raw) -> None:
        """A pod has ended, whatever ended it."""
        ...


class Kubelets:
    """Every kubelet of the cluster."""

    def __init__(self, api: ApiServer, clock: Clock, programs: Programs) -> None:
        self._api, self._clock, self._programs = api, clock, programs
        self._running: set[str] = set()
        """The uids of the pods whose containers run."""
        api.listen(self._heard)

    def bound(self, key: Key, pod: Raw) -> None:
        """A pod was bound: start it."""
        uid, seconds = pod["metadata"]["uid"], self._programs.start_seconds(pod)
        asyncio.get_running_loop().call_later(seconds, self._start, key, uid)

    def finish(self, key: Key, *, error: str = "") -> None:
        """Have a pod's containers end by themselves: well, or with an error such as OOMKilled."""
        pod = self._api.read(key)
        end = {
            "exitCode": 1 if error else 0,
            "reason": error or "Completed",
            "finishedAt": timestamp(self._clock),
        }
        phase = "Failed" if error else "Succeeded"
        statuses = _statuses(pod, {"terminated": end}, ready=False)
        report(self._api, key, {"phase": phase, "containerStatuses": statuses})
        self._stopped(pod)

    def _heard(self, change: Change) -> None:
        before, after = change.before, change.after
        if change.key.plural == "nodes" and after is None:
            self._lose(change.key.name)
        if change.key.plural != "pods" or before is None:
            return
        uid = before["metadata"]["uid"]
        if after is None:
            self._stopped(before)
        elif is_deleted(after) and not is_deleted(before):
            grace = float(after["metadata"]["deletionGracePeriodSeconds"])
            seconds = self._programs.stop_seconds(after) if uid in self._running else 0.0
            loop = asyncio.get_running_loop()
            loop.call_later(min(seconds, grace), self._end, change.key, uid)
        elif uid in self._running and holds(after, READY) != may_serve(after):
            self._say_ready(change.key, after)

    def _lose(self, node: str) -> None:
        """With a node goes at once what runs there; its pods are forgotten later."""
        for pod in self._api.all("pods"):
            if pod["spec"].get("nodeName") == node:
                self._stopped(pod)

    def _start(self, key: Key, uid: str) -> None:
        pod = self._api.find(key)
        if pod is None or pod["metadata"]["uid"] != uid or is_deleted(pod):
            return
        if self._api.find(Key("nodes", "", pod["spec"]["nodeName"])) is None:
            return
        at = timestamp(self._clock)
        status = {
            "phase": "Running",
            "startTime": at,
            "containerStatuses": _statuses(pod, {"running": {"startedAt": at}}, ready=True),
            "conditions": [condition("ContainersReady", self._clock)],
        }
        pod = self._say_ready(key, report(self._api, key, status))
        self._running.add(uid)
        self._programs.started(pod)

    def _say_ready(self, key: Key, pod: Raw) -> Raw:
        why_not = "" if may_serve(pod) else "a readiness gate is closed"
        return report(
            self._api, key, {"conditions": [condition(READY, self._clock, why_not=why_not)]}
        )

    def _end(self, key: Key, uid: str) -> None:
        pod = self._api.find(key)
        if pod is not None and pod["metadata"]["uid"] == uid:
            self._api.remove(key)

    def _stopped(self, pod: Raw) -> None:
        uid = pod["metadata"]["uid"]
        if uid in self._running:
            self._running.discard(uid)
            self._programs.stopped(pod)


def _statuses(pod: Raw, state: Mapping[str, object], *, ready: bool) -> list[Raw]:
    return [
        {"name": each["name"], "ready": ready, "state": state} for each in pod["spec"]["containers"]
    ]
