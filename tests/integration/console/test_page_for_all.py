"""The page for all: by keyboard, on a phone, in light and dark, and as its policy allows."""

import re

import pytest
from playwright.sync_api import ViewportSize, expect

from plimsoll_devcluster.processes.page_visit import DESK, PHONE, Colours, OpenPage, Visit
from support.clusters.busy_cluster import NODES, PRETRAIN
from support.clusters.scene import Scene

pytestmark = pytest.mark.slow

VIEWS = (("map",), ("queue",), ("power",), ("money",), ("history",))
LOOKS: dict[str, tuple[Colours, ViewportSize]] = {
    "light": ("light", DESK),
    "dark": ("dark", DESK),
    "phone": ("light", PHONE),
}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious_and_the_policy_is_kept(
    busy: Scene, open_page: OpenPage, admin_token: str, look: str
) -> None:
    colours, size = LOOKS[look]
    with open_page(colours=colours, size=size) as page:
        page.page.goto(page.url)
        findings = {"login": page.findings()}
        page.sign_in(admin_token)
        for parts in (*VIEWS, ("jobs", "TrainingJob", busy.namespace, "pretrain")):
            page.go(*parts)
            findings["/".join(parts)] = page.findings()
            assert page.overflow() <= 0, parts
        page.go("map")
        page.page.get_by_role("radio", name="Table").check()
        findings["table"] = page.findings()
        page.go("queue")
        page.page.get_by_role("button", name=re.compile("^What if")).first.click()
        findings["sheet"] = page.findings()
        assert {where: found for where, found in findings.items() if found} == {}
        assert page.said == []


def test_arrow_keys_lead_over_the_map_and_enter_to_the_job(page: Visit, busy: Scene) -> None:
    nodes = page.main.get_by_role("button", name=re.compile("GPUs held"))
    expect(nodes).to_have_count(NODES)
    page.page.get_by_role("radio", name="Picture").focus()
    page.page.keyboard.press("Tab")
    first = _focused(page)
    seen = {first}
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.page.keyboard.press(key)
        seen.add(_focused(page))
    assert len(seen) == 5
    page.page.keyboard.press("Home")
    assert _focused(page) == first
    holder = busy.running(PRETRAIN).nodes[0]
    page.page.get_by_role("button", name=re.compile(f"^{holder}:")).focus()
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    expect(page.main.get_by_role("heading", name="pretrain")).to_be_visible()


def test_one_node_only_is_in_the_order_of_tab(page: Visit) -> None:
    expect(page.main.locator(".node[tabindex='0']")).to_have_count(1)


def test_the_skip_link_leads_to_the_view(page: Visit) -> None:
    page.page.keyboard.press("Tab")
    expect(page.page.get_by_role("link", name="Skip to the view")).to_be_focused()
    page.page.keyboard.press("Enter")
    expect(page.main).to_be_focused()


def test_a_sheet_closes_by_escape_and_gives_the_focus_back(page: Visit) -> None:
    page.go("queue")
    button = page.page.get_by_role("button", name=re.compile("^What if .*too-large"))
    button.focus()
    page.page.keyboard.press("Enter")
    expect(page.page.get_by_role("dialog")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.page.get_by_role("dialog")).to_have_count(0)
    expect(button).to_be_focused()


def test_the_theme_can_be_chosen_and_is_kept(page: Visit) -> None:
    root = page.page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    switch = page.page.get_by_role("button", name=re.compile("^Colours"))
    switch.click()
    switch.click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def _focused(page: Visit) -> str:
    return str(page.page.evaluate("document.activeElement.getAttribute('aria-label')"))
