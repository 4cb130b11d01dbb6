"""Perform steps: a few at a time, each job's in order, the most urgent first.

A failed step is not retried as it is: after a pause, longer each time, a turn decides again from
what is true then. Until its step is done, a job counts as if it were, so that no plan gives its
place away.
"""

import asyncio
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import NoReturn, Protocol

from plimsoll.acting.pacing import ReportingPace
from plimsoll.acting.step import Refusal, Step, only_reports, urgency
from plimsoll.acting.writes.adoption import AT_ONCE, AdoptionWriter
from plimsoll.acting.writes.caps import CapWriter
from plimsoll.acting.writes.orders import OrderListener, OrderWriter
from plimsoll.acting.writes.pods import as_made
from plimsoll.acting.writes.publishing import Publisher
from plimsoll.acting.writes.step_writer import StepListener, StepWriter
from plimsoll.acting.writes.taints import NodeWriter
from plimsoll.acting.writes.unreadable import RefusedWriter
from plimsoll.clock import SYSTEM, Clock
from plimsoll.errors import (
    Conflict,
    NotFound,
    PlimsollError,
    Unavailable,
)
from plimsoll.kube.events import EventRecorder
from plimsoll.kube.http.client import KubeClient
from plimsoll.kube.http.concurrency import Bounds
from plimsoll.kube.objects.objects import Node
from plimsoll.kube.queues.fair_queue import FairQueue
from plimsoll.kube.watching.target_reading import EACH_NAMESPACE
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.supervision import Part, count_unforeseen
from plimsoll.vocabulary import logs
from plimsoll.vocabulary.reasons import Reason

WRITES = Bounds(first=32, least=16, most=256)
"""How many writes may be in flight: so many at first, then as many as the API server bears."""
SHARE_OF_ONE = 0.75
"""What share of them may be for one namespace, whose pods some webhook may delay."""
TARGET_WRITERS = 16
REPORTING_SHARE = 0.5
REPORTED_TOGETHER_SHARE = 0.25
"""What share of them may only write statuses, in all and for one namespace while there is something
else to write: each may be large, and must not keep the API server from all others."""
PATIENCE = 5
"""How often creating pods may fail in the server, in 15 s, before that counts as a refusal."""
STUCK_SECONDS = 10.0
"""A step tried for longer is stuck, unless it only reports and has not failed: only its own job
waits for it, and is not moved."""
SHORTEST_REST_SECONDS = 0.5
MOST_DOUBLINGS = 4
_log = logs.logger(__name__)


class Listener(StepListener, OrderListener, Protocol):
    """Receives that, and also nodes as written and how steps ended."""

    def wrote_node(self, node: Node) -> None:
        """A node was written."""
        ...

    def done(self, step: Step, result: "Result") -> None:
        """A step is over."""
        ...


@dataclass(frozen=True, slots=True)
class Result:
    """How a step went: it is not complete if one of its writes failed.

    `refusal`: why its pods could not be made, if so. `missing`: the API server does not know what
    the step is about, so the job may have been deleted.
    """

    complete: bool
    refusal: Refusal | None = None
    missing: bool = False


@dataclass(slots=True)
class _Failures:
    """How often a job's steps have failed in a row, and how often of that in the server."""

    all: int = 0
    lasting: int = 0


@dataclass(frozen=True, slots=True)
class _InFlight:
    """A step that is not done.

    Whether it only reports, whether many of these hold up plans, and the pods that it makes.
    """

    only_reports: bool
    holds_up_plans: bool
    pods: list[PodView]


