"""What became of a gang's pods, from what the API server told of them, and when.

The same books are kept for all sides of a comparison. Times are seconds of one clock.
"""

from dataclasses import dataclass, field

from plimsoll_devcluster.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an object, as a watch told it."""

    at: float
    kind: str
    """ADDED, MODIFIED or DELETED."""
    object: Manifest


@dataclass(slots=True)
class GangBook:
    """The pods of a gang, from when it was asked for until all have ended with success.

    `started`: when all first ran, and `nodes` where. `used`, `half`: the node-seconds that its pods
    had nodes while all of them had, and while only some had. `longest_half`: the longest time
    without a break that only some had. `restarts`: how often it lost its nodes before its end.
    """

    workers: int
    asked: float
    started: float | None = None
    ended: float | None = None
    used: float = 0.0
    half: float = 0.0
    longest_half: float = 0.0
    restarts: int = 0
    nodes: frozenset[str] = frozenset()
    pods: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    """Those that exist, by uid."""
    _succeeded: set[str] = field(default_factory=set[str])
    _half_since: float | None = None
    _at: float = 0.0

    def see(self, event: Event) -> None:
        """Take in an event of one of its pods."""
        if self.ended is not None:
            return
        before = self.bound
        self._count(event.at)
        uid = event.object["metadata"]["uid"]
        if event.kind == "DELETED":
            self.pods.pop(uid, None)
        else:
            self.pods[uid] = event.object
            if _phase(event.object) == "Succeeded":
                self._succeeded.add(uid)
        if before and not self.bound:
            self.restarts += 1
            self._succeeded.clear()
        self._turn(event.at)

    def half_seconds(self, now: float) -> float:
        """For how long only some of its pods have had nodes without a break."""
        return 0.0 if self._half_since is None else now - self._half_since

    @property
    def bound(self) -> int:
        """How many of its pods have a node."""
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.pods.values())

    @property
    def runs(self) -> bool:
        """Whether all its pods run."""
        phases = [_phase(pod) for pod in self.pods.values()]
        return phases == ["Running"] * self.workers

    def _count(self, now: float) -> None:
        """Count the time since the last event."""
        seconds, self._at = now - self._at, now
        if self.bound >= self.workers:
            self.used += self.bound * seconds
        elif self.bound:
            self.half += self.bound * seconds
            self.longest_half = max(self.longest_half, self.half_seconds(now))

    def _turn(self, now: float) -> None:
        """Note what is new with an event."""
        if not 0 < self.bound < self.workers:
            self._half_since = None
        elif self._half_since is None:
            self._half_since = now
        if self.started is None and self.runs:
            self.started = now
            self.nodes = frozenset(pod["spec"]["nodeName"] for pod in self.pods.values())
        if len(self._succeeded) == self.workers:
            self.ended = now


def _phase(pod: Manifest) -> str:
    return pod.get("status", {}).get("phase", "")
