"""The latest plan: what of it is still to be done, and whether it still covers the problem."""

from collections.abc import Sequence

from plimsoll.observe.snapshot import JobName, Snapshot
from plimsoll.planning.actions import Change, Plan
from plimsoll.planning.plan.decisions import PlanResult, plan_of
from plimsoll.planning.plan.ordinals import with_ordinals
from plimsoll.planning.plan.validation import (
    costs_alone_differ,
    is_best,
    renewed,
    settled,
)
from plimsoll.planning.problem.build import PlanInput
from plimsoll.planning.training.batch_choice import may_restart_for_batch
from plimsoll.vocabulary import logs, metrics
from plimsoll.vocabulary.reasons import Reason
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Pressure

_log = logs.logger(__name__)


class CurrentPlan:
    """The plan of the latest result that held when it was to be acted on."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self.changes: tuple[Change, ...] = ()
        """What of the plan is still to be done."""
        self.awaited: frozenset[JobName] = frozenset()
        """Jobs that are to give something up and begin nothing else until there is a new plan."""
        self.before: Problem | None = None
        """The problem as the plan leaves it, or as it was planned if that was only advice."""
        self.settled: Problem | None = None
        """The same; None if something must be planned although it may look the same."""
        self._batches_stay = False
        self._is_best: bool | None = None
        """Whether no plan would be better than none; None while nobody has asked."""
        self._said = 0, ""
        """How many jobs the last plan left waiting, and how it was found."""

    def covers(self, problem: Problem) -> bool:
        """Whether there is nothing new to plan in a problem."""
        if self.plan is None or self.settled is None:
            return False
        if problem is self.settled:
            return True
        if problem == self.settled:
            # The next comparison is then of one object with itself.
            self.before = self.settled = problem
            return True
        if not (costs_alone_differ(self.settled, problem) and self._cannot_be_bettered()):
            return False
        self.before = self.settled = problem
        return True

    def adopt(
        self, snapshot: Snapshot, result: PlanResult, plan_input: PlanInput
    ) -> PlanInput | None:
        """Make the result the current plan if it still holds for the current plan input.

        Returns the part of that input that the plan covers; None if the result no longer holds.
        """
        self.awaited = frozenset()
        result = with_ordinals(snapshot, result)
        fresh, broken = renewed(result, plan_input)
        if broken:
            report_dropped(broken)
            return None
        self.plan = plan_of(snapshot, fresh)
        self.changes = self.plan.changes
        # Not the fresh one: changes since the plan input was made are planned for in the next turn.
        self.before = result.problem if snapshot.advises else settled(result)
        # What has changed since must be planned next, though it may change back before that.
        self.settled = None if fresh.changed else self.before
        batches_stay = not any(
            job.training is not None and may_restart_for_batch(job.training)
            for job in snapshot.present
        )
        self._batches_stay, self._is_best = batches_stay, None
        self._say(self.plan, result.solution.pressure)
        return fresh.plan_input

    def _say(self, plan: Plan, pressure: Pressure | None) -> None:
        """Log the plan; one that changes nothing and says what the last one said is no news."""
        before, self._said = self._said, (len(plan.holds), plan.outcome)
        log = _log.info if plan.changes or self._said != before else _log.debug
        log(
            "planned",
            changes=len(plan.changes),
            holds=len(plan.holds),
            gap_percent=round(plan.gap_percent, 2),
            outcome=plan.outcome,
            **_pressure(pressure),
        )

    def _cannot_be_bettered(self) -> bool:
        """Whether no plan would be better than none, whatever stops cost; asked only when needed.

        A problem whose costs alone differ from that of the plan is as good as that one.
        """
        if self._is_best is None:
            assert self.plan is not None  # noqa: S101 - it is settled by a plan
            assert self.before is not None  # noqa: S101 - the same
            placed = self._batches_stay and not self.plan.short
            self._is_best = placed and is_best(self.before)
        return self._is_best

    def unsettle(self) -> None:
        """Plan again even if the problem looks as the plan leaves it."""
        self.settled = None

    def drop_changes(self) -> None:
        """Make no more of the plan's changes."""
        self.changes = ()


def report_dropped(broken: Sequence[str]) -> None:
    """Count and log a plan result that is not acted on, and what speaks against it."""
    metrics.PLANS_DROPPED.labels(Reason.STALE).inc()
    _log.info("plan dropped", reason=Reason.PLAN_DROPPED, broken=list(broken))


def _pressure(found: Pressure | None) -> dict[str, float]:
    """The largest pressure on the shared GPUs that get new replicas, and its bound, for the log."""
    if found is None:
        return {}
    return {"pressure": round(found.reached, 6), "pressure_bound": round(found.bound, 6)}
