"""The control loop: observe, plan, observe again, act.

It is level-triggered: events only wake it, and each turn looks at everything anew, so a lost event
costs nothing. What it remembers between turns saves work and decides nothing.
"""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NoReturn

from plimsoll.acting.metrics.counting import count
from plimsoll.acting.pacing import due_changes, most_in_flight
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Refusal, Step, Turn
from plimsoll.acting.steps import Steps
from plimsoll.acting.writes.writer import Result, Writer
from plimsoll.api.kinds import JobStatus
from plimsoll.control.background_search import BackgroundSearch
from plimsoll.control.cluster_reporting import ClusterReporting
from plimsoll.control.isolation import Isolation
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.solver_process import Solver
from plimsoll.control.view import View
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.actions import Change, Plan
from plimsoll.planning.capping.reaction import Reactions, cap_changes
from plimsoll.planning.cluster.interruptions import interruption_rate
from plimsoll.planning.disruption.budgets import must_leave
from plimsoll.planning.disruption.quarantine import quarantine_changes
from plimsoll.planning.faults import Stage
from plimsoll.planning.plan.decisions import PlanResult, holds_now, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import carried_over, renewed, settled
from plimsoll.planning.power.capped_jobs import capped_jobs
from plimsoll.planning.power.job_power import JobPowers
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.effort import effort, effort_now
from plimsoll.planning.serving.target_jobs import has_usable_target
from plimsoll.snapshots.recorder import Recorder
from plimsoll.snapshots.writing import Moment
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution

_log = logs.logger(__name__)


