"""Set aside jobs that cannot be planned or acted on, so that they affect no others.

An error raised while handling one job belongs to that job: it becomes a fault of the job, which is
then set aside, and all others are planned as if it did not exist. What its pods hold stays taken. A
fault is forgotten when the job's spec changes, and after a pause that doubles each time, since the
cause may lie outside its spec.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import Final

from plimsoll.errors import PlimsollError
from plimsoll.observe.eligibility.requests import Requests
from plimsoll.observe.snapshot import JobName, JobView, NodeView, Snapshot
from plimsoll.planning.actions import Hold
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason

SHORTEST_PAUSE: Final = timedelta(minutes=1)
LONGEST_PAUSE: Final = timedelta(minutes=30)
_LONGEST_TEXT: Final = 400
_log = logs.logger(__name__)


class Stage(StrEnum):
    """What was being done when a fault occurred."""

    READ = "Read"
    PLAN = "Plan"
    ACT = "Act"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a job is set aside, in words for its user; until when, or None: until it is readable."""

    job: JobName
    uid: str
    generation: int
    stage: Stage
    message: str
    until: datetime | None = None
    times: int = 1

    def hold(self) -> Hold:
        """The hold reported to a job that waits because of it."""
        return Hold(self.job, Reason.INVALID_SPEC, self.message, inadmissible=True)


@dataclass(frozen=True, slots=True)
class Standing:
    """What to report to jobs, and which of them are set aside.

    A running job whose newest version cannot be read goes on in its last readable version.
    """

    reported: Mapping[JobName, Fault]
    aside: AbstractSet[JobName]


Guard = Callable[[JobView], AbstractContextManager[None]]
"""Contains errors raised inside: they become a fault of that job."""


def unguarded(_view: JobView) -> AbstractContextManager[None]:
    """Let all errors through, for callers that handle a single job."""
    return nullcontext()


def fault_text(error: BaseException) -> str:
    """What is wrong with a job, and what to do, in a sentence."""
    said = " ".join(str(error).split())[:_LONGEST_TEXT]
    if isinstance(error, PlimsollError):
        return said
    what = f"{type(error).__name__}: {said}" if said else type(error).__name__
    return (
        f"it cannot be planned ({what}): a number or text in its spec is probably too large; change"
        " the spec, and it is tried again at once"
    )


class Faults:
    """The faults of jobs, by uid."""

    def __init__(self) -> None:
        self._known: dict[str, Fault] = {}
        self._counted = _Counted()
        self.version = 0
        """Changes whenever a fault is added."""

    def guard(self, now: datetime, stage: Stage = Stage.PLAN) -> Guard:
        """A context that records any error as the job's fault; the caller continues after it."""
        return partial(_Guarded, self, now, stage)

    def add(self, view: JobView, error: BaseException, now: datetime, stage: Stage) -> Fault:
        """Set a job aside, for longer each time while its spec is unchanged."""
        meta = view.resource.metadata
        before = self._known.get(view.uid)
        times = before.times + 1 if before and before.generation == meta.generation else 1
        pause = min(SHORTEST_PAUSE * 2 ** min(times - 1, 10), LONGEST_PAUSE)
        found = Fault(
            view.name, view.uid, meta.generation, stage, fault_text(error), now + pause, times
        )
        self._known[view.uid] = found
        self.version += 1
        metrics.FAULTS.labels(view.resource.kind, stage).inc()
        _log.warning(
            "job set aside",
            job=view.name,
            reason=Reason.INVALID_SPEC,
            stage=stage,
            error=repr(error)[:_LONGEST_TEXT],
            exc_info=None if isinstance(error, PlimsollError) or times > 1 else error,
        )
        return found

    def standing(self, snapshot: Snapshot) -> "Standing":
        """The faults still in force; those of deleted jobs are forgotten."""
        views = {view.uid: view for view in snapshot.jobs} if self._known else {}
        self._known = {uid: fault for uid, fault in self._known.items() if uid in views}
        own = {
            fault.job: fault
            for uid, fault in self._known.items()
            if (fault.until is None or fault.until > snapshot.now)
            and fault.generation == views[uid].resource.metadata.generation
        }
        unread = _unread(snapshot)
        runs = {name for name in unread if snapshot.job_by_name[name].resource.status.placement}
        return Standing({**unread, **own}, frozenset({*own, *unread} - (runs - own.keys())))

    def without(self, snapshot: Snapshot, names: AbstractSet[JobName]) -> Snapshot:
        """The snapshot without these jobs; what their pods hold counts as taken by others."""
        return self._counted.without(snapshot, names) if names else snapshot


class _Guarded:
    """Records an error as a job's fault. Not a generator: a turn enters thousands of these."""

    __slots__ = "_faults", "_now", "_stage", "_view"

    def __init__(self, faults: Faults, now: datetime, stage: Stage, view: JobView) -> None:
        self._faults, self._now, self._stage, self._view = faults, now, stage, view

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, _type: type[BaseException] | None, error: BaseException | None, _at: object
    ) -> bool:
        # Around one object: the others go on.
        if not isinstance(error, Exception):
            return False
        self._faults.add(self._view, error, self._now, self._stage)
        return True


def _unread(snapshot: Snapshot) -> dict[JobName, Fault]:
    """The jobs of which only an older version is readable."""
    found: dict[JobName, Fault] = {}
    for each in snapshot.refused:
        name = JobName(str(each))
        if name in snapshot.job_by_name:
            found[name] = Fault(name, each.uid, each.generation, Stage.READ, each.why)
    return found


class _Counted:
    """Memoises the reduced nodes, so that the same node remains the same object."""

    def __init__(self) -> None:
        self._nodes: dict[str, tuple[NodeView, tuple[Requests, ...], NodeView]] = {}

    def without(self, snapshot: Snapshot, names: AbstractSet[JobName]) -> Snapshot:
        held = _held(view for view in snapshot.jobs if view.name in names)
        before, self._nodes = self._nodes, {}
        nodes = tuple(
            self._smaller(node, held[node.name], before) if node.name in held else node
            for node in snapshot.nodes
        )
        jobs = tuple(view for view in snapshot.jobs if view.name not in names)
        return replace(snapshot, jobs=jobs, nodes=nodes)

    def _smaller(
        self,
        node: NodeView,
        held: tuple[Requests, ...],
        before: Mapping[str, tuple[NodeView, tuple[Requests, ...], NodeView]],
    ) -> NodeView:
        known = before.get(node.name)
        if known is None or known[0] is not node or known[1] != held:
            known = (node, held, node.less(held))
        self._nodes[node.name] = known
        return known[2]


def _held(views: Iterable[JobView]) -> dict[str, tuple[Requests, ...]]:
    """What the pods of jobs hold, by the node where they are or to which they are sent."""
    found: defaultdict[str, list[Requests]] = defaultdict(list)
    for view in views:
        for pod in view.pods:
            if not pod.is_over:
                found[pod.node or pod.wanted_node].append(pod.requests)
    return {name: tuple(requests) for name, requests in found.items()}
