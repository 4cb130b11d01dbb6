"""Money shows what the ledger has of a running cluster, and to each reader what they may see."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.processes.page_visit import OpenPage, Visit
from plimsoll_devcluster.waiting import wait_until
from support.clusters.console_users import CLUSTER_OBJECTS, JOBS, NODES, Asking, MakeUser
from support.clusters.scene import Scene
from support.clusters.tenants import beside
from support.objects.job_manifests import a_pool, a_queue, a_training_job

pytestmark = pytest.mark.slow

CONSOLE_ENVIRONMENT = {
    "PLIMSOLL_CONSOLE_LEDGER_URL": "sqlite:///{folder}/ledger.db",
    "PLIMSOLL_CONSOLE_LEDGER_GRAMS_PER_KWH": "400",
}
SECONDS = 150
SECRET = "secret-merger"
POWER = {"idleWatts": 75, "typicalWatts": 560, "limitWatts": 700}


@pytest.fixture
def accounted(scene: Scene, a_user: MakeUser) -> Iterator[Asking]:
    """One who sees all, once it is accounted that others took back what our job had borrowed."""
    admin = a_user((JOBS, NODES, CLUSTER_OBJECTS))
    with beside(scene, "others") as others:
        scene.add_nodes(fake_node("node-1", H100, 8), fake_node("node-2", H100, 2))
        scene.apply(
            a_pool("h100", {"type": "kwok"}, pricePerGPUHour="2.50", power=POWER),
            a_queue("research"),
            a_queue("deals", guaranteed=8),
        )
        guest = a_training_job("guest", gpus=8, queue="research")
        scene.apply(guest)
        scene.running(guest)
        wait_until(lambda: _is_used(admin, "useful"), timeout_seconds=SECONDS, what="it is used")
        owner = a_training_job(SECRET, gpus=8, queue="deals")
        others.apply(owner)
        others.running(owner)
        wait_until(lambda: _is_used(admin, "lost"), timeout_seconds=SECONDS, what="a loss is known")
        yield admin


def _is_used(user: Asking, use: str) -> bool:
    status, answer = user.get("usage?since=1d&by=job")
    return status == 200 and any(row["gpuHoursByUse"][use] for row in answer["rows"])


def test_money_tells_work_from_loss_and_idleness_to_those_who_may(
    accounted: Asking, open_page: OpenPage, a_user: MakeUser
) -> None:
    team = a_user(here=[JOBS])
    with open_page() as page:
        page.sign_in(accounted.token)
        page.go("money")
        ours, theirs, nobody = (_row(page, who) for who in ("research", "deals", "no job"))
        expect(ours.get_by_role("img", name="GPU-hours thrown away")).to_be_visible()
        expect(theirs.get_by_role("img", name="GPU-hours useful")).to_be_visible()
        expect(nobody.get_by_role("img", name="GPU-hours idle")).to_be_visible()
        expect(_cell(theirs, "Thrown away")).to_have_text("0")
        expect(_cell(ours, "Idle")).to_have_text("0")
        expect(_cell(ours, "Cost")).not_to_have_text("$0.00")
        expect(page.main).to_contain_text("CO₂")
        page.page.get_by_role("radio", name="Job", exact=True).check()
        _row(page, "guest").get_by_role("link").click()
        expect(page.main.get_by_role("heading", name="guest")).to_be_visible()
        assert page.said == []
    with open_page() as page:
        page.sign_in(team.token)
        page.go("money")
        expect(_row(page, "research")).to_have_count(1)
        rest = _row(page, "not shown to you")
        expect(_cell(rest, "GPU-hours")).not_to_have_text("0")
        for by in ("Namespace", "User", "Job", "Type"):
            page.page.get_by_role("radio", name=by, exact=True).check()
            expect(_row(page, "not shown to you")).to_have_count(1)
            for name in (SECRET, "deals", "others-"):
                expect(page.main).not_to_contain_text(name)
        assert page.said == []


def _row(page: Visit, text: str) -> Locator:
    return page.table("Usage").filter(has_text=text)


def _cell(row: Locator, title: str) -> Locator:
    return row.locator(f"[data-title='{title}'] > div")
