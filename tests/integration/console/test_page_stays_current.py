"""What changes in the cluster is on the page soon; what cannot be known is said to be stale."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.cluster import Cluster
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.processes.console_process import ConsoleProcess
from plimsoll_devcluster.processes.page_visit import OpenPage, visit
from plimsoll_devcluster.processes.ports import free_port
from support.clusters.scene import Scene
from support.objects.job_manifests import a_training_job

pytestmark = pytest.mark.slow


def test_a_new_job_and_its_place_appear_by_themselves(
    scene: Scene, open_page: OpenPage, admin_token: str
) -> None:
    with open_page() as page:
        page.sign_in(admin_token)
        page.go("queue")
        job = a_training_job("late", workers=2)
        scene.apply(job)
        row = page.table("Jobs that wait").filter(has_text="late")
        expect(row).to_have_count(1)
        page.page.evaluate("window.same = true")
        scene.add_nodes(fake_node("comes"))
        scene.running(job)
        expect(row).to_have_count(0)
        page.go("map")
        expect(page.main.get_by_role("button", name=re.compile("^comes: 2 of 8"))).to_be_visible()
        assert page.page.evaluate("window.same")
        assert page.said == []


def test_the_page_says_when_it_is_stale_and_recovers(
    control_plane: Cluster, api: ApiServer, browser: Browser, axe: Path, admin_token: str
) -> None:
    del api
    port = free_port()
    environment = {"PLIMSOLL_CONSOLE_PORT": str(port)}
    with (
        ConsoleProcess(control_plane.kubeconfig, environment) as console,
        visit(browser, console.url, axe) as page,
    ):
        page.sign_in(admin_token)
        status = page.page.get_by_role("status")
        console.kill()
        expect(status).to_contain_text("Stale since")
        summary = page.page.get_by_role("region", name="The cluster in short")
        expect(summary).to_contain_text("GPUs held")
        console.start()
        expect(status).to_have_text("Live")
