"""Plan for given objects as the operator's loop would, without acting on it."""

import time
from dataclasses import dataclass
from datetime import datetime

from plimsoll.cli.analysis.purchasing import purchases_after
from plimsoll.cli.output.progress import slow
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.actions import Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll.planning.problem.effort import effort
from plimsoll.planning.provisioning.buying.purchases import Purchases
from plimsoll_placement.effort import Effort
from plimsoll_placement.solve import solve_lean


@dataclass(frozen=True, slots=True)
class Trial:
    """A plan, what it was made from, what would be bought after it, and how long that took."""

    snapshot: Snapshot
    result: PlanResult
    plan: Plan
    purchases: Purchases
    seconds: float


def trial(objects: Objects, now: datetime, limit: Effort | None) -> Trial:
    """The plan for these objects; without a limit the search takes what the policy allows."""
    started = time.perf_counter()
    with slow("planning"):
        snapshot = Observer().snapshot(objects, now)
        plan_input = plan_input_of(snapshot, ProblemBuilder())
        result = PlanResult(plan_input, solve_lean(plan_input.problem, limit or effort(snapshot)))
        plan = plan_of(snapshot, result)
        bought = purchases_after(snapshot, result)
    return Trial(snapshot, result, plan, bought, time.perf_counter() - started)
