"""Forecast the load of each service, role and bucket, and remember recent forecasts."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.inference_job import InferenceJob
from plimsoll.clock import SYSTEM
from plimsoll.observe.measured.demand import BucketDemand
from plimsoll.signals.load.foresight.accounts import Accounts, Serving
from plimsoll.signals.load.foresight.aim import Aim
from plimsoll.signals.load.foresight.forecasts import Forecasts, Foreseen, horizon_of
from plimsoll.signals.load.foresight.series import LoadSeries
from plimsoll.signals.load.foresight.stabilisation import ForeseenOfLate
from plimsoll.signals.load.starts import Start

RECENT: Final = timedelta(minutes=3)
"""Without a forecast, expect the maximum over this time, or over the horizon if shorter."""

MOST_OF_A_ROLE: Final = 64
"""The most buckets kept per role; of more, those seen last."""
MOST_OF_A_NAMESPACE: Final = 512
"""The most histories per namespace, of 80 KB each; for other loads only recent values are kept."""

NOTHING: Final = Serving()
Key = tuple[str, str, str]
"""A job's uid, a role and a bucket."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The horizon to forecast, what capacity is chosen by, and the scaling windows.

    `start`: the time a replica needs to start. `horizon`: at least that, and what new nodes need.
    """

    start: timedelta
    horizon: timedelta
    aim: Aim
    up_window: timedelta
    down_window: timedelta

    @classmethod
    def of(
        cls,
        job: InferenceJob,
        aim: Aim,
        start: Start | None,
        node_start: timedelta = timedelta(),
    ) -> "Outlook":
        """A job's outlook, given how long its replicas need to start, if known, and new nodes."""
        forecast, scaling = job.spec.load.forecast, job.spec.scaling
        needed = start.anywhere if start else timedelta()
        last = start.on_new_node if start and node_start else needed
        return cls(
            needed,
            max(forecast.horizon, last + node_start),
            aim,
            scaling.up.stabilization_window,
            scaling.down.stabilization_window,
        )


@dataclass(frozen=True, slots=True)
class _Expected:
    """What is expected of a load: see `BucketDemand`."""

    foreseen: float
    worth: float
    quantile: float | None = None


class LoadForecast:
    """Remembers loads and forecasts them. Gaps longer than `gap` end the recent history.

    `thread`: the seconds that a thread has computed, of which fitting models may take some.
    """

    def __init__(self, gap: timedelta, thread: Callable[[], float] = SYSTEM.thread) -> None:
        self._gap = gap
        self._recent: dict[Key, deque[tuple[datetime, float]]] = {}
        self._of_late: dict[Key, ForeseenOfLate] = {}
        self._series: dict[Key, LoadSeries] = {}
        self._forecasts = Forecasts(thread)
        self._accounts = Accounts(gap)
        self._buckets: dict[tuple[str, str], dict[str, None]] = {}
        self._with_history: dict[str, set[Key]] = {}
        self._namespaces: dict[str, str] = {}

    def __len__(self) -> int:
        """The number of loads remembered."""
        return len(self._recent)

    def look(self, namespace: str, uid: str, role: str, buckets: Iterable[str]) -> None:
        """Record which buckets a role has; of too many the oldest are forgotten."""
        self._namespaces[uid] = namespace
        known = self._buckets.setdefault((uid, role), {})
        for bucket in buckets:
            known.pop(bucket, None)
            known[bucket] = None
        for bucket in [*known][:-MOST_OF_A_ROLE]:
            del known[bucket]
            self._forget((uid, role, bucket))

    def _forget(self, key: Key) -> None:
        for memory in (self._recent, self._of_late, self._series):
            memory.pop(key, None)
        self._with_history.get(self._namespaces.get(key[0], ""), set[Key]()).discard(key)
        self._forecasts.forget(key)
        self._accounts.forget(key)

    def _history(self, key: Key) -> LoadSeries | None:
        """The history of a load; None if it exceeds its namespace's allowance."""
        mine = self._with_history.setdefault(self._namespaces.get(key[0], ""), set())
        if key not in self._series and len(mine) >= MOST_OF_A_NAMESPACE:
            return None
        mine.add(key)
        return self._series.setdefault(key, LoadSeries())

    def demand(
        self, key: Key, load: float, outlook: Outlook, now: datetime, serving: Serving = NOTHING
    ) -> BucketDemand:
        """The demand for a load that was just observed."""
        share = None
        if outlook.aim.quantile is None:
            self._accounts.look(key, load, serving, now)
            share = self._accounts.share(key, outlook.aim.allowed)
        found = self._expected(key, load, outlook, now)
        late = self._of_late.setdefault(key, ForeseenOfLate(self._gap))
        late.add(now, found.worth, max(outlook.up_window, outlook.down_window))
        return BucketDemand(
            observed=load,
            foreseen=found.foreseen,
            worth=found.worth,
            least_of_late=late.least(now, outlook.up_window),
            most_of_late=late.most(now, outlook.down_window),
            bucket=key[2],
            quantile=found.quantile,
            share=share,
            unserved=self._accounts.unserved(key),
        )

    def _expected(self, key: Key, load: float, outlook: Outlook, now: datetime) -> _Expected:
        """By the forecast, or by the current load if that is more: it must be served too."""
        series = self._history(key)
        recent = self._recent.setdefault(key, deque())
        recent.append((now, load))
        while now - recent[0][0] > min(RECENT, outlook.horizon):
            recent.popleft()
        most = max(each for _, each in recent)
        if series is None:
            return _Expected(most, most)
        series.add(now, load)
        found = self.foreseen(key, outlook)
        if found is None:
            return _Expected(most, most)
        worth = found.worth(outlook.aim)
        return _Expected(max(found.load, load), max(worth, load), found.quantile)

    def foreseen(self, key: Key, outlook: Outlook) -> Foreseen | None:
        """The forecast of a load from its history, and the price of capacity; None if unknown."""
        series = self._series.get(key)
        if series is None:
            return None
        horizon, aim = horizon_of(outlook.start, outlook.horizon), outlook.aim
        share = self._accounts.share(key, aim.allowed)
        return self._forecasts.foreseen(key, series, horizon, aim, share)

    def allow_learning(self, seconds: float) -> None:
        """Set the time for fitting models until the next call."""
        self._forecasts.allow(seconds)

    def fill(self, key: Key, past: Mapping[int, float]) -> None:
        """Fill in what a load was before, by steps."""
        series = self._history(key)
        if series is not None:
            series.fill(past)

    def forget_others(self, uids: Iterable[str]) -> None:
        """Forget all jobs but these."""
        kept = set(uids)
        self._recent = {key: each for key, each in self._recent.items() if key[0] in kept}
        self._of_late = {key: each for key, each in self._of_late.items() if key[0] in kept}
        self._series = {key: each for key, each in self._series.items() if key[0] in kept}
        self._buckets = {key: each for key, each in self._buckets.items() if key[0] in kept}
        self._namespaces = {uid: name for uid, name in self._namespaces.items() if uid in kept}
        left = {of: keys & self._series.keys() for of, keys in self._with_history.items()}
        self._with_history = {namespace: keys for namespace, keys in left.items() if keys}
        self._forecasts.keep(self._series)
        self._accounts.keep(self._recent)
