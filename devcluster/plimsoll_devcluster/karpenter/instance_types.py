"""The instances that Karpenter's cloud has: with GPUs, in three zones, on demand and spot.

Prices are in US dollars an hour, about those of AWS; a spot instance is cheapest in the first zone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from plimsoll_devcluster.fake_nodes import CAPACITY_TYPE, ZONE
from plimsoll_devcluster.gpu_models import A100, H100, L4
from plimsoll_devcluster.manifest import Manifest

NETWORK_DEVICE = "vpc.amazonaws.com/efa"
ON_DEMAND = "on-demand"
SPOT = "spot"
SPOT_SHARES = {"zone-a": 0.4, "zone-b": 0.5, "zone-c": 0.6}


@dataclass(frozen=True, slots=True)
class InstanceType:
    """A kind of machine that the cloud offers in every zone."""

    name: str
    gpu_type: str
    gpus: int
    cpu: str
    memory: str
    price: float
    network_devices: int = 0

    def prices(self) -> dict[tuple[str, str], float]:
        """The price in each zone as each capacity type."""
        on_demand = {(zone, ON_DEMAND): self.price for zone in SPOT_SHARES}
        spot = {(zone, SPOT): round(self.price * part, 4) for zone, part in SPOT_SHARES.items()}
        return {**on_demand, **spot}


EIGHT_H100 = InstanceType(
    "p5.48xlarge", H100, gpus=8, cpu="192", memory="2Ti", price=55.04, network_devices=32
)
EIGHT_A100 = InstanceType("p4de.24xlarge", A100, gpus=8, cpu="96", memory="1152Gi", price=27.45)
ONE_L4 = InstanceType("g6.2xlarge", L4, gpus=1, cpu="8", memory="32Gi", price=0.9776)
INSTANCE_TYPES = (EIGHT_H100, EIGHT_A100, ONE_L4)


def instance_types_file(instance_types: Sequence[InstanceType]) -> list[Manifest]:
    """What INSTANCE_TYPES_FILE_PATH names, as in karpenter/kwok/cloudprovider."""
    return [
        {
            "name": each.name,
            "offerings": list(_offerings(each)),
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {
                "cpu": each.cpu,
                "memory": each.memory,
                "ephemeral-storage": "1Ti",
                "pods": "110",
                "nvidia.com/gpu": str(each.gpus),
                **({NETWORK_DEVICE: str(each.network_devices)} if each.network_devices else {}),
            },
        }
        for each in instance_types
    ]


def _offerings(instance_type: InstanceType) -> Iterator[Manifest]:
    for (zone, capacity_type), price in instance_type.prices().items():
        yield {
            "Price": price,
            "Available": True,
            "Requirements": [requirement(CAPACITY_TYPE, capacity_type), requirement(ZONE, zone)],
        }


def requirement(key: str, *values: str) -> Manifest:
    """That a label has one of these values."""
    return {"key": key, "operator": "In", "values": list(values)}
