"""The twin's cloud, and Karpenter before it: it launches NodeClaims, boots their nodes, takes them.

A NodeClaim that belongs to no NodePool is launched on the cheapest offering that meets what it
requires and has a node left; if none has, it is deleted. A deleted one is drained first. A node is
paid for from its launch until it is gone.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from plimsoll.clock import Clock
from plimsoll_simulator.cluster.api_server import ApiServer, Change, Key
from plimsoll_simulator.cluster.nodes import give_notice, gpu_node
from plimsoll_simulator.cluster.patches import Raw, merged
from plimsoll_simulator.cluster.pods import condition, is_over, key_of, report

CLAIMS: Final = "nodeclaims"
NODE_POOL: Final = "karpenter.sh/nodepool"
TERMINATION: Final = "karpenter.sh/termination"
DISRUPTED: Final = {"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}
LAUNCH_SECONDS: Final = 3.0
"""How long the cloud takes to launch a node, or to refuse it."""
LOOK_SECONDS: Final = 5.0
"""How often it is looked whether a node that is drained is empty."""
NOTICE_SECONDS: Final = 120.0
"""How long before it goes a spot node says so."""


@dataclass(frozen=True, slots=True)
class Offering:
    """Nodes of a kind that a cloud rents out: `labels` are what NodeClaims can require."""

    name: str
    labels: Mapping[str, str]
    gpu_type: str
    gpus: int
    dollars_per_hour: float
    boot_seconds: float


@dataclass(slots=True)
class Rental:
    """A node while it is paid for: `ready` is since when pods can run there, None if never."""

    offering: Offering
    claim: str
    begins: float
    ready: float | None = None
    ends: float | None = None

    def dollars(self, until: float) -> float:
        """What it has cost up to a time."""
        ends = until if self.ends is None else self.ends
        return self.offering.dollars_per_hour * (ends - self.begins) / 3600


@dataclass(slots=True)
class _Market:
    """How many nodes of an offering can be had at once now."""

    offering: Offering
    most: int


@dataclass(slots=True)
class Provider:
    """All clouds of the cluster, and Karpenter's controllers of NodeClaims."""

    _api: ApiServer
    _clock: Clock
    _markets: dict[str, _Market] = field(default_factory=dict[str, _Market])
    _rentals: dict[str, Rental] = field(default_factory=dict[str, Rental])
    """Those that are paid for, by the uid of their NodeClaim."""
    _over: list[Rental] = field(default_factory=list[Rental])

    def __post_init__(self) -> None:
        """Hear of NodeClaims."""
        self._api.listen(self._heard)

    def offer(self, offering: Offering, most: int) -> None:
        """Have this many nodes at most from now on; those that are there stay."""
        self._markets[offering.name] = _Market(offering, most)

    def withdraw(self, name: str) -> None:
        """Have none of an offering any more; those that are there go, with notice."""
        self._markets[name].most = 0
        loop = asyncio.get_running_loop()
        for uid, rental in self._rentals.items():
            if rental.offering.name == name:
                if rental.ready is not None:
                    give_notice(self._api, rental.claim)
                loop.call_later(NOTICE_SECONDS, self._take, uid)

    def has(self, name: str) -> bool:
        """Whether a node of an offering can be had now."""
        market = self._markets.get(name)
        return market is not None and self._in_use(name) < market.most

    def rentals(self) -> tuple[Rental, ...]:
        """All nodes that were ever paid for."""
        return (*self._over, *self._rentals.values())

    def _in_use(self, name: str) -> int:
        return sum(rental.offering.name == name for rental in self._rentals.values())

    # What becomes of a NodeClaim.

    def _heard(self, change: Change) -> None:
        claim = change.after
        if change.key.plural != CLAIMS or claim is None:
            return
        later = asyncio.get_running_loop().call_later
        uid = claim["metadata"]["uid"]
        if change.before is None:
            later(LAUNCH_SECONDS, self._launch, change.key, uid)
        elif _leaves(claim) and not _leaves(change.before):
            later(0.0, self._drain, change.key, uid)

    def _launch(self, key: Key, uid: str) -> None:
        claim = self._claim(key, uid)
        if claim is None:
            return
        if NODE_POOL in claim["metadata"].get("labels", {}):
            raise ValueError(f"NodeClaim {key.name} belongs to a NodePool: there are none here")
        found = [m.offering for m in self._markets.values() if _meets(m.offering, claim)]
        found = [each for each in found if self.has(each.name)]
        if not found:
            self._api.remove(key)
            return
        offering = min(found, key=lambda each: each.dollars_per_hour)
        self._rentals[uid] = Rental(offering, key.name, self._clock.monotonic())
        self._api.update(key, lambda old: merged(old, _KEPT))
        report(self._api, key, {"conditions": [condition("Launched", self._clock)]})
        asyncio.get_running_loop().call_later(offering.boot_seconds, self._register, key, uid)

    def _register(self, key: Key, uid: str) -> None:
        claim, rental = self._claim(key, uid), self._rentals.get(uid)
        if claim is None or rental is None or _leaves(claim):
            return
        offering = rental.offering
        labels = {**claim["metadata"].get("labels", {}), **offering.labels}
        node = gpu_node(key.name, offering.gpu_type, offering.gpus, labels)
        self._api.create("nodes", merged(node, {"spec": {"taints": _taints(claim)}}))
        rental.ready = self._clock.monotonic()
        said = [condition(each, self._clock) for each in ("Registered", "Initialized")]
        report(self._api, key, {"nodeName": key.name, "conditions": said})

    def _drain(self, key: Key, uid: str) -> None:
        """Delete the pods of a node that is to go; once it has none, it goes."""
        rental = self._rentals.get(uid)
        if rental is None:
            return
        node = Key("nodes", "", rental.claim)
        if self._api.find(node) is not None:
            self._api.update(node, _disrupted)
        pods = [pod for pod in self._pods(rental.claim) if not is_over(pod)]
        for pod in pods:
            self._api.delete(key_of("pods", pod))
        if pods:
            asyncio.get_running_loop().call_later(LOOK_SECONDS, self._drain, key, uid)
        else:
            self._take(uid)

    def _take(self, uid: str) -> None:
        """A node goes, whatever is on it."""
        rental = self._rentals.pop(uid, None)
        if rental is None:
            return
        rental.ends = self._clock.monotonic()
        self._over.append(rental)
        for key in (Key("nodes", "", rental.claim), Key(CLAIMS, "", rental.claim)):
            if self._api.find(key) is not None:
                self._api.remove(key)

    def _pods(self, node: str) -> list[Raw]:
        return [pod for pod in self._api.all("pods") if pod["spec"].get("nodeName") == node]

    def _claim(self, key: Key, uid: str) -> Raw | None:
        claim = self._api.find(key)
        return claim if claim is not None and claim["metadata"]["uid"] == uid else None


