"""What can be rented: on-demand nodes of each GPU type always, spot nodes while a series says so.

Sizes are those of the recorded cluster. The prices of on-demand T4 and A100 are those of the
characterization; no cloud sells the RTX 2080 Ti, whose price is an assumption. Spot costs the share
of on-demand that it costs in the recordings of its availability.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from plimsoll_bench.spot.series import ON_DEMAND_PRICE, SPOT_PRICE, TICK_SECONDS, changes
from plimsoll_simulator.cluster.patches import Raw
from plimsoll_simulator.cluster.provider import NOTICE_SECONDS, Offering
from plimsoll_simulator.recorded.gpu_pools import SIA_POOLS
from plimsoll_simulator.story import Event
from plimsoll_simulator.twin import Twin

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
ZONE: Final = "topology.kubernetes.io/zone"
PRICES: Final = {"aws": 0.978, "dgx-ext": 4.096, "rtx": 0.943}
"""Dollars for an hour of an on-demand GPU."""
SPOT_SHARE: Final = SPOT_PRICE / ON_DEMAND_PRICE
MOST_ON_DEMAND: Final = {"aws": 24, "dgx-ext": 6, "rtx": 12}
MOST_SPOT: Final = {"aws": 8, "dgx-ext": 2, "rtx": 4}
"""Nodes that can be had at once, of spot in each of its zones."""
BOOT_SECONDS: Final = {"aws": 180.0, "dgx-ext": 420.0, "rtx": 240.0}
"""From the launch until pods can start. Machines with more GPUs take longer."""


@dataclass(frozen=True, slots=True)
class Source:
    """An offering, how many nodes of it there are at most, and in which ticks: None for always."""

    offering: Offering
    most: int
    there: Sequence[bool] | None = None

    @property
    def is_spot(self) -> bool:
        """Whether its nodes can be taken back."""
        return self.there is not None

    def is_there(self, seconds: float) -> bool:
        """Whether it can be had at a time; what was recorded last goes on."""
        if self.there is None:
            return True
        return self.there[min(len(self.there) - 1, int(seconds / TICK_SECONDS))]


def sources(spot: Mapping[str, Sequence[Sequence[bool]]]) -> tuple[Source, ...]:
    """All that can be rented; `spot` has a series for each zone of each GPU type."""
    return (
        *(_source(gpu_type, "a", None) for gpu_type in PRICES),
        *(
            _source(gpu_type, zone, there)
            for gpu_type, zones in spot.items()
            for zone, there in zip("ab", zones, strict=False)
        ),
    )


def _source(gpu_type: str, zone: str, there: Sequence[bool] | None) -> Source:
    [pool] = [each for each in SIA_POOLS if each.gpu_type == gpu_type]
    option = "on-demand" if there is None else "spot"
    name = gpu_type if there is None else f"{gpu_type}-spot-{zone}"
    hourly = PRICES[gpu_type] * pool.gpus_per_node * (1.0 if there is None else SPOT_SHARE)
    labels = {INSTANCE_TYPE: gpu_type, CAPACITY_TYPE: option, ZONE: zone}
    offering = Offering(name, labels, gpu_type, pool.gpus_per_node, hourly, BOOT_SECONDS[gpu_type])
    most = MOST_ON_DEMAND if there is None else MOST_SPOT
    return Source(offering, most[gpu_type], there)


def supply(source: Source, until: float) -> Iterator[Event]:
    """When nodes of a source can be had, and when they are taken back."""
    offering = source.offering
    if source.there is None:
        yield Event(0.0, partial(_offer, offering=offering, most=source.most))
        return
    for at, is_there in changes(source.there):
        if at >= until:
            return
        if is_there:
            yield Event(at, partial(_offer, offering=offering, most=source.most))
        else:
            yield Event(at - NOTICE_SECONDS, partial(_withdraw, name=offering.name))


def _offer(twin: Twin, offering: Offering, most: int) -> None:
    twin.provider.offer(offering, most)


def _withdraw(twin: Twin, name: str) -> None:
    twin.provider.withdraw(name)


def gpu_pool(source: Source) -> Raw:
    """The GPUPool through which the operator buys of a source."""
    offering, name = source.offering, source.offering.name
    spec: Raw = {
        "nodeSelector": {"example.com/pool": name},
        "gpuType": offering.gpu_type,
        "gpusPerNode": offering.gpus,
        "capacityType": "Spot" if source.is_spot else "OnDemand",
        "pricePerGPUHour": f"{offering.dollars_per_hour / offering.gpus:.6f}",
        "provisioning": {
            "max": source.most,
            "cpu": "192",
            "memory": "2Ti",
            "startTime": f"{offering.boot_seconds:.0f}s",
            "nodeClaim": {"spec": _claim_spec(offering)},
        },
    }
    return {"kind": "GPUPool", "metadata": {"name": name}, "spec": spec}


def node_claim(offering: Offering, name: str) -> Raw:
    """The NodeClaim by which a node of an offering is had."""
    return {"kind": "NodeClaim", "metadata": {"name": name}, "spec": _claim_spec(offering)}


def _claim_spec(offering: Offering) -> Raw:
    requirements = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in sorted(offering.labels.items())
    ]
    reference = {"group": "example.com", "kind": "NodeClass", "name": "gpu"}
    return {"nodeClassRef": reference, "requirements": requirements}
