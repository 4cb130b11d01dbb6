"""Turns of the operator without an API server: everything it computes, and what it would write.

Reading, observing, planning, checking, stepping and reporting are the operator's own, in the order
of its loop. Its solver and its writer, which are processes and connections, are left out.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from plimsoll.acting.cluster.cluster_status import cluster_statuses
from plimsoll.acting.conditions.unreadable import refused_status
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.acting.step import Turn
from plimsoll.acting.steps import Steps
from plimsoll.kube.objects.objects import Node, PriorityClass
from plimsoll.observe.custom_resources import CustomResources
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.capping.reaction import cap_changes, power_reactions
from plimsoll.planning.disruption.quarantine import quarantine_changes
from plimsoll.planning.plan.decisions import PlanResult, holds_now, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import renewed
from plimsoll.planning.power.capped_jobs import capped_jobs
from plimsoll.planning.power.job_power import JobPowers
from plimsoll.planning.problem.build import PlanInput, plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Placements
from plimsoll_placement.solve import solve_lean


@dataclass
class Cluster:
    """Nodes and custom resources, and an operator's memory of them."""

    nodes: tuple[Node, ...]
    classes: tuple[PriorityClass, ...]
    effort: Effort
    resources: CustomResources = field(default_factory=lambda: CustomResources(lambda: None))
    reports: tuple[WorkerReport, ...] = ()
    said: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    """The status that was last written, by the name of the object."""

    def __post_init__(self) -> None:
        """Start with no memory."""
        self._observer, self._translator = Observer(), ProblemBuilder()
        self._steps = Steps(self._translator.faults)
        self._powers = JobPowers()

    def apply(self, manifests: Iterable[Manifest]) -> None:
        """Take objects in as the API server would show them."""
        for manifest in manifests:
            self.resources.received(manifest)

    def turn(self, now: datetime) -> Placements:
        """Run one whole turn and return the plan. Raises what the loop would have to catch."""
        snapshot = self._snapshot(now)
        list(quarantine_changes(snapshot))
        plan_input = plan_input_of(snapshot, self._translator)
        solution = solve_lean(plan_input.problem, self.effort)
        require_sound(plan_input.problem, solution.placements)
        result = with_ordinals(snapshot, PlanResult(plan_input, solution))
        fresh, _ = renewed(result, plan_input_of(snapshot, self._translator))
        plan = plan_of(snapshot, fresh)
        self._act(snapshot, fresh.plan_input, plan)
        self._report(snapshot, fresh.plan_input, plan)
        return solution.placements

    def _snapshot(self, now: datetime) -> Snapshot:
        objects = Objects(
            nodes=self.nodes,
            pods=(),
            resources=self.resources.all(),
            priority_classes=self.classes,
            reports=self.reports,
            refused=self.resources.refused(),
        )
        return self._observer.snapshot(objects, now)

    def _act(self, snapshot: Snapshot, plan_input: PlanInput, plan: Plan) -> None:
        actions = (*holds_now(plan, plan_input), *plan.changes)
        turn = Turn(
            snapshot,
            Occupancy(snapshot),
            decided={action.job: action for action in actions},
            short=plan.short,
            off_spot=plan_input.off_spot,
            capped=capped_jobs(snapshot, plan_input.problem),
            powers=self._powers.news(snapshot, plan_input.as_it_runs),
            faults=plan_input.faults,
            worker_url="http://workers.example.com",
        )
        for step in self._steps.of(turn, frozenset()):
            self.resources.assume(step.job.uid, step.status)
            self.said[step.job.name] = step.status.wire()
        for each in snapshot.refused:
            self.said.setdefault(str(each), refused_status(each, snapshot.now))

    def _report(self, snapshot: Snapshot, plan_input: PlanInput, plan: Plan) -> None:
        reactions = power_reactions(snapshot, plan_input.as_it_runs)
        list(cap_changes(snapshot, reactions))
        for _, status in cluster_statuses(snapshot, plan_input.as_it_runs, plan, reactions):
            status.wire()
