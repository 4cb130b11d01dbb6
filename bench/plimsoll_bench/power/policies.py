"""The result of a row's hour under a policy: the caps of each second, and the score.

Plimsoll is asked every `poll_seconds`; what it reads is `age_seconds` old, and what it decides is
in force `act_seconds` later. Each server's reading is known beside the row's.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from plimsoll_bench.power.profiles import Floats
from plimsoll_bench.power.row import GPUS, HOUR, Hour, Row
from plimsoll_placement.estimate.capping.control import wanted_caps
from plimsoll_placement.estimate.capping.domain import MEASURED, Server
from plimsoll_placement.estimate.capping.throughput import EXPONENTS

BINS = np.linspace(0, 3, 3001)
SAMPLE_SECONDS = 5
"""Draws are scored every second, losses this often."""


@dataclass(frozen=True, slots=True)
class PolicyTerms:
    """What holds for all policies."""

    budget_watts: int
    overshoot_seconds: int
    poll_seconds: int
    age_seconds: int
    act_seconds: int
    min_cap_watts: int
    expected_watts: int
    """What a GPU in use is expected to draw, like a pool's `typicalWatts`."""


class Policy(Protocol):
    """The caps of an hour, by second and server; infinite where there is none."""

    def caps(self, hour: Hour) -> Floats:
        """Watts of one GPU."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Static:
    """The same caps all the time."""

    by_server: Floats

    def caps(self, hour: Hour) -> Floats:
        """The same for every second."""
        return np.broadcast_to(self.by_server, hour.watts.shape)


def uncapped(row: Row) -> Static:
    """No caps."""
    return Static(np.full(row.make.servers, np.inf))


def all_equal(row: Row, terms: PolicyTerms) -> Static:
    """What the budget leaves each GPU if all draw the most they may."""
    return Static(np.full(row.make.servers, terms.budget_watts / (GPUS * row.make.servers)))


def low_first(row: Row, terms: PolicyTerms) -> Static:
    """The same guarantee, but low priority bears it as far as caps go."""
    low = ~row.is_high
    caps = np.full(row.make.servers, float(row.make.limit_watts))
    over = caps.sum() - terms.budget_watts / GPUS
    for mine in (low, row.is_high):
        taken = min(over, float((caps[mine] - terms.min_cap_watts).sum()))
        caps[mine] -= taken / max(1, mine.sum())
        over -= taken
    return Static(caps)


@dataclass(slots=True, eq=False)
class Plimsoll:
    """The product's control with its own constants; remembers an hour's end for the next one."""

    row: Row
    terms: PolicyTerms
    wanted: Floats = field(init=False)
    calm_since: int | None = None
    tail_watts: Floats | None = None
    tail_caps: Floats | None = None
    changes: int = 0
    now: int = 0

    def __post_init__(self) -> None:
        self.wanted = np.full(self.row.make.servers, np.inf)

    def caps(self, hour: Hour) -> Floats:
        """What was in force second by second, by the readings of these seconds."""
        terms = self.terms
        past, ahead = terms.age_seconds, terms.act_seconds + terms.poll_seconds
        free = np.concatenate((self._past(self.tail_watts, past, np.nan), hour.watts))
        caps = np.full((past + HOUR + ahead, self.row.make.servers), np.inf)
        if self.tail_caps is not None:
            caps[: len(self.tail_caps)] = self.tail_caps
        for second in range(0, HOUR, terms.poll_seconds):
            # Row `second` of these arrays is `age_seconds` ago.
            self._decide(free[second], caps[second], self.now + second)
            acts = past + second + terms.act_seconds
            caps[acts : acts + terms.poll_seconds] = self.wanted
        self.now += HOUR
        self.tail_watts = hour.watts[HOUR - past :]
        self.tail_caps = caps[HOUR:]
        return caps[past : past + HOUR]

    def _past(self, tail: Floats | None, seconds: int, nothing: float) -> Floats:
        return np.full((seconds, self.row.make.servers), nothing) if tail is None else tail

    def _decide(self, free: Floats, caps: Floats, now: int) -> None:
        drawn = GPUS * np.minimum(free, caps)
        total = float(drawn.sum())
        budget = self.terms.budget_watts
        is_over = total > MEASURED.cap_above * budget
        is_calm = total < MEASURED.release_below * budget and np.isfinite(caps).any()
        if not is_over and not is_calm:
            # The control's answer, as ranks never change here: what was in force stays.
            wanted, self.calm_since = caps.copy(), None
        else:
            wanted = self._answer(drawn, caps, total, now)
        self.changes += int((self.wanted != wanted).sum())
        self.wanted = wanted

    def _answer(self, drawn: Floats, caps: Floats, total: float, now: int) -> Floats:
        calm = 0 if self.calm_since is None else now - self.calm_since
        servers = self._servers(drawn, caps)
        answer = wanted_caps(self.terms.budget_watts, round(total), servers, calm_seconds=calm)
        since = now if self.calm_since is None else self.calm_since
        self.calm_since = since if answer.is_calm else None
        return np.array([cap or np.inf for cap in answer.by_server.values()])

    def _servers(self, drawn: Floats, caps: Floats) -> list[Server]:
        make, lowest = self.row.make, self.terms.min_cap_watts
        expected, limit = self.terms.expected_watts, make.limit_watts
        return [
            Server(
                name=str(place),
                rank=int(is_high),
                gpus=GPUS,
                idle_watts=make.idle_watts,
                draw_watts=expected,
                min_cap_watts=lowest,
                limit_watts=limit,
                exponent=EXPONENTS["Training" if is_training else "Mixed"],
                cap_watts=int(cap) if cap < limit else None,
                measured_watts=round(watts),
            )
            for place, (is_high, is_training, cap, watts) in enumerate(
                zip(
                    self.row.is_high.tolist(),
                    self.row.is_training.tolist(),
                    caps.tolist(),
                    drawn.tolist(),
                    strict=True,
                )
            )
        ]


@dataclass(slots=True, eq=False)
class Score:
    """Totals over hours."""

    row: Row
    terms: PolicyTerms
    violations: int = 0
    over_seconds: int = 0
    longest_seconds: int = 0
    highest: float = 0
    watt_seconds: float = 0
    seconds: int = 0
    run: int = 0
    rises: dict[int, float] = field(default_factory=dict[int, float])
    lost: Floats = field(default_factory=lambda: np.zeros(2))
    late: Floats = field(default_factory=lambda: np.zeros(2))
    loads: Floats = field(default_factory=lambda: np.zeros(2))
    slower: Floats = field(default_factory=lambda: np.zeros((2, len(BINS))))

    def add(self, hour: Hour, caps: Floats) -> None:
        """Add one hour under these caps."""
        total = GPUS * np.minimum(hour.watts, caps).sum(axis=1)
        self._add_draw(total / self.terms.budget_watts)
        sampled = slice(None, None, SAMPLE_SECONDS)
        loads, shares = hour.loads[sampled], self._shares(hour.watts[sampled], caps[sampled])
        for place, mine in enumerate((~self.row.is_high, self.row.is_high)):
            load, share = loads[:, mine], shares[:, mine]
            self.loads[place] += load.sum()
            self.lost[place] += (load * (1 - share)).sum()
            self.late[place] += np.maximum(load - share, 0).sum()
            slower = np.searchsorted(BINS, 1 / share.ravel() - 1)
            weight = np.bincount(
                np.minimum(slower, len(BINS) - 1), load.ravel(), minlength=len(BINS)
            )
            self.slower[place] += weight

    def _add_draw(self, part: Floats) -> None:
        self.highest = max(self.highest, float(part.max()))
        self.watt_seconds += float(part.sum())
        self.seconds += len(part)
        for apart in (2, 40):
            rise = float((part[apart:] - part[:-apart]).max())
            self.rises[apart] = max(self.rises.get(apart, 0), rise)
        if not self.run and part.max() <= 1:
            return
        for is_over in part > 1:
            self.run = self.run + 1 if is_over else 0
            self.over_seconds += int(is_over)
            self.violations += self.run == self.terms.overshoot_seconds + 1
            self.longest_seconds = max(self.longest_seconds, self.run)

    def _shares(self, watts: Floats, caps: Floats) -> Floats:
        """Of each server's speed; a training job is as fast as its slowest server."""
        idle = self.row.make.idle_watts
        kept = np.maximum(np.minimum(watts, caps) - idle, 1) / np.maximum(watts - idle, 1)
        use = np.where(self.row.is_training, EXPONENTS["Training"], EXPONENTS["Mixed"])
        shares = np.minimum(kept, 1) ** use
        for job in self.row.jobs:
            mine = slice(job.first, job.first + job.count)
            shares[:, mine] = shares[:, mine].min(axis=1, keepdims=True)
        return shares

    def figures(self) -> dict[str, float]:
        """Losses in percent of the throughput without caps, and draws in percent of the budget."""
        low, high = 100 * self.lost / np.maximum(self.loads, 1)
        low_late, high_late = 100 * self.late / np.maximum(self.loads, 1)
        return {
            "violations": self.violations,
            "over_budget_seconds": self.over_seconds,
            "longest_overshoot_seconds": self.longest_seconds,
            "highest_draw_percent": 100 * self.highest,
            "mean_draw_percent": 100 * self.watt_seconds / self.seconds,
            "highest_rise_2s_percent": 100 * self.rises[2],
            "highest_rise_40s_percent": 100 * self.rises[40],
            "high_priority_loss_percent": float(high),
            "low_priority_loss_percent": float(low),
            "high_priority_slower_p99_percent": _p99(self.slower[1]),
            "low_priority_slower_p99_percent": _p99(self.slower[0]),
            "high_priority_over_capacity_percent": float(high_late),
            "low_priority_over_capacity_percent": float(low_late),
        }


def _p99(weights: Floats) -> float:
    return 100 * float(BINS[np.searchsorted(weights.cumsum(), 0.99 * weights.sum())])


POLICIES: dict[str, Callable[[Row, PolicyTerms], Policy]] = {
    "plimsoll": Plimsoll,
    "uncapped": lambda row, _: uncapped(row),
    "static_equal": all_equal,
    "static_low_first": low_first,
}
