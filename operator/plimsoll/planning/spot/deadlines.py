"""Choose where jobs with a deadline may be: on spot, off it, or nowhere for now.

A job with a deadline may be on spot as long as on-demand capacity alone could still finish it in
time if spot disappeared in a minute. After that it is on-demand only, if there is room: waiting for
on-demand would make it later than carrying on on spot. The remaining work comes from the job's own
count, and its rate from its own measurements. A job that runs and does not count stays on its side.

Under the preset `Economy` such a job is also where that is expected to cost least: it waits while
there is no spot, goes on-demand where waiting would cost more, and comes back to spot.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.faults import Guard, unguarded
from plimsoll.planning.spot.economy import STEP_SECONDS, Economy, minds_money
from plimsoll.planning.spot.headroom import Headroom, on_demand_headroom
from plimsoll.planning.spot.market import Eligible, Market
from plimsoll.planning.training.expected_end import Left, time_left
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices
from plimsoll_placement.estimate.spot.policy import SpotPolicy

_UNKNOWN = (
    "its workers do not report how much of its work is done, so there may be no time for an"
    " interruption"
)


@dataclass(frozen=True, slots=True)
class SpotRules:
    """Where jobs with a deadline may be; others may be anywhere."""

    off: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs that must be off spot from now on, each with the reason."""
    to: AbstractSet[JobName] = frozenset()
    """The jobs that go to spot, or back to it, where there is room for them."""
    on: AbstractSet[JobName] = frozenset()
    """The jobs that are on spot and stay there."""
    waiting: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs that do not run, or must leave where they are, and wait for spot, each with the
    reason."""


class SpotRulesMaker:
    """Makes the rules of each turn, and keeps what is expensive to work out."""

    def __init__(self) -> None:
        self._policy = SpotPolicy()

    def rules(
        self,
        snapshot: Snapshot,
        cluster: Cluster,
        views: Iterable[JobView],
        eligible: Eligible,
        guard: Guard = unguarded,
    ) -> SpotRules:
        """The rules for these jobs."""
        turn, hurried = _Turn(snapshot, cluster), list[tuple[JobView, Left]]()
        for view, left in _with_deadlines(views, snapshot.now, guard):
            if left is None:
                turn.keep_unknown(view)
            elif left.work_seconds > 0:
                hurried.append((view, left))
        if not minds_money(snapshot):
            hurried = [each for each in hurried if turn.must(*each)]
        elif hurried:
            self._policy.begin_turn()
            turn.minds_money(Market(snapshot, cluster, eligible), self._policy)
        for view, left in sorted(hurried, key=_order):
            with guard(view):
                turn.decide(view, left)
        return SpotRules(turn.off, turn.to, turn.on, turn.waiting)


class _Turn:
    """The rules of a turn, as they come about."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster) -> None:
        self.off: dict[JobName, str] = {}
        self.to: set[JobName] = set()
        self.on: set[JobName] = set()
        self.waiting: dict[JobName, str] = {}
        self._snapshot, self._cluster = snapshot, cluster
        self._economy: Economy | None = None

    def minds_money(self, market: Market, policy: SpotPolicy) -> None:
        """From now on choose by cost as well."""
        self._economy = Economy(market, self._room, policy)

    @cached_property
    def _spot(self) -> AbstractSet[str]:
        return frozenset(node.name for node in self._cluster.nodes if node.spot)

    @cached_property
    def _usable(self) -> AbstractSet[str]:
        return frozenset(node.name for node in self._cluster.nodes if node.usable)

    @cached_property
    def _room(self) -> Headroom:
        return on_demand_headroom(self._snapshot, self._cluster)

    def decide(self, view: JobView, left: Left) -> None:
        """Choose for one job."""
        if self.must(view, left):
            self._keep_off(view, sentence(left))
            return
        if self._economy is None or not _may_be_there_whole(view):
            return
        on = self._nodes_of(view)
        is_on_spot = not on.isdisjoint(self._spot)
        choice = self._economy.choice(view, left, on, is_on_spot=is_on_spot)
        if choice is Choice.ON_DEMAND:
            self._keep_off(view, dearer(left))
        elif choice is Choice.SPOT:
            (self.on if is_on_spot else self.to).add(view.name)
        elif choice is Choice.WAIT:
            self.waiting[view.name] = until(left, self._snapshot.now)

    def keep_unknown(self, view: JobView) -> None:
        """Keep a job off spot that is there and does not say how much it has to do."""
        if self._is_off(view):
            self.off[view.name] = _UNKNOWN

    def must(self, view: JobView, left: Left) -> bool:
        """Whether a job could be late if it stayed on spot for another minute.

        A job off spot returns only if there is time for one interruption, so that it does not go
        back and forth.
        """
        terms = SpotTerms(STEP_SECONDS, left.start_seconds, spot_price=0, on_demand_price=0)
        to_and_fro = left.start_seconds if self._is_off(view) else 0
        standing = Standing(left.work_seconds + to_and_fro, left.seconds, Choice.SPOT)
        return Choice.SPOT not in safe_choices(standing, terms, spot_is_up=True)

    def _keep_off(self, view: JobView, why: str) -> None:
        """Keep a job off spot, if there is room for it, which is reserved from then on."""
        if self._is_off(view):
            self.off[view.name] = why
            return
        kind = self._room.type_for(view)
        if kind is not None:
            self._room.promise(view, kind)
            self.off[view.name] = why

    def _is_off(self, view: JobView) -> bool:
        """Whether a job runs entirely off spot, and may stay there."""
        on = self._nodes_of(view)
        return bool(on) and on.isdisjoint(self._spot)

    def _nodes_of(self, view: JobView) -> AbstractSet[str]:
        """The nodes that a job runs on, if it may stay on all of them."""
        placement = view.resource.status.placement
        places = placement.assignments if placement else ()
        names = frozenset(name for each in places for name in each.nodes)
        return names if names <= self._usable else frozenset()


