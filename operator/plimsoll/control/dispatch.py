"""Hand the writer what follows from a snapshot: closed nodes, power caps, and the jobs' steps."""

import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime

from plimsoll.acting.adoption.changes import adoption_changes, remarks
from plimsoll.acting.pacing import due_changes, most_in_flight
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Refusal, Turn
from plimsoll.acting.steps import Steps
from plimsoll.acting.writes.writer import Writer
from plimsoll.control.current_plan import CurrentPlan
from plimsoll.control.fence import fenced
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.provisioning.procurement import Procurement
from plimsoll.control.view import View
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.capping.reaction import Reactions, cap_changes
from plimsoll.planning.disruption.budgets import must_leave
from plimsoll.planning.disruption.quarantine import quarantine_changes
from plimsoll.planning.faults import Faults
from plimsoll.planning.plan.decisions import holds_now
from plimsoll.planning.power.capped_jobs import capped_jobs
from plimsoll.planning.power.job_power import JobPowers
from plimsoll.planning.problem.build import PlanInput
from plimsoll.planning.serving.old_templates import replicas_by_role


class Dispatch:
    """Submits to the writer, and remembers the last turn for when no plan can be made."""

    def __init__(
        self,
        view: View,
        faults: Faults,
        reactions: Reactions,
        procurement: Procurement,
        *,
        terms: LoopTerms,
    ) -> None:
        self._view, self._reactions, self._terms = view, reactions, terms
        self._procurement = procurement
        self._clock = view.clock
        self._steps, self._powers = Steps(faults), JobPowers()
        self._plan_input: PlanInput | None = None
        self._last_turn: Turn | None = None
        self._guarded_at = -math.inf
        self._well: Snapshot | None = None
        """The last snapshot in which no node was to be closed or reopened."""
        self._refusals: dict[str, Refusal] = {}
        self.again_at: datetime | None = None
        """When to look at the jobs again even if nothing has happened."""

    def guard(self, snapshot: Snapshot, writer: Writer) -> None:
        """Do what needs no plan: report unreadable objects, adopt workloads, close faulty nodes.

        And reopen those that were closed long enough.
        """
        # Jobs are left alone while plans are only advice.
        refused = [each for each in snapshot.refused if not (snapshot.advises and each.namespace)]
        writer.refused.submit(refused, snapshot.now)
        changes = adoption_changes(snapshot.adopted, advises=snapshot.advises)
        writer.adoption.submit(changes)
        writer.adoption.say(remarks(snapshot.adopted))
        wait = self._clock.monotonic() < self._guarded_at + self._guard_seconds(snapshot)
        if not wait and not snapshot.advises and not writer.nodes.is_busy:
            self._guarded_at = self._clock.monotonic()
            due = [*quarantine_changes(snapshot)]
            self._well = None if due else snapshot
            writer.nodes.submit(due)

    def _guard_seconds(self, snapshot: Snapshot) -> float:
        """How long after the last look at the nodes the next is due."""
        is_well = self._well is not None and snapshot.differs_only_in_time(self._well)
        return self._terms.unchanged_seconds if is_well else self._terms.cluster_status_seconds

    def cap(self, snapshot: Snapshot, plan_input: PlanInput, writer: Writer) -> None:
        """Cap GPUs as their power domains require; this waits for no plan."""
        self._plan_input = plan_input
        if not snapshot.advises:
            reactions = self._reactions.of(snapshot, plan_input)
            writer.caps.submit(cap_changes(snapshot, reactions))

    def act(
        self, snapshot: Snapshot, plan_input: PlanInput, current: CurrentPlan, writer: Writer
    ) -> None:
        """Make the changes that are due, and continue all other jobs."""
        if current.plan is None or snapshot.advises:
            return
        due, awaited = due_changes(
            current.changes,
            is_busy=lambda name: _is_awaited(snapshot.job_by_name[name], snapshot, writer),
            room=most_in_flight(len(snapshot.jobs)) - writer.under_way(),
        )
        if len(due) < len(current.changes):
            current.unsettle()
            current.awaited = awaited
        holds = self._procurement.to_tell(holds_now(current.plan, plan_input), snapshot)
        actions = (*holds, *due)
        turn = Turn(
            snapshot,
            Occupancy(snapshot, writer.doubtful_pods()),
            decided={action.job: action for action in actions},
            short=current.plan.short,
            off_spot=plan_input.off_spot,
            renewal_waits=plan_input.renewal.waits,
            capped=capped_jobs(snapshot, plan_input.problem),
            powers=self._powers.news(snapshot, plan_input.as_it_runs),
            faults=plan_input.faults,
            refused=self._refusals,
            asks_for_loads=self._terms.asks_for_loads,
            worker_url=self._terms.worker_url,
        )
        self._refusals, self._last_turn = {}, turn
        self._step(turn, writer, current.awaited)
        current.drop_changes()

    def note_refusal(self, uid: str, refusal: Refusal) -> None:
        """Have the next turn know why the pods of the job with this uid were refused."""
        self._refusals[uid] = refusal

    def carry_on(self, look: Callable[[], Snapshot], writer: Writer) -> None:
        """Do what needs no plan by the last plan input; a failing part does not stop the others.

        `look` takes a snapshot; it is not called before the first turn.
        """
        plan_input, turn = self._plan_input, self._last_turn
        if plan_input is None or turn is None:
            return
        snapshot = look()
        occupancy = Occupancy(snapshot, writer.doubtful_pods())
        now = replace(turn, snapshot=snapshot, occupancy=occupancy, decided={})
        parts: tuple[Callable[[], None], ...] = (
            lambda: self.guard(snapshot, writer),
            lambda: self.cap(snapshot, plan_input, writer),
            lambda: self._step(replace(now, renewal_waits=_all_renewals(snapshot)), writer),
        )
        for part in parts:
            with fenced("a part of the turn failed"):
                part()

    def _step(self, turn: Turn, writer: Writer, awaited: frozenset[JobName] = frozenset()) -> None:
        """Submit the jobs' steps, except those of the `awaited`: they are to begin nothing else."""
        writer.forget_others(turn.snapshot.jobs)
        again: list[datetime] = []
        for step in self._steps.of(turn, writer.in_flight):
            if step.again_at is not None:
                again.append(step.again_at)
            may_begin = step.job.name not in awaited and writer.pace.has_room(step)
            if step.has_writes and may_begin:
                self._view.resources.assume(step.job.uid, step.status)
                writer.submit(step)
        self.again_at = min(again, default=None)


def _all_renewals(snapshot: Snapshot) -> dict[JobName, AbstractSet[str]]:
    """All roles of services with old pod templates, by service."""
    found = ((view.name, replicas_by_role(view).keys()) for view in snapshot.present)
    return {name: roles for name, roles in found if roles}


def _is_awaited(job: JobView, snapshot: Snapshot, writer: Writer) -> bool:
    """Whether a job that must give something up has to be written first.

    Nothing waits for a node where nothing may be placed.
    """
    is_stuck = job.uid in snapshot.stuck
    return job.uid in writer.in_flight and not (is_stuck and must_leave(job, snapshot))
