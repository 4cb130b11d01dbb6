"""Each view shows what is so in a cluster of a hundred nodes."""

import re

import pytest
from playwright.sync_api import expect

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.processes.page_visit import Visit
from support.clusters.busy_cluster import FINETUNE, NODES, PRETRAIN, RACKS
from support.clusters.scene import Scene

GPUS = 25 * (8 + 8 + 4 + 1)
HELD = 4 * 8 + 2 * 4 + 3


def test_the_summary_says_how_full_the_cluster_is(page: Visit) -> None:
    summary = page.page.get_by_role("region", name="The cluster in short")
    expect(summary).to_contain_text(f"{HELD} / {GPUS}")
    expect(summary).to_contain_text(re.compile(f"Nodes ready{NODES} / {NODES}"))
    expect(summary).to_contain_text("Waiting1")


def test_the_map_shows_each_node_in_its_rack(page: Visit) -> None:
    for rack in RACKS:
        group = page.page.get_by_role("region", name=re.compile(f"rack {rack}: 20 nodes"))
        expect(group.get_by_role("button")).to_have_count(20)


def test_a_node_says_who_holds_it_and_leads_to_the_job(page: Visit, busy: Scene) -> None:
    node = busy.running(PRETRAIN).nodes[0]
    found = page.page.get_by_role("button", name=re.compile(f"^{node}: 8 of 8 GPUs held, {H100}"))
    found.hover()
    chosen = page.page.get_by_role("complementary")
    expect(chosen.get_by_role("heading", name=node)).to_be_visible()
    chosen.get_by_role("link", name=re.compile("pretrain")).click()
    expect(page.main.get_by_role("heading", name="pretrain")).to_be_visible()


def test_a_click_on_a_gpu_leads_to_its_job(page: Visit, busy: Scene) -> None:
    node = busy.running(FINETUNE).nodes[0]
    page.page.get_by_role("button", name=re.compile(f"^{node}: ")).locator(".cell").first.click()
    expect(page.main.get_by_role("heading", name="finetune")).to_be_visible()


@pytest.mark.parametrize(
    ("mode", "legend"),
    [("Queue", "research"), ("Type", A100), ("Power", "from 0 W"), ("Waste", "unknown")],
)
def test_the_map_is_coloured_by_what_one_asks(page: Visit, mode: str, legend: str) -> None:
    page.page.get_by_role("radio", name=mode).check()
    expect(page.page.get_by_role("list", name="Colours")).to_contain_text(legend)


def test_the_map_is_there_as_a_table_too(page: Visit, busy: Scene) -> None:
    node = busy.running(PRETRAIN).nodes[0]
    page.page.get_by_role("radio", name="Table").check()
    expect(page.table("Nodes")).to_have_count(NODES + 1)
    row = page.table("Nodes").filter(has_text=node)
    expect(row).to_contain_text(re.compile(f"rack-.*ready.*{H100}88.*pretrain"))


def test_the_queue_says_who_waits_and_why(page: Visit) -> None:
    page.go("queue")
    row = page.table("Jobs that wait").filter(has_text="too-large")
    expect(row).to_contain_text("40 × 8 GPUs")
    expect(row).to_contain_text("CannotFit")
    quota = page.table("Queues").filter(has_text="research").filter(has_text=H100)
    expect(quota).to_contain_text("16")


def test_explain_says_why_a_job_waits(page: Visit) -> None:
    page.go("queue")
    page.page.get_by_role("button", name=re.compile("^Explain .*too-large")).click()
    answer = page.page.get_by_role("dialog", name="Why too-large waits")
    expect(answer).to_contain_text("CannotFit")
    expect(answer.get_by_role("alert")).to_have_count(0)


def test_what_if_says_where_a_smaller_job_would_run(page: Visit) -> None:
    page.go("queue")
    page.page.get_by_role("button", name=re.compile("^What if .*too-large")).click()
    sheet = page.page.get_by_role("dialog", name="What if too-large were different?")
    sheet.get_by_label("at least").fill("4")
    sheet.get_by_label("at most").fill("4")
    sheet.get_by_role("button", name="Ask", exact=True).click()
    expect(sheet.get_by_role("heading", name="It would start")).to_be_visible()
    expect(sheet).to_contain_text(f"32 × {H100}")


def test_history_says_what_changed(page: Visit) -> None:
    page.go("history")
    slider = page.page.get_by_role("slider", name="Moment")
    slider.focus()
    rows = page.table("What changed").filter(has_text="pretrain").filter(has_text="starts")
    for _ in range(int(slider.get_attribute("max") or 0)):
        if rows.count():
            break
        page.page.keyboard.press("ArrowLeft")
    expect(rows).to_contain_text(H100)


def test_a_job_shows_its_life_its_place_and_what_it_stated(page: Visit, busy: Scene) -> None:
    page.go("jobs", "TrainingJob", busy.namespace, "pretrain")
    expect(page.main.get_by_text("Running", exact=True).first).to_be_visible()
    expect(page.table("What happened").filter(has_text="Created")).to_have_count(1)
    expect(page.table("Places")).to_have_count(1 + len(busy.running(PRETRAIN).pods))
    expect(page.table("Speed by GPU type and size").filter(has_text="36")).to_contain_text(H100)


def test_a_condition_that_is_false_does_not_read_as_if_it_were_true(
    page: Visit, busy: Scene
) -> None:
    page.go("jobs", "TrainingJob", busy.namespace, "too-large")
    life = page.table("What happened").filter(has_text="CannotFit")
    expect(life.filter(has_text="Has no place")).to_have_count(1)
    expect(page.table("What happened").filter(has_text="Admitted")).to_have_count(0)


def test_a_service_shows_its_replicas(page: Visit, busy: Scene) -> None:
    page.go("jobs", "InferenceJob", busy.namespace, "chat")
    expect(page.table("Roles").filter(has_text="server")).to_contain_text("3 / 3")


def test_a_job_that_is_not_there_is_said_to_be_missing(page: Visit, busy: Scene) -> None:
    page.go("jobs", "TrainingJob", busy.namespace, "nobody")
    expect(page.page.get_by_role("alert")).to_contain_text("nobody")


def test_power_is_shown_against_the_budget(page: Visit) -> None:
    page.go("power")
    domain = page.main.get_by_role("listitem").filter(has_text="row-a")
    expect(domain).to_contain_text("18 kW")
    expect(domain.get_by_role("img", name=re.compile("^Expected: .* of a budget"))).to_be_visible()
