"""What became of NodeClaims, from what the API server told of them, and when.

The same books are kept for both sides. Times are seconds of one clock.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from plimsoll_bench.beside.book import Event
from plimsoll_devcluster.manifest import Manifest
from support.objects.karpenter import INSTANCE_TYPE

HOUR = 3600.0


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
