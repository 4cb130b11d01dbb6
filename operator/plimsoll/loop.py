"""The one loop: look, plan, look again, act. A lost event costs nothing, for all is looked at anew.

Events only wake it. What it remembers between turns saves work and decides nothing.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import NoReturn, Protocol

from plimsoll import telemetry
from plimsoll.acting.cluster_status import cluster_statuses
from plimsoll.acting.counting import count, count_jobs, forget_jobs
from plimsoll.acting.occupancy import Occupancy
from plimsoll.acting.pacing import due_changes
from plimsoll.acting.step import Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.acting.writing import Result, Writer
from plimsoll.api.kinds import JobStatus
from plimsoll.kube.objects import Pod
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Change, Hold, Plan
from plimsoll.planning.decisions import Answer, plan_of
from plimsoll.planning.effort import LARGE, effort, effort_now
from plimsoll.planning.jobs import Translator
from plimsoll.planning.lateness import carried_over
from plimsoll.planning.problems import Question, question
from plimsoll.planning.quarantine import quarantine_changes
from plimsoll.planning.soundness import renewed, settled
from plimsoll.planning.spot_history import interruption_rate
from plimsoll.searching import BackgroundSearch
from plimsoll.snapshots.recorder import Recorder
from plimsoll.snapshots.writing import Moment
from plimsoll.solving import Solver
from plimsoll.telemetry import Reason
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution

_log = telemetry.logger(__name__)


@dataclass(frozen=True, slots=True)
class LoopTerms:
    """How often the loop turns: after a turn it rests for `pause`, or thrice what the turn took.

    `most_in_flight`: how many jobs' writes may be under way; the next plan waits until three
    quarters of them are done, and meanwhile the loop rests for `busy_pause`, for turns and writes
    share one processor. From `large` nodes and jobs on, small changes are answered at once and the
    whole is searched afterwards. `worker_url` is where workers report to.
    """

    pause_seconds: float = 0.2
    busy_pause_seconds: float = 0.7
    idle_seconds: float = 5.0
    most_in_flight: int = 256
    cluster_status_seconds: float = 2.0
    large: int = LARGE
    worker_url: str = ""


class View(Protocol):
    """What is known of the cluster, however it became known."""

    @property
    def resources(self) -> CustomResources:
        """The custom resources."""
        ...

    def objects(self) -> Objects:
        """Everything, as the watches know it now."""
        ...

    def wrote_pod(self, pod: Pod) -> None:
        """Take in a pod as it was written, before the watch says it."""
        ...


class Loop:
    """Turns while `run` runs."""

    def __init__(
        self,
        view: View,
        solver: Solver,
        wake: asyncio.Event,
        *,
        recorder: Recorder,
        terms: LoopTerms | None = None,
    ) -> None:
        self._recorder = recorder
        self.wake = wake
        self._view = view
        self._solver = solver
        self._terms = terms or LoopTerms()
        self._observer, self._translator, self._steps = Observer(), Translator(), Steps()
        self._search = BackgroundSearch(solver, wake.set)
        self.interruptions_per_hour: Mapping[str, Decimal] = {}
        """How often a node of each pool is taken back, by the pool's name."""
        self._settled: Problem | None = None
        self._before: Problem | None = None
        self._plan: Plan | None = None
        self._changes: tuple[Change, ...] = ()
        self._refusals: dict[str, str] = {}
        self._again_at: datetime | None = None
        self._published = 0.0
        self._publish_at: float | None = None

    def snapshot(self) -> Snapshot:
        """The cluster as it is known now."""
        return self._observer.snapshot(self._view.objects(), datetime.now(UTC))

    async def run(
        self, writer: Writer, beat: Callable[[], None], leads: Callable[[], bool]
    ) -> NoReturn:
        """Turn until cancelled, whenever this replica leads; `beat` is called after each turn."""
        while True:
            started = time.monotonic()
            try:
                if leads():
                    await self._turn(writer)
                else:
                    forget_jobs()
            except Exception:  # noqa: BLE001 - the one catch-all: the next turn starts from what is true
                telemetry.LOOP_ERRORS.inc()
                _log.exception("turn failed")
            took = time.monotonic() - started
            telemetry.LOOP_SECONDS.observe(took)
            beat()
            await asyncio.sleep(self._rest_seconds(took, writer))
            await self._woken()

    def _rest_seconds(self, took: float, writer: Writer) -> float:
        terms = self._terms
        pause = terms.busy_pause_seconds if self._is_busy(writer) else terms.pause_seconds
        return max(pause, min(3 * took, 1.0))

    def _is_busy(self, writer: Writer) -> bool:
        return len(writer.in_flight) > self._terms.most_in_flight // 4

    async def _woken(self) -> None:
        """Wait until something has changed, or until it is time to look anyway."""
        seconds = self._terms.idle_seconds
        if self._again_at is not None:
            until = (self._again_at - datetime.now(UTC)).total_seconds()
            seconds = min(seconds, max(0.0, until))
        if self._publish_at is not None:
            seconds = min(seconds, max(0.0, self._publish_at - time.monotonic()))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.wake.wait(), seconds)
        self.wake.clear()

    async def _turn(self, writer: Writer) -> None:
        objects, now = self._view.objects(), datetime.now(UTC)
        snapshot = self._observer.snapshot(objects, now)
        self.interruptions_per_hour = {
            pool.metadata.name: interruption_rate(pool) for pool in snapshot.pools
        }
        asked = question(snapshot, self._translator)
        whole = effort(snapshot)
        found = self._search.answer()
        is_late = found is not None and found.problem != asked.problem
        late = self._carried(found, asked) if found is not None and is_late else None
        answer, spent = late, whole
        if found is not None and not is_late:
            answer = Answer(asked, found.solution)
        elif late is None and self._needs_plan(asked.problem, writer):
            spent = effort_now(whole, asked.problem, self._before, large=self._terms.large)
            # What was only advised may not be true any more once advice becomes action.
            self._changes = ()
            answer = Answer(asked, await self._solved(asked, spent, writer))
            self._search.end() if spent == whole else self._search.want()
        if answer is not None and late is None:
            self._recorder.record(Moment(objects, now, spent, answer.solution))
        if answer is not None:
            snapshot = self.snapshot()
            planned = self._planned(snapshot, answer)
            if planned is None:
                self.wake.set()
                return
            asked = planned
        if late is not None:
            # It says nothing of what has changed meanwhile.
            self._settled = None
        elif self._settled is not None:
            self._search.begin(replace(asked, problem=self._settled), whole)
        self._act(snapshot, asked, writer)
        self._publish(snapshot, asked, writer)

    def _carried(self, late: Answer, asked: Question) -> Answer | None:
        """What is left of an answer of the search of the whole, for what is asked now."""
        answer = carried_over(late, asked)
        if answer is None:
            telemetry.PLANS_DROPPED.labels(Reason.STALE).inc()
            _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=["the cluster changed"])
        return answer

    async def _solved(self, asked: Question, spent: Effort, writer: Writer) -> Solution:
        """The solver's answer. While it searches, what needs no plan goes on."""
        search = asyncio.create_task(self._solver.solve(asked.problem, spent))
        try:
            while not search.done():
                await asyncio.wait({search}, timeout=self._terms.busy_pause_seconds)
                if not search.done():
                    now = self.snapshot()
                    self._act(now, question(now, self._translator), writer)
            return search.result()
        finally:
            search.cancel()

    def _needs_plan(self, problem: Problem, writer: Writer) -> bool:
        """Whether there is something new; while many writes are under way, those come first."""
        if self._plan is not None and problem == self._settled:
            return False
        return self._plan is None or not self._is_busy(writer)

    def _planned(self, snapshot: Snapshot, answer: Answer) -> Question | None:
        """Look again: the question as it is now, None if the answer no longer holds for it."""
        fresh, broken = renewed(answer, question(snapshot, self._translator))
        if broken:
            telemetry.PLANS_DROPPED.labels(Reason.STALE).inc()
            _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=[str(b) for b in broken])
            return None
        self._plan = plan_of(snapshot, fresh)
        self._changes = self._plan.changes
        # Not the fresh one: what has changed since it was asked is planned for next.
        self._before = answer.problem if advises(snapshot) else settled(answer)
        self._settled = self._before
        _log.info(
            "planned",
            changes=len(self._plan.changes),
            holds=len(self._plan.holds),
            gap_percent=round(self._plan.gap_percent, 2),
            outcome=self._plan.outcome,
        )
        return fresh.question

    def _act(self, snapshot: Snapshot, asked: Question, writer: Writer) -> None:
        if self._plan is None or advises(snapshot):
            return
        busy, names = writer.in_flight, snapshot.job_by_name
        due = due_changes(
            self._changes,
            is_busy=lambda name: names[name].uid in busy,
            room=self._terms.most_in_flight - len(busy),
        )
        if len(due) < len(self._changes):
            self._settled = None
        actions = (*holds_now(self._plan, asked), *due)
        turn = Turn(
            snapshot,
            Occupancy(snapshot),
            decided={action.job: action for action in actions},
            short=self._plan.short,
            off_spot=asked.off_spot,
            refused=self._refusals,
            worker_url=self._terms.worker_url,
        )
        self._refusals = {}
        again: list[datetime] = []
        for step in self._steps.of(turn, busy):
            if step.again_at is not None:
                again.append(step.again_at)
            if step.has_writes:
                self._view.resources.assume(step.job.uid, step.status)
                writer.submit(step)
        self._again_at = min(again, default=None)
        self._changes = ()

    def _publish(self, snapshot: Snapshot, asked: Question, writer: Writer) -> None:
        """Tell what queues, pools, domains and the policy should say, now and then."""
        if self._plan is None:
            return
        due = self._published + self._terms.cluster_status_seconds
        wait = time.monotonic() < due or writer.is_publishing
        self._publish_at = due if wait else None
        if wait:
            return
        self._published = time.monotonic()
        count_jobs(snapshot)
        plan = replace(self._plan, holds=tuple(holds_now(self._plan, asked)))
        writer.publish(list(cluster_statuses(snapshot, asked.problem, plan)))
        if not advises(snapshot) and not writer.nodes.is_busy:
            writer.nodes.submit(quarantine_changes(snapshot))

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written."""
        self._view.wrote_pod(pod)

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """A job's status is in the API server, in this version."""
        self._view.resources.wrote(job.resource, status, version)

    def done(self, step: Step, result: Result) -> None:
        """A step is over; what it did not do is seen in the next turn."""
        self._view.resources.forget(step.job.uid)
        if result.refusal:
            self._refusals[step.job.uid] = result.refusal
        if result.complete:
            count(step)
        else:
            self._settled = None
        self.wake.set()


def holds_now(plan: Plan, asked: Question) -> list[Hold]:
    """Who waits: as the plan says where that is still so, and who cannot be planned at all."""
    waiting = {job.name for job in asked.problem.jobs if not job.running}
    return [*(hold for hold in plan.holds if hold.job in waiting), *asked.holds]


def advises(snapshot: Snapshot) -> bool:
    """Whether plans are only published."""
    return snapshot.policy is not None and snapshot.policy.spec.mode == "Advise"
