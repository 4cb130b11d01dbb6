"""The control loop: observe, plan, observe again, act.

It is level-triggered: events only wake it, and each turn looks at everything anew, so a lost event
costs nothing. What it remembers between turns saves work and decides nothing.
"""

import asyncio
import contextlib
import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from decimal import Decimal
from typing import Any, NoReturn

from plimsoll.acting.metrics.counting import count
from plimsoll.acting.pacing import most_in_flight
from plimsoll.acting.step import Step
from plimsoll.acting.writes.writer import Result, Writer
from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.kinds import JobStatus
from plimsoll.control.cluster_reporting import ClusterReporting
from plimsoll.control.current_plan import CurrentPlan, report_dropped
from plimsoll.control.dispatch import Dispatch
from plimsoll.control.fence import fenced
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.plan_inputs import PlanInputs
from plimsoll.control.provisioning.procurement import Procurement
from plimsoll.control.recheck import Recheck, RecheckedPart
from plimsoll.control.solving.background_search import BackgroundSearch
from plimsoll.control.solving.isolation import Isolation
from plimsoll.control.solving.solver import Solver
from plimsoll.control.turn_cost import TurnPart, counted
from plimsoll.control.view import View
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import Node, Pod
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reference, Scale
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.capping.reaction import Reactions
from plimsoll.planning.cluster.interruptions import interruption_rate
from plimsoll.planning.faults import Stage
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.plan.validation import carried_over
from plimsoll.planning.problem.build import PlanInput
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.effort import effort, effort_now
from plimsoll.planning.serving.target_jobs import has_usable_target
from plimsoll.snapshots.recorder import Recorder
from plimsoll.snapshots.writing import Moment
from plimsoll.vocabulary import logs, metrics
from plimsoll_placement.effort import Effort
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Outcome, Solution

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
        self._recorder, self._clock = recorder, view.clock
        self.wake = wake
        self._view = view
        self._solver = solver
        self._terms = terms or LoopTerms()
        self._observer, self._builder = Observer(), ProblemBuilder()
        unchanged = self._terms.unchanged_seconds
        self._plan_inputs = PlanInputs(self._builder, seconds=unchanged)
        self._search = BackgroundSearch(solver, wake.set)
        self._isolation = Isolation(solver)
        self._recheck = Recheck(self._clock, seconds=self._terms.recheck_seconds)
        self._procurement = Procurement(solver, view.clock, wake.set, terms=self._terms)
        reactions = Reactions()
        self._current = CurrentPlan()
        self._dispatch = Dispatch(
            view, self._builder.faults, reactions, self._procurement, terms=self._terms
        )
        self._cluster_reporting = ClusterReporting(reactions, self._clock, terms=self._terms)
        self.interruptions_per_hour: Mapping[str, Decimal] = {}
        """How often a node of each pool is reclaimed, by the pool's name."""
        self.targeting: Mapping[str, JobView] = {}
        """Jobs whose target can be acted on, as last seen, by uid."""
        self.latest: Snapshot | None = None
        """The latest snapshot of the cluster."""
        self._unexplained_until = -math.inf
        self._stuck = frozenset[str]()
        self._beat: Callable[[], None] = lambda: None
        self._awaited_seconds = 0.0
        """How long the present turn has waited for the solver, and others could work."""

    def snapshot(self) -> Snapshot:
        """The cluster as currently known."""
        return self._look()[1]

    def _look(self) -> tuple[Objects, Snapshot]:
        """All objects as currently known, and the cluster that they are."""
        with counted(TurnPart.OBSERVE):
            objects = self._view.objects()
            seen = self._observer.snapshot(objects, self._clock.now())
            return objects, replace(seen, stuck=self._stuck)

    async def run(
        self, writer: Writer, beat: Callable[[], None], may_act: Callable[[], bool]
    ) -> NoReturn:
        """Take turns until cancelled, whenever this replica may act.

        `beat` is called after each turn, and while a search runs after each look at the cluster.
        """
        self._beat = beat
        while True:
            started, self._awaited_seconds = self._clock.monotonic(), 0.0
            try:
                if may_act():
                    await self._turn(writer)
                else:
                    self._solver.warm_up()
                    self._cluster_reporting.forget()
                    self._procurement.forget()
            except Exception as error:  # noqa: BLE001 - the next turn starts from what is true
                await self._recover(error, writer)
            took = self._clock.monotonic() - started
            metrics.LOOP_SECONDS.observe(took)
            beat()
            await asyncio.sleep(self._rest_seconds(took - self._awaited_seconds, writer))
            await self._woken()

    async def _recover(self, error: Exception, writer: Writer) -> None:
        """Carry on with what needs no plan, and set aside the job that makes planning fail."""
        self._current.unsettle()
        self._current.drop_changes()
        self._dispatch.carry_on(self.snapshot, writer)
        found = await self._culprit()
        if found is None:
            metrics.LOOP_ERRORS.inc()
            _log.error("turn failed", exc_info=error)
            return
        self._builder.faults.add(found, error, self._clock.now(), Stage.PLAN)
        self.wake.set()

    async def _culprit(self) -> JobView | None:
        """The job that makes planning fail; None if there is none, which is remembered for a while.

        Such a search takes many trials.
        """
        if self.latest is None or self._clock.monotonic() < self._unexplained_until:
            return None
        found = await self._isolation.culprit(self.latest, self._beat)
        if found is None:
            self._unexplained_until = self._clock.monotonic() + self._terms.unexplained_seconds
        return found

    def _rest_seconds(self, worked: float, writer: Writer) -> float:
        """Leave most of the processor to others, above all to writes, which have enough to do."""
        if self._is_busy(writer) or writer.adoption.is_busy:
            return max(self._terms.busy_pause_seconds, min(6 * worked, 1.0))
        return max(self._terms.pause_seconds, min(3 * worked, 1.0))

    def _is_busy(self, writer: Writer) -> bool:
        jobs = len(self.latest.jobs) if self.latest is not None else 0
        return writer.under_way() > most_in_flight(jobs) // 4

    async def _woken(self) -> None:
        """Wait until something has changed, or until the next look is due."""
        seconds = self._terms.idle_seconds
        if self._dispatch.again_at is not None:
            until = (self._dispatch.again_at - self._clock.now()).total_seconds()
            seconds = min(seconds, max(0.0, until))
        if self._cluster_reporting.due is not None:
            seconds = min(seconds, max(0.0, self._cluster_reporting.due - self._clock.monotonic()))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.wake.wait()
        self.wake.clear()

    def _forget(self, differing: AbstractSet[RecheckedPart]) -> None:
        """Forget what was kept from turn to turn, if that was found to be wrong."""
        if RecheckedPart.SNAPSHOT in differing:
            self._observer = Observer()
        if differing:
            self._plan_inputs.forget()

    async def _turn(self, writer: Writer) -> None:
        self._stuck = writer.stuck()
        self._forget(self._recheck.take_differing())
        objects, snapshot = self._look()
        self._note(snapshot)
        plan_input = self._plan_input(snapshot, writer)
        if self._plan_inputs.is_new(snapshot):
            self._recheck.turn(objects, snapshot, plan_input)
        whole = effort(snapshot)
        found = self._search.take_result()
        is_late = found is not None and found.problem != plan_input.problem
        late = _carried(found, plan_input) if found is not None and is_late else None
        result, spent = late, whole
        if found is not None and not is_late:
            result = PlanResult(plan_input, found.solution)
        elif late is None and self._needs_plan(plan_input.problem, writer):
            before = self._current.before
            spent = effort_now(whole, plan_input.problem, before, large=self._terms.large)
            # What was only advised may no longer hold once advice turns into action.
            self._current.drop_changes()
            result = PlanResult(plan_input, await self._solved(plan_input, spent, writer))
            is_whole = spent == whole or result.solution.outcome is Outcome.OPTIMAL
            self._search.end() if is_whole else self._search.want()
        if result is not None and late is None:
            with counted(TurnPart.RECORD):
                self._recorder.record(Moment(objects, snapshot.now, spent, result.solution))
        if result is not None:
            adopted = self._adopted(result)
            if adopted is None:
                self.wake.set()
                return
            snapshot, plan_input = adopted
        if late is not None:
            # It does not cover what has changed meanwhile.
            self._current.unsettle()
        elif self._current.settled is not None:
            with counted(TurnPart.SEARCH):
                self._search.begin(replace(plan_input, problem=self._current.settled), whole)
        self._act(snapshot, plan_input, writer)

    def _note(self, snapshot: Snapshot) -> None:
        """Let others know what they ask about."""
        if self.latest is None or snapshot.pools is not self.latest.pools:
            rates = {pool.metadata.name: interruption_rate(pool) for pool in snapshot.pools}
            self.interruptions_per_hour = rates
        if self.latest is None or snapshot.jobs is not self.latest.jobs:
            usable = {job.uid: job for job in snapshot.present if has_usable_target(job)}
            self.targeting = usable
        self.latest = snapshot

    async def _solved(self, plan_input: PlanInput, spent: Effort, writer: Writer) -> Solution:
        """The solver's solution. While the solver searches, what needs no plan goes on."""
        search = asyncio.create_task(self._solver.solve(plan_input.problem, spent))
        pause = self._terms.busy_pause_seconds
        try:
            while not search.done():
                asked = self._clock.monotonic()
                await asyncio.wait({search}, timeout=pause)
                started = self._clock.monotonic()
                self._awaited_seconds += started - asked
                if not search.done():
                    snapshot = self.snapshot()
                    self._act(snapshot, self._plan_input(snapshot, writer), writer)
                    self._beat()
                    # The search needs the processor, and so does renewing the lease.
                    pause = max(pause, 3 * (self._clock.monotonic() - started))
            return search.result()
        finally:
            search.cancel()

    def _adopted(self, result: PlanResult) -> tuple[Snapshot, PlanInput] | None:
        """The fresh snapshot and plan input after a solve; None if they cannot be acted on.

        Nothing may be awaited between taking a snapshot and acting on it: a write that failed in
        between would count as done.
        """
        snapshot = self.snapshot()
        now = self._built(snapshot)
        with counted(TurnPart.ADOPT):
            plan_input = self._current.adopt(snapshot, result, now)
        return None if plan_input is None else (snapshot, plan_input)

    def _needs_plan(self, problem: Problem, writer: Writer) -> bool:
        """Whether there is something new to plan; writes come first while many are under way."""
        with counted(TurnPart.COMPARE):
            if self._current.covers(problem):
                return False
        return self._current.plan is None or not self._is_busy(writer)

    def _plan_input(self, snapshot: Snapshot, writer: Writer) -> PlanInput:
        """The current plan input. Whatever comes of it, close faulty nodes and cap GPUs."""
        with counted(TurnPart.GUARD):
            self._dispatch.guard(snapshot, writer)
        plan_input = self._built(snapshot)
        with counted(TurnPart.CAP):
            self._dispatch.cap(snapshot, plan_input, writer)
        return plan_input

    def _built(self, snapshot: Snapshot) -> PlanInput:
        """The plan input, in which bought nodes wait for the gangs whose other nodes come."""
        with counted(TurnPart.BUILD):
            return self._plan_inputs.of(snapshot, self._procurement.arriving(snapshot))

    def _act(self, snapshot: Snapshot, plan_input: PlanInput, writer: Writer) -> None:
        """Act on the current plan, and report what follows for the cluster."""
        with counted(TurnPart.BUY):
            self._procure(snapshot, writer)
        with counted(TurnPart.ACT):
            self._dispatch.act(snapshot, plan_input, self._current, writer)
        if self._current.plan is not None:
            plan, bought = self._current.plan, self._procurement
            with counted(TurnPart.REPORT), fenced("the cluster was not reported"):
                self._cluster_reporting.report(snapshot, plan_input, plan, bought, writer)

    def _procure(self, snapshot: Snapshot, writer: Writer) -> None:
        """Buy nodes and give them back."""
        with fenced("nodes were not looked after"):
            self._procurement.turn(snapshot, self._current, writer)

    def wrote_pod(self, pod: Pod) -> None:
        """A pod was written."""
        self._view.wrote_pod(pod)

    def wrote_node(self, node: Node) -> None:
        """A node was written."""
        self._view.wrote_node(node)

    def wrote_scale(self, reference: Reference, scale: Scale) -> None:
        """A target's replica count was set."""
        self._view.wrote_scale(reference, scale)

    def wrote_workload(self, item: WorkloadObject) -> None:
        """An adopted workload was written."""
        self._view.wrote_workload(item)

    def wrote_node_claim(self, claim: NodeClaim) -> None:
        """A node was ordered, or is being given back."""
        self._view.wrote_node_claim(claim)

    def wrote_provisioning_request(self, request: ProvisioningRequest) -> None:
        """Several nodes were ordered."""
        self._view.wrote_provisioning_request(request)

    def order_failed(self, pool: GPUPool, name: str) -> None:
        """A node could not be ordered under this name."""
        self._procurement.order_failed(pool, name)

    def name_taken(self, name: str) -> None:
        """An order of that name exists, which may be of others."""
        self._procurement.name_taken(name)

    def doubted(self, reference: Reference) -> None:
        """A target's replica count differs from the assumed one."""
        self._view.doubted(reference)

    def read_job(self, raw: dict[str, Any]) -> None:
        """The API server holds the job in this form."""
        self._view.resources.received(raw)

    def wrote_status(self, job: JobView, status: JobStatus, version: str) -> None:
        """The API server holds a job's status in this version."""
        self._view.resources.wrote(job.resource, status, version)

    def done(self, step: Step, result: Result) -> None:
        """A step is over; what it left undone is seen in the next turn."""
        self._view.resources.forget(step.job.uid)
        if result.missing:
            self._view.missed(step.job.resource.kind)
        if result.refusal is not None:
            self._dispatch.note_refusal(step.job.uid, result.refusal)
        if result.complete and self.latest is not None:
            count(step, self.latest)
        else:
            self._current.unsettle()
        self.wake.set()


def _carried(late: PlanResult, plan_input: PlanInput) -> PlanResult | None:
    """What remains of a background search's result for the current plan input."""
    result = carried_over(late, plan_input)
    if result is None:
        report_dropped(["the cluster changed"])
    return result
