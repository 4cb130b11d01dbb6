"""From a fluid to whole jobs on nodes.

What stays is taken first. Then whole jobs get the options that the program gives them, those on
scarce GPU types before others, and the pods hardest to place first; then those that it splits, the
important first; greedy completes the rest.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import floor

from plimsoll_placement.heuristics.greedy import Greedy
from plimsoll_placement.lp.columns import Shares, Way
from plimsoll_placement.lp.fluid import Fluid
from plimsoll_placement.model import WHOLE_GPU_MILLI, Assignments, GpuType, Job, JobName
from plimsoll_placement.placing.place import Request, hardest_first, place
from plimsoll_placement.placing.retention import within_spot_share
from plimsoll_placement.placing.shortfall import free_indices
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score
from plimsoll_placement.state.ledger import Ledger

NEARLY = 1e-4
"""Anything this close to a whole number counts as one."""

HALF = 0.5

SCARCE_SHARE = 0.01
"""A type is scarce if no more of it is left than this."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Replicas of a job by one option: all of a gang, otherwise some; and their node classes.

    `share` is how much of the last of them the program has.
    """

    job: Job
    way: Way
    replicas: int
    node_classes: tuple[int, ...]
    share: float = 1.0

    @property
    def order(self) -> tuple[object, ...]:
        """The hardest to place first."""
        return hardest_first(self.job, self.way.option.role, self.replicas)

    @property
    def importance(self) -> tuple[object, ...]:
        """The important first, then those of which the program has most."""
        return -self.job.priority, -self.share, self.job.sequence, self.job.name


def rounded(fluid: Fluid, values: Sequence[float]) -> dict[JobName, Assignments]:
    """Placements close to the program's solution, completed by greedy."""
    problem = fluid.relaxed.problem
    ledger, masks = Ledger(problem), _Masks(fluid)
    for job in problem.jobs:
        if job.pinned and job.running:
            ledger.hold(job)
    whole, split = list[Wanted](), list[Wanted]()
    for own in fluid.shares:
        staying = _stay(ledger, own, values)
        for wish in _wishes(own, values, staying):
            (whole if wish.share >= 1.0 else split).append(wish)
    scarce = _scarce_types(fluid, values)
    for wish in sorted(whole, key=lambda w: (w.way.option.gpu_type not in scarce, *w.order)):
        _place(ledger, masks, wish)
    for wish in sorted(split, key=lambda wish: wish.importance):
        _place(ledger, masks, wish)
    _leave_spot(ledger)
    return _best(problem, list(Greedy(problem, ledger).complete_fairly()))


def _best(
    problem: Problem, completed: Sequence[dict[JobName, Assignments]]
) -> dict[JobName, Assignments]:
    """The best by score, but part of a GPU at one level is not worth hundreds below.

    That little comes of replicas that serve a little more, for which large gangs may have gone.
    """
    scores = [score(problem, placements) for placements in completed]
    most = [max(levels) for levels in zip(*(each.levels for each in scores), strict=True)]

    def lacks(found: Score) -> tuple[int, ...]:
        lacking = [top - here for top, here in zip(most, found.levels, strict=True)]
        first, *others = (0 if each < WHOLE_GPU_MILLI else each for each in lacking)
        return first, found.unpaid, *others, *lacking

    return min(zip(scores, completed, strict=True), key=lambda pair: lacks(pair[0]))[1]


def _scarce_types(fluid: Fluid, values: Sequence[float]) -> set[GpuType]:
    """The GPU types of which the program leaves next to nothing.

    They come first: all others have the choice between domains, and would take power where these
    need it.
    """
    idle: dict[GpuType, float] = defaultdict(float)
    there: dict[GpuType, float] = defaultdict(float)
    relaxed = fluid.relaxed
    for at in relaxed.node_classes.whole.node_classes:
        node_class = relaxed.node_classes.node_classes[at]
        there[node_class.gpu_type] += float(node_class.free_milli.sum())
    idle.update(there)
    for own in fluid.shares:
        for way in own.ways:
            role = way.option.role
            pod = role.shape.gpu_milli * role.pods_per_replica
            idle[way.option.gpu_type] -= pod * sum(values[c] * n for c, n in way.replicas)
        for stay, column in own.stays:
            for load in stay.loads:
                idle[load.gpu_type] -= values[column] * load.pods * load.shape.gpu_milli
    return {kind for kind, milli in there.items() if idle[kind] <= SCARCE_SHARE * milli}


def _stay(ledger: Ledger, own: Shares, values: Sequence[float]) -> set[JobName]:
    """Take what stays into the ledger; return the gangs that do."""
    staying: set[JobName] = set()
    for stay, column in own.stays:
        left = floor(values[column] + HALF)
        for job in own.job_class.jobs:
            units = stay.units[:left] if job.name not in staying else ()
            left -= len(units)
            for unit in units:
                if ledger.take(job, unit) and job.gang:
                    staying.add(job.name)
    return staying


