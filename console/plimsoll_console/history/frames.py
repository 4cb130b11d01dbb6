"""The difference between two moments: which jobs changed, how and why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll_console.views.holdings import (
    all_units,
    is_waiting,
    milli_by_type,
    other_units,
    state_of,
)


@dataclass(frozen=True, slots=True)
class JobMoment:
    """A job at one moment: what it does, what it holds of each GPU type, and where."""

    state: str
    reason: str
    message: str
    held: Mapping[str, int]
    nodes: frozenset[str]


Moments = Mapping[JobName, JobMoment]


@dataclass(frozen=True, slots=True)
class JobChange:
    """What changed for a job, as `Change` of the messages has it."""

    job: JobName
    what: str
    reason: str
    message: str
    before: Mapping[str, int]
    after: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """The whole cluster in numbers."""

    gap_percent: float | None
    jobs_running: int
    jobs_waiting: int
    gpus_milli: int
    taken_milli: int


@dataclass(frozen=True, slots=True)
class Keyframe:
    """A moment at which something changed."""

    time: datetime
    figures: Figures
    changes: tuple[JobChange, ...]


_OVER: Final = ("Complete", "Failed")
_NOTHING: Final = JobMoment("", "", "", {}, frozenset())


def moment_of(snapshot: Snapshot, view: JobView) -> JobMoment:
    """A job as it is now."""
    status = view.resource.status
    nodes = (pod.node or pod.wanted_node for pod in view.pods if not pod.is_over)
    return JobMoment(
        state=state_of(view),
        reason=status.reason,
        message=status.message,
        held=milli_by_type(snapshot, view),
        nodes=frozenset(filter(None, nodes)),
    )


def changes_between(before: Moments, now: Moments) -> Iterator[JobChange]:
    """What changed for each job."""
    for name in sorted({*before, *now}):
        was, then = before.get(name, _NOTHING), now.get(name, _NOTHING)
        what = _what(was, then)
        if what:
            yield JobChange(name, what, then.reason, then.message, was.held, then.held)


def _what(was: JobMoment, now: JobMoment) -> str:
    """What changed, in a word; "" for nothing of note."""
    held, before = sum(now.held.values()), sum(was.held.values())
    found = (
        ("", was == now),
        ("Gone", now is _NOTHING),
        ("Ends", now.state != was.state and now.state in _OVER),
        ("Starts", held and not before),
        ("Stops", before and not held),
        ("Grows", held > before),
        ("Shrinks", held < before),
        ("Moves", now.nodes != was.nodes),
        ("Waits", now.state == "Waiting" != was.state),
    )
    return next((what for what, is_so in found if is_so), "")


def figures_of(snapshot: Snapshot) -> Figures:
    """The whole cluster in numbers."""
    policy = snapshot.policy
    plan = policy.status.last_plan if policy is not None else None
    gap = plan.gap_percent if plan is not None else None
    states = [state_of(view) for view in snapshot.jobs]
    offers = [(node, offer) for node in snapshot.nodes for offer in node.offers]
    others = sum(other_units(node, offer) * offer.share_milli for node, offer in offers)
    held = sum(sum(milli_by_type(snapshot, view).values()) for view in snapshot.present)
    return Figures(
        gap_percent=None if gap is None else float(gap),
        jobs_running=states.count("Running"),
        jobs_waiting=sum(map(is_waiting, snapshot.jobs)),
        gpus_milli=sum(all_units(offer) * offer.share_milli for _, offer in offers),
        taken_milli=held + others,
    )