class Writer:
    """Performs steps while `run` runs; one at a time for each job.

    `at_once`: how many writes may be in flight, which may change.
    """

    def __init__(  # noqa: PLR0913 - what it writes with, by name
        self,
        client: KubeClient,
        targets: KubeClient,
        events: EventRecorder,
        listener: Listener,
        *,
        clock: Clock = SYSTEM,
        at_once: Callable[[], int] = lambda: WRITES.first,
    ) -> None:
        self._listener, self._at_once = listener, at_once
        self._queue: FairQueue[Step] = FairQueue(each=_share(at_once, SHARE_OF_ONE), most=at_once)
        self._of_targets: FairQueue[Step] = FairQueue(
            each=EACH_NAMESPACE, most=lambda: TARGET_WRITERS
        )
        self._reporting: FairQueue[Step] = FairQueue(
            each=self._reported_together, most=_share(at_once, REPORTING_SHARE)
        )
        self._in_flight: dict[str, _InFlight] = {}
        """The unfinished step of each job, by the job's uid."""
        self._tried_since: dict[str, float] = {}
        self._clock = clock
        self.pace = ReportingPace()
        self._failures: dict[str, _Failures] = {}
        self.publisher = Publisher(client, events)
        self.nodes = NodeWriter(client, events)
        self.orders = OrderWriter(client, events, listener)
        self.caps = CapWriter(client, events, listener.wrote_node)
        self.adoption = AdoptionWriter(client, events, listener, clock)
        self.refused = RefusedWriter(client, events, clock=clock.monotonic)
        self._steps = StepWriter(client, targets, events, listener, clock=clock)
        self._maker = self._steps.maker

    def _reported_together(self) -> int:
        """How many reports of one namespace may be written together: more if that is all."""
        share = REPORTING_SHARE if self._queue.is_idle else REPORTED_TOGETHER_SHARE
        return max(1, int(self._at_once() * share))

    @property
    def in_flight(self) -> frozenset[str]:
        """The uids of the jobs whose steps are not done."""
        return frozenset(self._in_flight)

    def stuck(self) -> frozenset[str]:
        """Those of them whose steps hang, or fail again and again.

        What is only reported is stuck once it fails. Until then it waits for its turn and for the
        API server as everything does. Were that enough, the jobs whose users edit them all the time
        would always be reported, and while the server is slow would give up their places to nobody.
        """
        old = self._clock.monotonic() - STUCK_SECONDS
        return frozenset(
            uid
            for uid, each in self._in_flight.items()
            if self._tried_since[uid] < old and (uid in self._failures or not each.only_reports)
        )

    def under_way(self) -> int:
        """How many steps under way should hold back new ones."""
        stuck = self.stuck()
        return sum(each.holds_up_plans for uid, each in self._in_flight.items() if uid not in stuck)

    def doubtful_pods(self) -> list[PodView]:
        """The pods that may have been made without our knowing, or that are about to be.

        While a step makes pods, the job's user may give up its place by editing or deleting the
        job.
        """
        to_come = (pod for each in self._in_flight.values() for pod in each.pods)
        found = (*self._maker.doubtful(), *to_come)
        return list({(pod.namespace, pod.name): pod for pod in found}.values())

    def submit(self, step: Step) -> None:
        """Queue a step; within a namespace, placement changes come before steps that create pods.

        Steps that write to targets wait only for one another, as targets may hang; so do steps that
        only report, as a namespace may have thousands.
        """
        uid, namespace = step.job.uid, step.job.resource.metadata.namespace
        reports = only_reports(step)
        holds_up_plans = not (step.target or reports)
        self._in_flight[uid] = _InFlight(reports, holds_up_plans, as_made(step.create))
        self._tried_since.setdefault(uid, self._clock.monotonic())
        self.pace.begin(step)
        if step.target:
            self._of_targets.put(namespace, step)
        elif reports:
            self._reporting.put(namespace, step, rank=urgency(step))
        else:
            self._queue.put(namespace, step, rank=2 if step.create else 1 if step.delete else 0)

    def forget_others(self, jobs: Iterable[JobView]) -> None:
        """Forget the failures of all jobs but these."""
        if self._failures or self._maker.unsure or self._tried_since:
            uids = {job.uid for job in jobs}
            for known in (self._failures, self._maker.unsure, self._tried_since):
                for uid in known.keys() - uids - self._in_flight.keys():
                    del known[uid]

    def parts(self) -> list[Part]:
        """The parts that write while they run."""
        return [
            Part("writer", self.run),
            Part("publisher", self.publisher.run),
            Part("node writer", self.nodes.run),
            Part("writer of orders", self.orders.run),
            Part("cap writer", self.caps.run),
            Part("writer of refusals", self.refused.run),
            *(Part(f"adoption {n}", self.adoption.run) for n in range(1, AT_ONCE + 1)),
        ]

    async def run(self) -> NoReturn:
        """Perform steps until cancelled."""
        async with asyncio.TaskGroup() as group:
            for queue in (self._queue, self._of_targets, self._reporting):
                group.create_task(self._work(queue))
        raise AssertionError

    async def _work(self, queue: FairQueue[Step]) -> NoReturn:
        """Perform what is queued, each step by a task of its own."""
        async with asyncio.TaskGroup() as group:
            while True:
                namespace, step = await queue.get()
                group.create_task(self._perform(queue, namespace, step))

    async def _perform(self, queue: FairQueue[Step], namespace: str, step: Step) -> None:
        try:
            await self._attempt(step)
        finally:
            queue.done(namespace)

    async def _attempt(self, step: Step) -> None:
        """Perform a step; whatever goes wrong costs only its own job, which rests for a while."""
        try:
            await self._try(step)
        except asyncio.CancelledError:
            # If this part is restarted, the job must not wait for a step that nobody performs.
            self._end(step, Result(complete=False))
            raise
        except Exception as error:  # noqa: BLE001 - around one job: the others' steps go on
            count_unforeseen("step", error, job=step.job.name)
            self._failed(step, error)

    async def _try(self, step: Step) -> None:
        try:
            refusal = await self._steps.write(step)
        except PlimsollError as error:
            _log.info(
                "step not done",
                job=step.job.name,
                reason=Reason.STALE if isinstance(error, Conflict) else type(error).__name__,
                error=str(error),
            )
            await self._make_sure(step.job)
            self._failed(step, error)
        else:
            self._failures.pop(step.job.uid, None)
            self._tried_since.pop(step.job.uid, None)
            self._end(step, Result(not refusal, Refusal(refusal) if refusal else None))

    async def _make_sure(self, job: JobView) -> None:
        """Find out which pods were made before anything else is done, however long that takes.

        Meanwhile the user may change, suspend or delete the job, and its place may go to another.
        """
        for failures in itertools.count():
            try:
                await self._maker.make_sure(job)
            except Conflict:
                return
            except PlimsollError as error:
                _log.info("pods not listed", job=job.name, error=str(error))
                await asyncio.sleep(rest_seconds(failures))
            else:
                return

    def _failed(self, step: Step, error: Exception) -> None:
        """Let the job rest for a while, or report a refusal if the server fails again and again."""
        failures = self._failures.setdefault(step.job.uid, _Failures())
        failures.lasting += _is_lasting(step, error)
        if failures.lasting > PATIENCE:
            del self._failures[step.job.uid], self._tried_since[step.job.uid]
            self._end(step, Result(complete=False, refusal=Refusal(str(error), fails=True)))
        else:
            seconds = rest_seconds(failures.all)
            failures.all += 1
            result = Result(complete=False, missing=isinstance(error, NotFound))
            asyncio.get_running_loop().call_later(seconds, self._end, step, result)

    def _end(self, step: Step, result: Result) -> None:
        self._in_flight.pop(step.job.uid, None)
        self.pace.end(step)
        try:
            self._listener.done(step, result)
        except Exception as error:  # noqa: BLE001 - around one job: its step is over all the same
            count_unforeseen("step", error, job=step.job.name)


def _share(of: Callable[[], int], share: float) -> Callable[[], int]:
    return lambda: max(1, int(of() * share))


def rest_seconds(failures: int) -> float:
    """How long a job rests after a failed step, given how often it failed before."""
    return SHORTEST_REST_SECONDS * 2.0 ** min(failures, MOST_DOUBLINGS)


def _is_lasting(step: Step, error: Exception) -> bool:
    """Whether pods were not made because the server failed, rather than was unreachable."""
    failed = isinstance(error, Unavailable) and error.status == HTTPStatus.INTERNAL_SERVER_ERROR
    return failed and bool(step.create)
