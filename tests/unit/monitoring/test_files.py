"""The alerts and the dashboard speak of metrics that there are, and lead to real pages."""

import json
import re
from typing import Any

import pytest
from prometheus_client import Histogram
from prometheus_client.metrics import MetricWrapperBase

from plimsoll.vocabulary import metrics as operator_metrics
from plimsoll_agent import metrics as agent_metrics
from plimsoll_monitoring.alerts import ALERTS, Alert
from plimsoll_monitoring.dashboard import GRID, dashboard
from plimsoll_monitoring.files import files
from support.project.alert_cases import CASES
from support.project.pages import ROOT, anchors

FOLDER = ROOT / "charts" / "plimsoll" / "files"
SCRAPED = {"instance"}
"""Labels that Prometheus adds to all."""
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
SERIES = re.compile(r"\b(plimsoll_\w+)(?:\{([^}]*)\})?")


def labels_by_series() -> dict[str, set[str]]:
    """The labels of each series that the operator and agents serve, as the code declares them."""
    found: dict[str, set[str]] = {}
    for metric in (*vars(operator_metrics).values(), *vars(agent_metrics).values()):
        if not isinstance(metric, MetricWrapperBase):
            continue
        family = next(iter(metric.describe()))
        own = set(vars(metric)["_labelnames"])
        if isinstance(metric, Histogram):
            found |= {f"{family.name}_bucket": own | {"le"}, f"{family.name}_count": own}
        else:
            suffix = "_total" if family.type == "counter" else ""
            found[f"{family.name}{suffix}"] = own
    return found


def panels() -> list[dict[str, Any]]:
    return [panel for panel in dashboard()["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    shown = [target["expr"] for panel in panels() for target in panel["targets"]]
    return [*shown, *(alert.expression for alert in ALERTS)]


def choices() -> dict[str, str]:
    """What each choice on the dashboard is filled by."""
    found = dashboard()["templating"]["list"]
    return {each["name"]: each["query"]["query"] for each in found if each["type"] == "query"}


def test_the_chart_has_what_the_source_says() -> None:
    assert {name: (FOLDER / name).read_text() for name in files()} == files()


@pytest.mark.parametrize("expression", expressions())
def test_a_query_names_series_and_labels_that_there_are(expression: str) -> None:
    known = labels_by_series()
    named = SERIES.findall(expression)
    assert named
    for name, selector in named:
        used = set(re.findall(r"(\w+)(?:=~|!~|!=|=)", selector))
        assert used <= known[name] | SCRAPED, name
    grouped = {each.strip() for group in GROUPING.findall(expression) for each in group.split(",")}
    of_all = {label for name, _ in named for label in known[name]}
    assert grouped - {""} <= of_all | SCRAPED


def test_all_that_is_reported_is_shown_somewhere() -> None:
    shown = {name for each in expressions() for name, _ in SERIES.findall(each)}
    bare = {name.removesuffix("_bucket").removesuffix("_count") for name in labels_by_series()}
    assert bare == {name.removesuffix("_bucket").removesuffix("_count") for name in shown}


def test_choices_are_filled_by_labels_that_there_are_and_are_used() -> None:
    for label, query in choices().items():
        metric, _, named = query.removeprefix("label_values(").removesuffix(")").partition(", ")
        assert named == label
        assert label in labels_by_series()[metric]
        assert any(f"${label}" in each for each in expressions())


def test_no_panel_covers_another() -> None:
    cells: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= GRID
        mine = {
            (place["x"] + dx, place["y"] + dy)
            for dx in range(place["w"])
            for dy in range(place["h"])
        }
        assert not mine & cells, panel["title"]
        cells |= mine


def test_each_panel_has_a_name_a_number_and_a_word_of_explanation() -> None:
    titles = [panel["title"] for panel in panels()]
    assert len(set(titles)) == len(titles)
    assert len({panel["id"] for panel in dashboard()["panels"]}) == len(dashboard()["panels"])
    assert all(panel["description"].endswith(".") for panel in panels())
    assert json.loads(files()["dashboard.json"]) == dashboard()


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_leads_to_its_section_of_the_runbook(alert: Alert) -> None:
    page, _, anchor = alert.runbook.partition("#")
    assert anchor in anchors(ROOT / page)


def test_each_alert_is_tried() -> None:
    assert {case.alert for case in CASES} == {alert.name for alert in ALERTS}