_KEPT: Final = {"metadata": {"finalizers": [TERMINATION]}}


def _leaves(claim: Raw) -> bool:
    return "deletionTimestamp" in claim["metadata"]


def _meets(offering: Offering, claim: Raw) -> bool:
    """Whether an offering is what a NodeClaim requires, by labels that the provider sets."""
    required: Iterable[Raw] = claim["spec"].get("requirements", ())
    return all(_holds(each, offering.labels) for each in required)


def _holds(requirement: Raw, labels: Mapping[str, str]) -> bool:
    if requirement["operator"] != "In":
        raise ValueError(f"the requirement {requirement} is not understood here: use In")
    return labels.get(requirement["key"]) in requirement["values"]


def _taints(claim: Raw) -> list[Raw]:
    return [*claim["spec"].get("taints", ())]


def _disrupted(node: Raw) -> Raw:
    spec = node.get("spec", {})
    taints = [each for each in spec.get("taints", ()) if each["key"] != DISRUPTED["key"]]
    return {**node, "spec": {**spec, "taints": [*taints, DISRUPTED]}}


def rented(rentals: Iterable[Rental], until: float) -> Iterator[tuple[Rental, float]]:
    """Each rental with the time at which it ended, or up to which it is looked at."""
    for rental in rentals:
        yield rental, until if rental.ends is None else min(rental.ends, until)
