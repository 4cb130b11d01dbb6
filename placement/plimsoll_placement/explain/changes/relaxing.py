"""Changes that would let a job run; each set is proven by placing the job under it.

The sets are built from single changes upwards, so the first that suffice are smallest; each proper
subset of a set is tried as well and, if it suffices, is taken instead.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from types import UnionType

from plimsoll_placement.explain.changes.changes import (
    AddNodes,
    AdmitNodes,
    AllowSpot,
    Change,
    FreeGpus,
    FreeResources,
    NewNodes,
    RaiseLimit,
    RaisePower,
    ReopenNodes,
    WidenTopology,
)
from plimsoll_placement.explain.changes.joining import joined
from plimsoll_placement.explain.changes.remedies import Ladder, Stuck, last_resorts, remedies
from plimsoll_placement.explain.remains import remaining
from plimsoll_placement.explain.request import asks
from plimsoll_placement.explain.shortage.diagnosis import place_until_stuck, role_shortages
from plimsoll_placement.explain.shortage.missing_power import least_draws
from plimsoll_placement.explain.shortage.shortage import Ask, Reason, Shortage
from plimsoll_placement.model import Job, NodeName, Placements
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.holding import ledger_after
from plimsoll_placement.state.ledger import Ledger

REMEDY: Mapping[Reason, type[Change] | UnionType] = {
    Reason.NO_ELIGIBLE_NODE: AdmitNodes | ReopenNodes,
    Reason.QUEUE_LIMIT: RaiseLimit,
    Reason.INSUFFICIENT_GPUS: FreeGpus | AddNodes | NewNodes,
    Reason.SPOT_SHARE: AllowSpot,
    Reason.INSUFFICIENT_RESOURCES: FreeResources,
    Reason.TOPOLOGY_UNSATISFIED: WidenTopology,
    Reason.POWER_BUDGET: RaisePower,
    Reason.PENDING: FreeGpus,
}
"""What helps against the first thing a job lacks, by itself or before anything else can."""

MOST_CHANGES = 6
MOST_TRIALS = 160
WIDEST_FRONTIER = 8


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Changes that together, and with none left out, would let the job run."""

    changes: tuple[Change, ...]

    def sentence(self) -> str:
        """What to do, as an imperative without a full stop."""
        return " and ".join(change.sentence() for change in self.changes)

    def plus(self, change: Change) -> "Relaxation":
        """With one more change; what is raised twice is raised once by the sum."""
        for place, before in enumerate(self.changes):
            both = joined(before, change)
            if both is not None:
                return Relaxation((*self.changes[:place], both, *self.changes[place + 1 :]))
        return Relaxation((*self.changes, change))

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """What remains beside what is placed, for this job alone, and the job, changes applied."""
        for change in self.changes:
            problem, job = change.applied(problem, job)
        return replace(problem, jobs=(job,)), job


@dataclass(frozen=True, slots=True)
class _Step:
    """Changes that do not suffice yet, and what the last of them was made for (None: nothing).

    All that are made for one role are for one GPU type. `aimed`: the last of them is for what the
    job lacked first.
    """

    relaxation: Relaxation
    ask: Ask | None
    aimed: bool = True

    def goes_on_with(self, ask: Ask) -> bool:
        """Whether what is asked for is another role, or the same on the same type."""
        return self.ask is None or self.ask.role != ask.role or self.ask.gpu_type == ask.gpu_type


def relaxations(problem: Problem, placements: Placements, job: Job) -> tuple[Relaxation, ...]:
    """The smallest sets of changes that would let a waiting job run, as far as any were found.

    Single changes if there are any, otherwise pairs, and so on up to six. Nodes of a kind that does
    not exist are asked for only if nothing else helps. Empty if there is room.
    """
    ledger = ledger_after(problem, placements)
    remains, vacant = remaining(ledger), Ledger(problem)
    asking = asks(ledger, job, placements.get(job.name, ()))
    draws = least_draws(problem, placements)
    for remedies_of in (remedies, last_resorts):
        for each in asking:
            found = _Search(remains, vacant, each, remedies_of, draws).run()
            if found:
                return found
    return ()


class _Search:
    """One bounded search; it counts how often the job was tried."""

    def __init__(
        self,
        remains: Problem,
        vacant: Ledger,
        job: Job,
        remedies_of: Callable[[Stuck], list[Ladder]],
        draws: Mapping[NodeName, int],
    ) -> None:
        self.draws = draws
        self.remedies_of = remedies_of
        self.remains = remains
        self.vacant = vacant
        self.job = job
        self.trials = 0
        self.known: dict[Relaxation, bool] = {}

    def run(self) -> tuple[Relaxation, ...]:
        if self.suffices(Relaxation(())):
            return ()
        frontier = [_Step(Relaxation(()), None)]
        for _ in range(MOST_CHANGES):
            found, frontier = self.widened(frontier)
            if found:
                least = (self.least(relaxation) for relaxation in found)
                return tuple({frozenset(each.changes): each for each in least}.values())
        return ()

    def widened(self, frontier: list[_Step]) -> tuple[list[Relaxation], list[_Step]]:
        """What suffices with one more change, and what does not yet, the likeliest first."""
        found: list[Relaxation] = []
        short: list[_Step] = []
        for step in frontier[:WIDEST_FRONTIER]:
            for shortage, ladder in self.ladders(step):
                tried = [step.relaxation.plus(change) for change in ladder]
                enough = next((each for each in tried if self.suffices(each)), None)
                if enough is not None:
                    found.append(enough)
                else:
                    aimed = isinstance(ladder[0], REMEDY[shortage.reason])
                    short += [_Step(each, shortage.ask, aimed) for each in tried]
        return found, sorted(short, key=lambda step: not step.aimed)

    def ladders(self, step: _Step) -> Iterator[tuple[Shortage, Ladder]]:
        """What could be changed next; nothing once there were too many trials."""
        problem, job = step.relaxation.applied(self.remains, self.job)
        ledger = Ledger(problem)
        role = place_until_stuck(ledger, job)
        if role is None:
            return
        for shortage in role_shortages(ledger, job, role):
            if step.goes_on_with(shortage.ask):
                stuck = Stuck(ledger, self.vacant, job, role, shortage, self.draws)
                for ladder in self.remedies_of(stuck):
                    if self.trials < MOST_TRIALS:
                        yield shortage, ladder

    def suffices(self, relaxation: Relaxation) -> bool:
        """Whether the job can actually be placed."""
        if relaxation not in self.known:
            self.trials += 1
            problem, job = relaxation.applied(self.remains, self.job)
            self.known[relaxation] = place_until_stuck(Ledger(problem), job) is None
        return self.known[relaxation]

    def least(self, relaxation: Relaxation) -> Relaxation:
        """The smallest subset of the changes that suffices."""
        changes = relaxation.changes
        for size in range(1, len(changes)):
            for part in map(Relaxation, combinations(changes, size)):
                if self.suffices(part):
                    return part
        return relaxation
