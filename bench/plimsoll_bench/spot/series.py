"""Recorded series of spot availability and windows of them, and what a run in one costs.

A series is JSON, optionally gzipped: {"metadata": {"gap_seconds": 600}, "data": [1, 0, ...]} with 1
where spot is up in that tick. Windows are CSV with the columns start_tick, end_tick and, to choose
some of them, in_adrs_stage2_set.

In each tick it is seen whether spot is up, and then the job is on spot, on on-demand, or nowhere;
the tick is paid for, up to the job's end. Starting, or changing sides, costs an overhead without
work, over several ticks if need be; if spot goes down, a job that was on it is nowhere.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from plimsoll_bench.recorded import Row, json_in, object_of, rows_in
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing

TICK_SECONDS = 600.0
TERMS_HOURS = (52, 70, 92)
OVERHEAD_HOURS = (0.02, 0.2, 0.4)
WORK_SECONDS = 48 * 3600.0
SPOT_PRICE = 0.9731
ON_DEMAND_PRICE = 3.06
_DONE = 1e-3


@dataclass(frozen=True, slots=True)
class Window:
    """Ticks of a series from a start to before an end."""

    start: int
    end: int


class Runner(Protocol):
    """A policy in one run; given in each tick the job's standing and whether spot is up."""

    def choice(self, standing: Standing, *, spot_is_up: bool) -> Choice:
        """Where to be in this tick."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run cost, and whether it ended after its deadline."""

    dollars: float
    late: bool


def series_in(path: Path) -> tuple[bool, ...]:
    """Whether spot is up, by tick."""
    recorded = object_of(json_in(path), str(path))
    if recorded.part("metadata").positive("gap_seconds") != TICK_SECONDS:
        raise SystemExit(f"{path}: ticks are not of {TICK_SECONDS:.0f} s")
    return tuple(each > 0 for each in recorded.numbers("data"))


def changes(up: Sequence[bool]) -> Iterator[tuple[float, bool]]:
    """When spot goes up or down, in seconds, and whether it is up then; it was down before."""
    had = False
    for tick, has in enumerate(up):
        if has != had:
            had = has
            yield tick * TICK_SECONDS, has


def windows_in(path: Path, *, every: bool = False) -> tuple[Window, ...]:
    """The windows in their order; those of the chosen set, or `every` one."""
    rows = rows_in(path)
    chosen = [row for row in rows if every or _is_chosen(row)]
    if not chosen:
        raise SystemExit(f"{path}: in_adrs_stage2_set is 1 in no row")
    return tuple(Window(row.whole("start_tick"), row.whole("end_tick")) for row in chosen)


def _is_chosen(row: Row) -> bool:
    column = "in_adrs_stage2_set"
    return not row.has(column) or row.text(column) == "1"


def terms_of(overhead_hours: float) -> SpotTerms:
    """The terms of a run."""
    return SpotTerms(TICK_SECONDS, overhead_hours * 3600, SPOT_PRICE, ON_DEMAND_PRICE)


def outcome(up: Sequence[bool], hours: int, terms: SpotTerms, runner: Runner) -> Outcome:
    """The outcome of a run over these ticks; if it does not end in them it is late."""
    standing, dollars, deadline = Standing(WORK_SECONDS, hours * 3600.0), 0.0, hours * 3600.0
    for tick, spot_is_up in enumerate(up):
        standing = _seen(standing, deadline - tick * TICK_SECONDS, spot_is_up=spot_is_up)
        choice = runner.choice(standing, spot_is_up=spot_is_up)
        if choice is Choice.SPOT and not spot_is_up:
            raise ValueError("spot was chosen where it was down")
        needed = standing.work_seconds + standing.overhead_of(choice, terms)
        seconds = min(TICK_SECONDS, needed)
        dollars += _hourly(choice, terms) * seconds / 3600
        standing = _after(standing, choice, terms)
        if standing.work_seconds <= _DONE:
            return Outcome(dollars, late=tick * TICK_SECONDS + seconds > deadline + _DONE)
    return Outcome(dollars, late=True)


def _seen(standing: Standing, seconds_left: float, *, spot_is_up: bool) -> Standing:
    lost = standing.on is Choice.SPOT and not spot_is_up
    on = Choice.WAIT if lost else standing.on
    return Standing(standing.work_seconds, seconds_left, on, standing.overhead_seconds)


def _hourly(choice: Choice, terms: SpotTerms) -> float:
    prices = {Choice.WAIT: 0.0, Choice.SPOT: terms.spot_price}
    return prices.get(choice, terms.on_demand_price)


def _after(standing: Standing, choice: Choice, terms: SpotTerms) -> Standing:
    if choice is Choice.WAIT:
        return Standing(standing.work_seconds, standing.seconds_left, choice, 0.0)
    overhead = standing.overhead_of(choice, terms)
    worked = max(0.0, TICK_SECONDS - overhead)
    left = max(0.0, overhead - TICK_SECONDS)
    return Standing(standing.work_seconds - worked, standing.seconds_left, choice, left)
