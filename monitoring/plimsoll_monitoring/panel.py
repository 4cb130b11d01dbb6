"""The building blocks of a dashboard: rows of panels, each with its queries and its unit."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal[
    "short", "s", "percent", "ops", "watt", "kwatth", "h", "currencyUSD", "none", "percentunit"
]
"""Grafana's unit names, which decide how it prints numbers."""


@dataclass(frozen=True, slots=True)
class Query:
    """PromQL, and the name of its series; `legend` is a Grafana template."""

    expression: str
    legend: str


@dataclass(frozen=True, slots=True)
class Panel:
    """Values over time, or a single number if it is a `stat`.

    Red from `alarm` on, in the unit of the panel.
    """

    title: str
    description: str
    queries: tuple[Query, ...]
    unit: Unit = "short"
    kind: Literal["timeseries", "stat"] = "timeseries"
    alarm: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """Panels that belong together."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the reader chooses on a board: values of a label of some series, as `$name`."""

    name: str
    title: str
    series: str
    label: str


@dataclass(frozen=True, slots=True)
class Board:
    """A dashboard for one kind of reader; `name` is that of its file."""

    name: str
    uid: str
    title: str
    description: str
    rows: tuple[Row, ...]
    choices: tuple[Choice, ...] = ()
