"""GPUPools whose nodes Karpenter itself makes in a test."""

from typing import Any

from plimsoll_devcluster.fake_nodes import ZONE
from plimsoll_devcluster.karpenter.instance_types import EIGHT_H100, InstanceType
from plimsoll_devcluster.manifest import Manifest
from support.objects.bought_nodes import a_growing_pool
from support.objects.karpenter import INSTANCE_TYPE, NODE_CLASS


def a_pool_of(  # noqa: PLR0913 - a builder: a test names only what it is about
    name: str,
    instance_type: InstanceType = EIGHT_H100,
    *,
    most: int = 8,
    zone: str = "zone-a",
    option: str = "OnDemand",
    price: str = "2",
    **provisioning: Any,  # noqa: ANN401 - fields of it
) -> Manifest:
    """A pool of instances in a zone that can be bought; idle ones are given back at once."""
    pool = a_growing_pool(
        name,
        most=most,
        gpus=instance_type.gpus,
        gpu_type=instance_type.gpu_type,
        price=price,
        capacityType=option,
        provisioning={"idleTime": "3s", **provisioning},
    )
    pool["spec"]["provisioning"]["nodeClaim"] = {
        "spec": {
            "nodeClassRef": {
                "group": "karpenter.kwok.sh",
                "kind": "KWOKNodeClass",
                "name": NODE_CLASS,
            },
            "requirements": [
                {"key": INSTANCE_TYPE, "operator": "In", "values": [instance_type.name]},
                {"key": ZONE, "operator": "In", "values": [zone]},
            ],
        }
    }
    return pool
