"""The alerts and the dashboards speak of metrics that there are, and lead to real pages."""

import json
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest
from prometheus_client import Histogram, Summary
from prometheus_client.metrics import MetricWrapperBase

from plimsoll.vocabulary import metrics as operator_metrics
from plimsoll_agent import metrics as agent_metrics
from plimsoll_console.ledger import metrics as ledger_metrics
from plimsoll_monitoring.alerts import ALERTS, Alert
from plimsoll_monitoring.boards import BOARDS
from plimsoll_monitoring.dashboard import GRID, dashboard
from plimsoll_monitoring.files import files
from plimsoll_monitoring.panel import Board
from support.project.alert_cases import CASES
from support.project.pages import ROOT, anchors

FOLDER = ROOT / "charts" / "plimsoll" / "files"
Labels = dict[str, set[str]]
SCRAPED = {"instance"}
"""Labels that Prometheus adds to all."""
GROUPING = re.compile(r"\b(?:by|on) \(([^)]*)\)")
OF_PROMETHEUS = {"ALERTS": {"alertname", "alertstate", "severity"}}
"""Series that Prometheus itself makes, and their labels."""
SERIES = re.compile(r"\b(plimsoll_\w+|ALERTS)(?:\{([^}]*)\})?")

ON_DASHBOARDS = (operator_metrics, agent_metrics)


def labels_by_series(modules: Sequence[ModuleType] = (*ON_DASHBOARDS, ledger_metrics)) -> Labels:
    """The labels of each series that is served, as the code declares them."""
    found: Labels = {}
    for metric in (each for module in modules for each in vars(module).values()):
        if not isinstance(metric, MetricWrapperBase):
            continue
        family = next(iter(metric.describe()))
        own = set(vars(metric)["_labelnames"])
        if isinstance(metric, Histogram):
            found |= {f"{family.name}_bucket": own | {"le"}, f"{family.name}_count": own}
        elif isinstance(metric, Summary):
            found |= {f"{family.name}_sum": own, f"{family.name}_count": own}
        else:
            suffix = "_total" if family.type == "counter" else ""
            found[f"{family.name}{suffix}"] = own
    return found


each_board = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)


def panels(board: Board) -> list[dict[str, Any]]:
    return [panel for panel in dashboard(board)["panels"] if panel["type"] != "row"]


def shown(board: Board) -> list[str]:
    return [target["expr"] for panel in panels(board) for target in panel["targets"]]


def expressions() -> list[str]:
    queries = (query for board in BOARDS for query in shown(board))
    return [*queries, *(alert.expression for alert in ALERTS)]


def test_the_chart_has_what_the_source_says() -> None:
    assert {name: (FOLDER / name).read_text() for name in files()} == files()


@pytest.mark.parametrize("expression", expressions())
def test_a_query_names_series_and_labels_that_there_are(expression: str) -> None:
    known = labels_by_series() | OF_PROMETHEUS
    named = SERIES.findall(expression)
    assert named
    for name, selector in named:
        used = set(re.findall(r"(\w+)(?:=~|!~|!=|=)", selector))
        assert used <= known[name] | SCRAPED, name
    grouped = {each.strip() for group in GROUPING.findall(expression) for each in group.split(",")}
    of_all = {label for name, _ in named for label in known[name]}
    assert grouped - {""} <= of_all | SCRAPED


def bare(series: str) -> str:
    return re.sub("_(bucket|count|sum)$", "", series)


def test_all_that_is_reported_is_shown_somewhere() -> None:
    """All but the ledger's, which is the console's affair, and for which there is an alert."""
    named = {name for each in expressions() for name, _ in SERIES.findall(each)}
    named -= labels_by_series([ledger_metrics]).keys()
    reported = labels_by_series(ON_DASHBOARDS) | OF_PROMETHEUS
    assert {bare(name) for name in reported} == {bare(name) for name in named}


@each_board
def test_choices_are_filled_by_labels_that_there_are_and_are_used(board: Board) -> None:
    for choice in board.choices:
        ((metric, _),) = SERIES.findall(choice.series)
        assert choice.label in labels_by_series()[metric]
        assert all(f'{choice.label}=~"${choice.name}"' in each for each in shown(board))
    chosen = re.findall(r"\$(\w+)", " ".join(shown(board)))
    grafanas = {"__rate_interval", "__range"}
    assert {*chosen} - grafanas == {choice.name for choice in board.choices}


@each_board
def test_no_panel_covers_another(board: Board) -> None:
    cells: set[tuple[int, int]] = set()
    for panel in dashboard(board)["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= GRID
        mine = {
            (place["x"] + dx, place["y"] + dy)
            for dx in range(place["w"])
            for dy in range(place["h"])
        }
        assert not mine & cells, panel["title"]
        cells |= mine
    lines = {y for _, y in cells}
    assert lines == {*range(max(lines) + 1)}, "there is a gap between panels"


@each_board
def test_each_panel_has_a_name_a_number_and_a_word_of_explanation(board: Board) -> None:
    titles = [panel["title"] for panel in panels(board)]
    assert len(set(titles)) == len(titles)
    numbers = {panel["id"] for panel in dashboard(board)["panels"]}
    assert len(numbers) == len(dashboard(board)["panels"])
    assert all(panel["description"].endswith(".") for panel in panels(board))
    assert json.loads(files()[f"dashboards/{board.name}.json"]) == dashboard(board)


def test_boards_are_told_apart() -> None:
    for differs in ("name", "uid", "title"):
        assert len({getattr(board, differs) for board in BOARDS}) == len(BOARDS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_leads_to_its_section_of_the_runbook(alert: Alert) -> None:
    page, _, anchor = alert.runbook.partition("#")
    assert anchor in anchors(ROOT / page)


def test_each_alert_is_tried() -> None:
    assert {case.alert for case in CASES} == {alert.name for alert in ALERTS}
