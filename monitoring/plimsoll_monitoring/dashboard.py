"""A dashboard in Grafana's format: rows of panels on a grid of 24 columns."""

from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll_monitoring.panel import Board, Choice, Panel, Query, Row

GRID = 24
HEIGHTS = {"stat": 4, "timeseries": 8}
WIDTHS = {"stat": 4, "timeseries": 8}
SCHEMA_VERSION = 39
"""Written by Grafana 10.4; later versions read it."""
TAG = "plimsoll"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_TO_THE_OTHERS = {
    "type": "dashboards",
    "title": "Plimsoll",
    "tags": [TAG],
    "includeVars": True,
    "keepTime": True,
}


def dashboard(board: Board) -> dict[str, Any]:
    """A whole dashboard, for Grafana's provisioning, its import page and its sidecar."""
    return {
        "uid": board.uid,
        "title": board.title,
        "description": board.description,
        "tags": [TAG, "kubernetes", "gpu"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,  # one crosshair for all panels
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "",
        "links": [_TO_THE_OTHERS],
        "templating": {"list": [_datasource(), *map(_choice, board.choices)]},
        "annotations": {"list": []},
        "panels": list(_numbered(_laid_out(board.rows))),
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _choice(choice: Choice) -> dict[str, Any]:
    return {
        "name": choice.name,
        "label": choice.title,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": f"label_values({choice.series}, {choice.label})", "refId": choice.name},
        "refresh": 2,  # whenever the time range changes
        "sort": 1,
        "includeAll": True,
        "multi": True,
        # Matches series without the label too, and works while there are no values to choose from.
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _laid_out(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """Rows and panels from top to bottom, each with its place on the grid."""
    top = 0
    for row in rows:
        yield _row(row, top)
        top += 1
        left = height = 0
        for panel in row.panels:
            if left + WIDTHS[panel.kind] > GRID:
                top, left, height = top + height, 0, 0
            place = {"x": left, "y": top, "w": WIDTHS[panel.kind], "h": HEIGHTS[panel.kind]}
            yield _panel(panel, place)
            left, height = left + WIDTHS[panel.kind], max(height, HEIGHTS[panel.kind])
        top += height


def _numbered(panels: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, panel in enumerate(panels, 1):
        yield {"id": number, **panel}


def _row(row: Row, top: int) -> dict[str, Any]:
    place = {"x": 0, "y": top, "w": GRID, "h": 1}
    return {"type": "row", "title": row.title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": _SOURCE,
        "gridPos": place,
        "targets": [_target(query, number) for number, query in enumerate(panel.queries)],
        "fieldConfig": {"defaults": _defaults(panel), "overrides": []},
        "options": _options(panel),
    }


def _target(query: Query, number: int) -> dict[str, Any]:
    return {
        "refId": "ABCDEFGH"[number],
        "datasource": _SOURCE,
        "expr": query.expression,
        "legendFormat": query.legend,
        "range": True,
    }


def _defaults(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if panel.alarm is not None:
        steps.append({"color": "red", "value": panel.alarm})
    defaults: dict[str, Any] = {
        "unit": panel.unit,
        "min": 0,
        "thresholds": {"mode": "absolute", "steps": steps},
    }
    if panel.kind == "timeseries":
        line = "off" if panel.alarm is None else "line"
        defaults["custom"] = {"fillOpacity": 10, "thresholdsStyle": {"mode": line}}
    return defaults


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "stat":
        return {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "value"}
    return {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}}
