"""What a dashboard is made of: rows of panels, each a question with its queries and its unit."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["short", "s", "percent", "ops", "watt", "none"]
"""Of Grafana's, which writes numbers by it."""


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and what a series of it is called; `legend` is a template of Grafana's."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A question and its answer over time, or as one number if it is a `stat`.

    From `alarm` on, in the unit of the panel, it is red.
    """

    title: str
    tells: str
    queries: tuple[Query, ...]
    unit: Unit = "short"
    kind: Literal["timeseries", "stat"] = "timeseries"
    alarm: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]
