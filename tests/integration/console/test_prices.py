"""What GPUs cost, the console reads in pools, also where the operator has it from elsewhere."""

import pytest

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import NODES as ALL_NODES
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, MakeUser
from support.clusters.scene import GROUP, SECONDS
from support.objects.bought_nodes import LABEL, a_growing_pool

pytestmark = pytest.mark.slow


def test_a_pool_without_a_price_costs_what_its_status_says(
    api: ApiServer, a_user: MakeUser
) -> None:
    pool = a_growing_pool("h100", price="0")
    api.create(f"{GROUP}/gpupools", pool)
    status = {"status": {"provisioning": {"pricePerGPUHour": "2.5"}}}
    api.merge(f"{GROUP}/gpupools/h100/status", status)
    api.create(ALL_NODES, fake_node("node-1", labels={LABEL: "h100"}, gpus=8))
    user = a_user([CLUSTER_OBJECTS])
    wait_until(
        lambda: user.seen("cluster")["dollarsPerHour"] == 20,
        timeout_seconds=SECONDS,
        what="its eight GPUs have their price",
    )
