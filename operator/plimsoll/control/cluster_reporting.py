"""Schedule reports about the cluster: statuses of queues, pools, domains, policy; metrics."""

import math
from dataclasses import replace

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.acting.cluster.power_status import count_power
from plimsoll.acting.metrics.counting import count_jobs, forget_jobs
from plimsoll.acting.metrics.fleet_figures import FleetFigures
from plimsoll.acting.metrics.purchase_figures import PurchaseFigures
from plimsoll.acting.metrics.queue_figures import QueueFigures
from plimsoll.acting.metrics.service_figures import ServiceFigures
from plimsoll.acting.writes.writer import Writer
from plimsoll.clock import Clock
from plimsoll.control.loop_terms import LoopTerms
from plimsoll.control.provisioning.procurement import Procurement
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.capping.reaction import Reactions
from plimsoll.planning.cluster.holdings import holdings
from plimsoll.planning.plan.decisions import holds_now
from plimsoll.planning.problem.build import PlanInput


class ClusterReporting:
    """Reports everything at most once per interval, and not while a report is being written.

    The interval is longer while nothing changes but the time.
    """

    def __init__(self, reactions: Reactions, clock: Clock, *, terms: LoopTerms) -> None:
        self._reactions, self._clock, self._terms = reactions, clock, terms
        self._reported: tuple[Snapshot, PlanInput, Plan] | None = None
        self._services, self._purchases = ServiceFigures(), PurchaseFigures()
        self._fleet, self._queues = FleetFigures(), QueueFigures()
        self._reported_at = -math.inf
        self.due: float | None = None
        """When, on the monotonic clock, a postponed report is due; None if none is postponed."""

    def report(
        self,
        snapshot: Snapshot,
        plan_input: PlanInput,
        plan: Plan,
        procurement: Procurement,
        writer: Writer,
    ) -> None:
        """Report, if it is time to."""
        due = self._reported_at + self._seconds(snapshot, plan_input, plan)
        wait = self._clock.monotonic() < due or writer.publisher.is_busy
        self.due = due if wait else None
        if wait:
            return
        self._reported_at = self._clock.monotonic()
        self._reported = snapshot, plan_input, plan
        reactions, runs = self._reactions.of(snapshot, plan_input), plan_input.as_it_runs
        held = holdings(runs)
        count_jobs(snapshot)
        count_power(reactions, snapshot)
        self._fleet.report(snapshot, held)
        self._queues.report(snapshot, plan_input.problem, held)
        self._services.report(snapshot, advises=snapshot.advises)
        ordered = procurement.statuses(snapshot)
        self._purchases.report(snapshot, ordered)
        holds = procurement.explained(holds_now(plan, plan_input), snapshot)
        as_it_is = replace(plan, holds=tuple(holds))
        writer.publisher.submit(cluster_statuses(snapshot, runs, as_it_is, reactions, ordered))

    def _seconds(self, snapshot: Snapshot, plan_input: PlanInput, plan: Plan) -> float:
        """How long after the last report the next is due."""
        before = self._reported
        if before is None or before[1] is not plan_input or before[2] is not plan:
            return self._terms.cluster_status_seconds
        is_unchanged = snapshot.differs_only_in_time(before[0])
        terms = self._terms
        return terms.unchanged_seconds if is_unchanged else terms.cluster_status_seconds

    def forget(self) -> None:
        """Withdraw the metrics: another replica reports."""
        self._reported = None
        forget_jobs()
        for figures in (self._fleet, self._queues, self._services):
            figures.forget()
        self._purchases.forget()
