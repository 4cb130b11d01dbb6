"""The plan for a cluster as manifests describe it, which the verifier has found sound."""

from plimsoll.planning.actions import Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve
from support.clusters.seen import seen


def planned(*manifests: Manifest, builder: ProblemBuilder | None = None) -> Plan:
    """The plan after a short search; `builder`: what built the problems before."""
    snapshot = seen(*manifests)
    plan_input = plan_input_of(snapshot, builder or ProblemBuilder())
    solution = solve(plan_input.problem, Effort(deterministic_seconds=0.1))
    assert violations(plan_input.problem, solution.placements) == ()
    return plan_of(snapshot, PlanResult(plan_input, solution))
