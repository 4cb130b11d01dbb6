"""Choose the jobs that must leave spot capacity to meet their deadlines, and can.

A job with a deadline may be on spot as long as on-demand capacity alone could still finish it in
time if spot disappeared in a minute. After that it is on-demand only, if there is room: waiting for
on-demand would make it later than carrying on on spot. The remaining work comes from the job's own
count, and its rate from its own measurements.
"""

from collections.abc import Container, Iterable
from datetime import datetime, timedelta

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.faults import Guard, unguarded
from plimsoll.planning.spot.headroom import Headroom, on_demand_headroom
from plimsoll.planning.training.expected_end import Left, time_left
from plimsoll_placement.estimate.spot.choice import Choice, SpotTerms, Standing, safe_choices

STEP_SECONDS = 60
"""How long the plan may take to react, not counting starts."""


def off_spot(
    snapshot: Snapshot, cluster: Cluster, views: Iterable[JobView], guard: Guard = unguarded
) -> dict[JobName, str]:
    """The jobs that their deadline keeps off spot from now on, each with the reason."""
    hurried = _with_deadlines(views, snapshot.now, guard)
    if not hurried:
        return {}
    spot = frozenset(node.name for node in cluster.nodes if node.spot)
    urgent = [each for each in hurried if _must(*each, spot)]
    room = on_demand_headroom(snapshot, cluster) if urgent else None
    found: dict[JobName, str] = {}
    for view, left in sorted(urgent, key=_order):
        with guard(view):
            if room is not None and (_is_off(view, spot) or _has_room(view, room)):
                found[view.name] = sentence(left)
    return found


def sentence(left: Left) -> str:
    """Why a job may no longer be on spot, for people."""
    start = timedelta(seconds=left.start_seconds)
    return (
        f"{_minutes(left.work_seconds)} of work is left, and {_minutes(left.seconds)} until the"
        f" deadline: an interruption, which costs up to {start}, could make it late"
    )


def _with_deadlines(
    views: Iterable[JobView], now: datetime, guard: Guard
) -> list[tuple[JobView, Left]]:
    found: list[tuple[JobView, Left]] = []
    for view in views:
        job = view.training
        if job is None or not job.spec.spot.allowed:
            continue
        with guard(view):
            left = time_left(job, now)
            if left is not None and left.work_seconds > 0:
                found.append((view, left))
    return found


def _order(urgent: tuple[JobView, Left]) -> tuple[int, float, str]:
    view, left = urgent
    return -(view.priority or 0), left.seconds, view.name


def _must(view: JobView, left: Left, spot: Container[str]) -> bool:
    """Whether a job could be late if it stayed on spot for another minute.

    A job off spot returns only if there is time for one interruption, so that it does not go back
    and forth.
    """
    terms = SpotTerms(STEP_SECONDS, left.start_seconds, spot_price=0, on_demand_price=0)
    to_and_fro = left.start_seconds if _is_off(view, spot) else 0
    standing = Standing(left.work_seconds + to_and_fro, left.seconds, Choice.SPOT)
    return Choice.SPOT not in safe_choices(standing, terms, spot_is_up=True)


def _is_off(view: JobView, spot: Container[str]) -> bool:
    """Whether a job runs entirely off spot."""
    placement = view.resource.status.placement
    names = [name for each in (placement.assignments if placement else ()) for name in each.nodes]
    return bool(names) and not any(name in spot for name in names)


def _has_room(view: JobView, room: Headroom) -> bool:
    """Whether there is room off spot, which is reserved for the job from then on."""
    kind = room.type_for(view)
    if kind is not None:
        room.promise(view, kind)
    return kind is not None


def _minutes(seconds: float) -> str:
    return str(timedelta(minutes=round(seconds / 60)))[:-3] if seconds >= 0 else "no time"