class Loop:
    """Takes turns while `run` runs."""

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
        self._observer, self._builder = Observer(), ProblemBuilder()
        self._steps = Steps(self._builder.faults)
        self._search = BackgroundSearch(solver, wake.set)
        self._isolation = Isolation(solver)
        self._powers, self._reactions = JobPowers(), Reactions()
        seconds = self._terms.cluster_status_seconds
        self._telling = ClusterReporting(self._reactions, seconds=seconds)
        self.interruptions_per_hour: Mapping[str, Decimal] = {}
        """How often a node of each pool is reclaimed, by the pool's name."""
        self.targeting: Mapping[str, JobView] = {}
        """Jobs whose target can be acted on, as last seen, by uid."""
        self.latest: Snapshot | None = None
        """The latest snapshot of the cluster."""
        self._settled: Problem | None = None
        self._before: Problem | None = None
        self._plan: Plan | None = None
        self._asked: PlanInput | None = None
        self._last_turn: Turn | None = None
        self._unexplained_until = self._guarded_at = -math.inf
        self._changes: tuple[Change, ...] = ()
        self._refusals: dict[str, Refusal] = {}
        self._again_at: datetime | None = None
        self._stuck = frozenset[str]()
        self._beat: Callable[[], None] = lambda: None

    def snapshot(self) -> Snapshot:
        """The cluster as currently known."""
        return self._seen(self._view.objects(), datetime.now(UTC))

    def _seen(self, objects: Objects, now: datetime) -> Snapshot:
        return replace(self._observer.snapshot(objects, now), stuck=self._stuck)

    async def run(
        self, writer: Writer, beat: Callable[[], None], may_act: Callable[[], bool]
    ) -> NoReturn:
        """Take turns until cancelled, whenever this replica may act.

        `beat` is called after each turn, and while a search runs after each look at the cluster.
        """
        self._beat = beat
        while True:
            started = time.monotonic()
            try:
                if may_act():
                    await self._turn(writer)
                else:
                    self._solver.warm_up()
                    self._telling.forget()
            except Exception as error:  # noqa: BLE001 - the next turn starts from what is true
                await self._recover(error, writer)
            took = time.monotonic() - started
            metrics.LOOP_SECONDS.observe(took)
            beat()
            await asyncio.sleep(self._rest_seconds(took, writer))
            await self._woken()

    async def _recover(self, error: Exception, writer: Writer) -> None:
        """Carry on with what needs no plan, and set aside the job that makes planning fail."""
        self._settled, self._changes = None, ()
        self._carry_on(writer)
        found = await self._culprit()
        if found is None:
            metrics.LOOP_ERRORS.inc()
            _log.error("turn failed", exc_info=error)
            return
        self._builder.faults.add(found, error, datetime.now(UTC), Stage.PLAN)
        self.wake.set()

    async def _culprit(self) -> JobView | None:
        """The job that makes planning fail; None if there is none, which is remembered for a while.

        Such a search takes many trials.
        """
        if self.latest is None or time.monotonic() < self._unexplained_until:
            return None
        found = await self._isolation.culprit(self.latest, self._beat)
        if found is None:
            self._unexplained_until = time.monotonic() + self._terms.unexplained_seconds
        return found

    def _carry_on(self, writer: Writer) -> None:
        """Do what needs no plan by the last plan input; a failing part does not stop the others."""
        asked, turn = self._asked, self._last_turn
        if asked is None or turn is None:
            return
        snapshot = self.snapshot()
        occupancy = Occupancy(snapshot, writer.doubtful_pods())
        now = replace(turn, snapshot=snapshot, occupancy=occupancy, decided={})
        parts: tuple[Callable[[], None], ...] = (
            lambda: self._guard(snapshot, writer),
            lambda: self._cap(snapshot, asked, writer),
            lambda: self._step(now, writer),
        )
        for part in parts:
            try:
                part()
            except Exception:  # noqa: BLE001 - around a part: the others go on, and it is counted
                metrics.LOOP_ERRORS.inc()
                _log.exception("a part of the turn failed")

    def _rest_seconds(self, took: float, writer: Writer) -> float:
        terms = self._terms
        pause = terms.busy_pause_seconds if self._is_busy(writer) else terms.pause_seconds
        return max(pause, min(3 * took, 1.0))

    def _is_busy(self, writer: Writer) -> bool:
        jobs = len(self.latest.jobs) if self.latest is not None else 0
        return writer.under_way() > most_in_flight(jobs) // 4

    async def _woken(self) -> None:
        """Wait until something has changed, or until the next look is due."""
        seconds = self._terms.idle_seconds
        if self._again_at is not None:
            until = (self._again_at - datetime.now(UTC)).total_seconds()
            seconds = min(seconds, max(0.0, until))
        if self._telling.due is not None:
            seconds = min(seconds, max(0.0, self._telling.due - time.monotonic()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        self.wake.clear()

    async def _turn(self, writer: Writer) -> None:
        objects, now = self._view.objects(), datetime.now(UTC)
        self._stuck = writer.stuck()
        snapshot = self._seen(objects, now)
        self.interruptions_per_hour = {
            pool.metadata.name: interruption_rate(pool) for pool in snapshot.pools
        }
        self.targeting = {job.uid: job for job in snapshot.jobs if has_usable_target(job)}
        self.latest = snapshot
        asked = self._plan_input(snapshot, writer)
        whole = effort(snapshot)
        found = self._search.take_result()
        is_late = found is not None and found.problem != asked.problem
        late = self._carried(found, asked) if found is not None and is_late else None
        answer, spent = late, whole
        if found is not None and not is_late:
            answer = PlanResult(asked, found.solution)
        elif late is None and self._needs_plan(asked.problem, writer):
            spent = effort_now(whole, asked.problem, self._before, large=self._terms.large)
            # What was only advised may no longer hold once advice turns into action.
            self._changes = ()
            answer = PlanResult(asked, await self._solved(asked, spent, writer))
            self._search.end() if spent == whole else self._search.want()
        if answer is not None and late is None:
            self._recorder.record(Moment(objects, now, spent, answer.solution))
        if answer is not None:
            seen = self._seen_again(answer)
            if seen is None:
                self.wake.set()
                return
            snapshot, asked = seen
        if late is not None:
            # It does not cover what has changed meanwhile.
            self._settled = None
        elif self._settled is not None:
            self._search.begin(replace(asked, problem=self._settled), whole)
        self._act(snapshot, asked, writer)
        self._tell(snapshot, asked, writer)

    def _carried(self, late: PlanResult, asked: PlanInput) -> PlanResult | None:
        """What remains of a background search's result for the current plan input."""
        answer = carried_over(late, asked)
        if answer is None:
            metrics.PLANS_DROPPED.labels(Reason.STALE).inc()
            _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=["the cluster changed"])
        return answer

    async def _solved(self, asked: PlanInput, spent: Effort, writer: Writer) -> Solution:
        """The solver's solution. While the solver searches, what needs no plan goes on."""
        search = asyncio.create_task(self._solver.solve(asked.problem, spent))
        pause = self._terms.busy_pause_seconds
        try:
            while not search.done():
                await asyncio.wait({search}, timeout=pause)
                if not search.done():
                    started = time.monotonic()
                    self._go_on(writer)
                    self._beat()
                    # The search needs the processor, and so does renewing the lease.
                    pause = max(pause, 3 * (time.monotonic() - started))
            return search.result()
        finally:
            search.cancel()

    def _go_on(self, writer: Writer) -> None:
        """Do what needs no plan."""
        snapshot = self.snapshot()
        asked = self._plan_input(snapshot, writer)
        self._act(snapshot, asked, writer)
        self._tell(snapshot, asked, writer)

    def _needs_plan(self, problem: Problem, writer: Writer) -> bool:
        """Whether there is something new to plan; writes come first while many are under way."""
        if self._plan is not None and problem == self._settled:
            return False
        return self._plan is None or not self._is_busy(writer)

    def _seen_again(self, answer: PlanResult) -> tuple[Snapshot, PlanInput] | None:
        """The fresh snapshot and plan input after a solve; None if they cannot be acted on.

        Nothing may be awaited between taking a snapshot and acting on it: a write that failed in
        between would count as done.
        """
        snapshot = self.snapshot()
        asked = self._planned(snapshot, answer)
        return None if asked is None else (snapshot, asked)

    def _planned(self, snapshot: Snapshot, answer: PlanResult) -> PlanInput | None:
        """Validate the result against the current plan input; None if it no longer holds."""
        answer = with_ordinals(snapshot, answer)
        fresh, broken = renewed(answer, plan_input_of(snapshot, self._builder))
        if broken:
            metrics.PLANS_DROPPED.labels(Reason.STALE).inc()
            _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=[str(b) for b in broken])
            return None
        self._plan = plan_of(snapshot, fresh)
        self._changes = self._plan.changes
        # Not the fresh one: changes since the plan input was made are planned for in the next turn.
        self._before = answer.problem if snapshot.advises else settled(answer)
        self._settled = self._before
        _log.info(
            "planned",
            changes=len(self._plan.changes),
            holds=len(self._plan.holds),
            gap_percent=round(self._plan.gap_percent, 2),
            outcome=self._plan.outcome,
        )
        return fresh.plan_input

    def _plan_input(self, snapshot: Snapshot, writer: Writer) -> PlanInput:
        """The current plan input. Whatever comes of it, close faulty nodes and cap GPUs."""
        self._guard(snapshot, writer)
        self._asked = asked = plan_input_of(snapshot, self._builder)
        self._cap(snapshot, asked, writer)
        return asked

    def _guard(self, snapshot: Snapshot, writer: Writer) -> None:
        """Close faulty nodes, reopen those closed long enough, and report unreadable objects."""
        # Jobs are left alone while plans are only advice.
        told = [each for each in snapshot.refused if not (snapshot.advises and each.namespace)]
        writer.refused.submit(told, snapshot.now)
        wait = time.monotonic() < self._guarded_at + self._terms.cluster_status_seconds
        if not wait and not snapshot.advises and not writer.nodes.is_busy:
            self._guarded_at = time.monotonic()
            writer.nodes.submit(quarantine_changes(snapshot))

    def _cap(self, snapshot: Snapshot, asked: PlanInput, writer: Writer) -> None:
        """Cap GPUs as their power domains require; this waits for no plan."""
        if not snapshot.advises:
            reactions = self._reactions.of(snapshot, asked)
            writer.caps.submit(cap_changes(snapshot, reactions))

    def _act(self, snapshot: Snapshot, asked: PlanInput, writer: Writer) -> None:
        if self._plan is None or snapshot.advises:
            return
        due = due_changes(
            self._changes,
            is_busy=lambda name: self._is_awaited(snapshot.job_by_name[name], snapshot, writer),
            room=most_in_flight(len(snapshot.jobs)) - writer.under_way(),
        )
        if len(due) < len(self._changes):
            self._settled = None
        actions = (*holds_now(self._plan, asked), *due)
        turn = Turn(
            snapshot,
            Occupancy(snapshot, writer.doubtful_pods()),
            decided={action.job: action for action in actions},
            short=self._plan.short,
            off_spot=asked.off_spot,
            capped=capped_jobs(snapshot, asked.problem),
            powers=self._powers.news(snapshot, asked.as_it_runs),
            faults=asked.faults,
            refused=self._refusals,
            asks_for_loads=self._terms.asks_for_loads,
            worker_url=self._terms.worker_url,
        )
        self._refusals, self._last_turn = {}, turn
        self._step(turn, writer)
        self._changes = ()

    @staticmethod
    def _is_awaited(job: JobView, snapshot: Snapshot, writer: Writer) -> bool:
        """Whether a job that must give something up has to be written first.

        Nothing waits for a node where nothing may be placed.
        """
        is_stuck = job.uid in snapshot.stuck
        return job.uid in writer.in_flight and not (is_stuck and must_leave(job, snapshot))

    def _step(self, turn: Turn, writer: Writer) -> None:
        writer.forget_others(turn.snapshot.jobs)
        again: list[datetime] = []
        for step in self._steps.of(turn, writer.in_flight):
            if step.again_at is not None:
                again.append(step.again_at)
            if step.has_writes and writer.pace.has_room(step):
                self._view.resources.assume(step.job.uid, step.status)
                writer.submit(step)
        self._again_at = min(again, default=None)

    def _tell(self, snapshot: Snapshot, asked: PlanInput, writer: Writer) -> None:
        if self._plan is not None:
            self._telling.tell(snapshot, asked, self._plan, writer)

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written."""
        self._view.wrote_pod(pod)

    def wrote_node(self, node: Node) -> None:
        """A node was written."""
        self._view.wrote_node(node)

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """A target's replica count was set."""
        self._view.wrote_scale(reference, scale)

    def doubted(self, reference: Reference) -> None:
        """A target's replica count differs from the assumed one."""
        self._view.doubted(reference)

    def read_job(self, raw: dict[str, Any]) -> None:
        """The API server holds the job in this form."""
        self._view.resources.told(raw)

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """The API server holds a job's status in this version."""
        self._view.resources.wrote(job.resource, status, version)

    def done(self, step: Step, result: Result) -> None:
        """A step is over; what it left undone is seen in the next turn."""
        self._view.resources.forget(step.job.uid)
        if result.missing:
            self._view.missed(step.job.resource.kind)
        if result.refusal is not None:
            self._refusals[step.job.uid] = result.refusal
        if result.complete and self.latest is not None:
            count(step, self.latest)
        else:
            self._settled = None
        self.wake.set()