def sentence(left: Left) -> str:
    """Why a job may no longer be on spot, for people."""
    start = timedelta(seconds=left.start_seconds)
    return (
        f"{_minutes(left.work_seconds)} of work is left, and {_minutes(left.seconds)} until the"
        f" deadline: an interruption, which costs up to {start}, could make it late"
    )


def dearer(left: Left) -> str:
    """Why a job is off spot although it still could be there, for people."""
    return (
        f"{_minutes(left.work_seconds)} of work is left, and {_minutes(left.seconds)} until the"
        " deadline: to wait for spot, or to go back to it, would probably cost more than it saves"
    )


def until(left: Left, now: datetime) -> str:
    """Why a job waits although it could start off spot, for people; the same as time passes."""
    spare = left.seconds - left.work_seconds - left.start_seconds - STEP_SECONDS
    last = now + timedelta(seconds=spare)
    return (
        "waits for spot capacity, which would probably cost less than to start off spot now;"
        f" until {last:%Y-%m-%d %H:%M} UTC at the latest, from when on it could miss its deadline;"
        " to start it now, move work.deadline closer or set spot.allowed to false"
    )


def _with_deadlines(
    views: Iterable[JobView], now: datetime, guard: Guard
) -> list[tuple[JobView, Left | None]]:
    """The jobs with a deadline that may be on spot, with what is left of them, if known."""
    found: list[tuple[JobView, Left | None]] = []
    for view in views:
        job = view.training
        work = job.spec.work if job is not None and job.spec.spot.allowed else None
        if job is not None and work is not None and work.deadline is not None:
            with guard(view):
                found.append((view, time_left(job, now)))
    return found


def _order(urgent: tuple[JobView, Left]) -> tuple[int, float, str]:
    view, left = urgent
    return -(view.priority or 0), left.seconds, view.name


def _may_be_there_whole(view: JobView) -> bool:
    """Whether all of a job may be on spot at once."""
    return view.training is not None and view.training.spec.spot.max_share_percent == 100  # noqa: PLR2004 - percent


def _minutes(seconds: float) -> str:
    return str(timedelta(minutes=round(seconds / 60)))[:-3] if seconds >= 0 else "no time"
