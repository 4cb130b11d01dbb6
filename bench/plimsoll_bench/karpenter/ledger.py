"""What became of NodeClaims and of gangs, from what the API server told of them, and when.

The same books are kept for both sides. Times are seconds of one clock.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from plimsoll_devcluster.manifest import Manifest
from support.objects.karpenter import INSTANCE_TYPE

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Event:
    """A change of an object, as a watch told it."""

    at: float
    kind: str
    """ADDED, MODIFIED or DELETED."""
    object: Manifest


@dataclass(slots=True)
class _Claim:
    began: float
    ended: float | None = None
    dollars_per_hour: float | None = None
    """None while nothing is launched for it."""


class ClaimBook:
    """The NodeClaims; `price` is that of an hour of a launched one, by its labels."""

    def __init__(self, price: Callable[[Mapping[str, str]], float]) -> None:
        self._price = price
        self._claims: dict[str, _Claim] = {}
        self.instance_types: dict[str, str] = {}
        """That of each node, by its name."""

    def see(self, event: Event) -> None:
        """Take in an event."""
        metadata = event.object["metadata"]
        claim = self._claims.setdefault(metadata["uid"], _Claim(event.at))
        if claim.dollars_per_hour is None and _is_launched(event.object):
            claim.dollars_per_hour = self._price(metadata["labels"])
        if node := event.object.get("status", {}).get("nodeName"):
            self.instance_types[node] = metadata["labels"][INSTANCE_TYPE]
        if event.kind == "DELETED":
            claim.ended = event.at

    @property
    def left(self) -> int:
        """How many have not been deleted."""
        return sum(claim.ended is None for claim in self._claims.values())

    @property
    def nodes(self) -> int:
        """How many were launched."""
        return sum(1 for _ in self._bought())

    @property
    def node_seconds(self) -> float:
        """How long those that were launched existed together."""
        return sum(seconds for seconds, _ in self._bought())

    @property
    def dollars(self) -> float:
        """What they cost from creation to deletion."""
        return sum(seconds / HOUR * price for seconds, price in self._bought())

    def _bought(self) -> list[tuple[float, float]]:
        """The seconds and the hourly price of each that was launched, once all are gone."""
        if self.left:
            raise RuntimeError(f"{self.left} NodeClaims are not deleted yet: wait for that first")
        return [
            (claim.ended - claim.began, claim.dollars_per_hour)
            for claim in self._claims.values()
            if claim.ended is not None and claim.dollars_per_hour is not None
        ]


def _is_launched(claim: Manifest) -> bool:
    conditions = claim.get("status", {}).get("conditions", [])
    return any(each["type"] == "Launched" and each["status"] == "True" for each in conditions)


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
