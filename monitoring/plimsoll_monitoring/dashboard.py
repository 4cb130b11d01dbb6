"""The dashboard in Grafana's format: rows of panels on a grid of 24 columns."""

from collections.abc import Iterator, Sequence
from typing import Any

from plimsoll_monitoring.agent_panels import AGENT_ROWS
from plimsoll_monitoring.operator_panels import OPERATOR_ROWS
from plimsoll_monitoring.panel import Panel, Query, Row
from plimsoll_monitoring.power_panels import POWER_ROWS
from plimsoll_monitoring.purchase_panels import PURCHASE_ROWS
from plimsoll_monitoring.work_panels import WORK_ROWS

GRID = 24
HEIGHTS = {"stat": 4, "timeseries": 8}
WIDTHS = {"stat": 4, "timeseries": 8}
SCHEMA_VERSION = 39
"""Written by Grafana 10.4; later versions read it."""
_ROWS = (*WORK_ROWS, *PURCHASE_ROWS, *OPERATOR_ROWS, *POWER_ROWS, *AGENT_ROWS)
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def dashboard() -> dict[str, Any]:
    """The whole dashboard, for Grafana's provisioning, its import page and its sidecar."""
    return {
        "uid": "plimsoll",
        "title": "Plimsoll",
        "description": "GPU jobs, the plans for them, and the health of the operator",
        "tags": ["plimsoll", "kubernetes", "gpu"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,  # one crosshair for all panels
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "",
        "templating": {"list": [_datasource(), *_choices()]},
        "annotations": {"list": []},
        "panels": list(_numbered(_laid_out(_ROWS))),
    }


def _datasource() -> dict[str, Any]:
    return {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Source"}


def _choices() -> Iterator[dict[str, Any]]:
    yield _choice("queue", "Queue", "plimsoll_running_jobs")
    yield _choice("namespace", "Namespace of services", "plimsoll_service_wanted_replicas")


def _choice(label: str, title: str, metric: str) -> dict[str, Any]:
    return {
        "name": label,
        "label": title,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": f"label_values({metric}, {label})", "refId": label},
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
        left = 0
        for panel in row.panels:
            width, height = WIDTHS[panel.kind], HEIGHTS[panel.kind]
            if left + width > GRID:
                top, left = top + height, 0
            yield _panel(panel, {"x": left, "y": top, "w": width, "h": height})
            left += width
        top += HEIGHTS[row.panels[-1].kind]


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