def _leave_spot(ledger: Ledger) -> None:
    """Remove service replicas beyond their spot share, where fewer came out elsewhere.

    Greedy then places anew what they lack.
    """
    for name, assignments in list(ledger.placed.items()):
        job = ledger.problem.job_by_name[name]
        if not job.gang and not job.pinned:
            kept = within_spot_share(ledger.problem, job, assignments)
            ledger.give_back(job, [each for each in assignments if each not in kept])


def _wishes(own: Shares, values: Sequence[float], staying: set[JobName]) -> Iterator[Wanted]:
    if own.service is None:
        waiting = [job for job in own.job_class.jobs if job.name not in staying]
        return _gangs(own, values, waiting)
    return _replicas(own, values, own.job_class.jobs[: floor(values[own.service.runs] + HALF)])


def _gangs(own: Shares, values: Sequence[float], waiting: list[Job]) -> Iterator[Wanted]:
    """Whole gangs as far as an option holds them, then one gang for each option's remainder."""
    rests: list[tuple[float, tuple[Way, ...]]] = []
    for ways in own.by_option():
        runs = sum(values[way.count] for way in ways)
        node_classes = tuple(way.node_class for way in ways if values[way.count] > NEARLY)
        count = _grown(ways, values, runs)
        for _ in range(min(floor(runs + NEARLY), len(waiting))):
            yield Wanted(waiting.pop(0), ways[0], count, node_classes)
        rests.append((runs - floor(runs + NEARLY), ways))
    for share, ways in sorted(rests, key=lambda rest: -rest[0]):
        if waiting and share > NEARLY:
            node_classes = tuple(way.node_class for way in ways)
            least = ways[0].option.least
            yield Wanted(waiting.pop(0), ways[0], least, node_classes, min(share, 1 - NEARLY))


def _grown(ways: Sequence[Way], values: Sequence[float], runs: float) -> int:
    """The replicas of one gang by an option, rounded to an allowed count."""
    option = ways[0].option
    if runs < NEARLY:
        return option.least
    columns = [pair for way in ways for pair in way.replicas]
    replicas = sum(values[column] * factor for column, factor in columns) / runs
    allowed = (n for n in option.role.counts if option.least <= n <= replicas + NEARLY)
    return max(allowed, default=option.least)


def _replicas(own: Shares, values: Sequence[float], jobs: Sequence[Job]) -> Iterator[Wanted]:
    """Whole replicas, spread evenly over the jobs; the remainder is left to greedy."""
    if not jobs:
        return
    for ways in own.by_option():
        for way in ways:
            each, more = divmod(floor(values[way.count] + NEARLY), len(jobs))
            for position, job in enumerate(jobs):
                count = each + (position < more)
                if count:
                    yield Wanted(job, way, count, (way.node_class,))


def _place(ledger: Ledger, masks: "_Masks", wish: Wanted) -> None:
    """Place it in its node classes, else anywhere on the type, else a gang at its least size."""
    option = wish.way.option
    counts = [wish.replicas]
    if wish.job.gang and option.least < wish.replicas:
        counts.append(option.least)
    for count in counts:
        replicas = _indices(ledger, wish, count)
        for eligible in (masks.of(option.role.eligible, wish.node_classes), option.role.eligible):
            role = replace(option.role, eligible=eligible)
            if place(ledger, Request(wish.job, role, option.gpu_type, replicas)) is not None:
                return


def _indices(ledger: Ledger, wish: Wanted, count: int) -> tuple[int, ...]:
    """The smallest unused replica indices of the role; for a gang, the first ones."""
    if wish.job.gang:
        return tuple(range(count))
    placed = ledger.placed.get(wish.job.name, ())
    return tuple(islice(free_indices(wish.way.option.role, placed), count))


class _Masks:
    """The nodes of node classes as bit masks."""

    def __init__(self, fluid: Fluid) -> None:
        self._node_classes = [
            _mask(node_class.rows.tolist())
            for node_class in fluid.relaxed.node_classes.node_classes
        ]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def of(self, eligible: int, node_classes: tuple[int, ...]) -> int:
        """The eligible nodes of some node classes."""
        if (eligible, node_classes) not in self._known:
            nodes = 0
            for node_class in node_classes:
                nodes |= self._node_classes[node_class]
            self._known[eligible, node_classes] = nodes & eligible
        return self._known[eligible, node_classes]


def _mask(rows: list[int]) -> int:
    flags = bytearray(max(rows, default=0) // 8 + 1)
    for row in rows:
        flags[row >> 3] |= 1 << (row & 7)
    return int.from_bytes(flags, "little")
