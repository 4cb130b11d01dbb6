"""With more nodes than one can look at, the map shows racks, which open."""

import re

import pytest
from playwright.sync_api import expect

from plimsoll_devcluster.fake_nodes import RACK, fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.processes.page_visit import OpenPage
from support.clusters.scene import Scene
from support.objects.job_manifests import a_pool

pytestmark = pytest.mark.slow

NODES = 320
IN_A_RACK = 16


def test_racks_are_tiles_that_open(scene: Scene, open_page: OpenPage, admin_token: str) -> None:
    levels = [{"name": "rack", "label": RACK}]
    scene.apply(a_pool("h100", {"nvidia.com/gpu.product": H100}, topologyKeys=levels))
    scene.add_nodes(
        *(
            fake_node(f"n{number:03}", labels={RACK: f"rack-{number // IN_A_RACK:02}"})
            for number in range(NODES)
        )
    )
    with open_page() as page:
        page.sign_in(admin_token)
        tiles = page.main.get_by_role("link", name=re.compile("^rack-.* 16 nodes, 0 of 128"))
        expect(tiles).to_have_count(NODES // IN_A_RACK)
        assert page.findings() == {}
        tiles.first.focus()
        page.page.keyboard.press("ArrowRight")
        expect(tiles.nth(1)).to_be_focused()
        page.page.keyboard.press("Enter")
        nodes = page.main.get_by_role("button", name=re.compile("^n0.*GPUs held"))
        expect(nodes).to_have_count(IN_A_RACK)
        expect(nodes.first).to_have_accessible_name(re.compile("^n016: 0 of 8"))
        page.page.get_by_role("link", name="All groups").click()
        page.page.get_by_role("radio", name="Table").check()
        expect(page.table("Groups of nodes")).to_have_count(1 + NODES // IN_A_RACK)
        assert page.said == []
