"""Renew a service's replicas for a new pod template without a gap, where there is room for that.

While a role has replicas of an old template, it may hold one more than it wants: the first of the
new template, beside all that runs, on GPUs for which nobody waits. Once that serves, the old ones
are renewed in place, one after the other, and the last of them is not needed any more. If there is
no room for one more, all are renewed in place. Should others come to need what it holds, it goes
first, for its stop counts nothing.

Nothing of this is remembered: the replicas that a role could do without say whether it has one more
than it wants, and their pods which template they have.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.adjustment import Adjustment
from plimsoll.planning.disruption.backoff import growth_refusal, is_quota_full, may_not_grow
from plimsoll.planning.disruption.lost_places import lost_places
from plimsoll.planning.faults import Guard
from plimsoll.planning.problem.running import running_assignments
from plimsoll.planning.serving.old_templates import Replica, replicas_by_role
from plimsoll_placement.heuristics.beside import places_beside
from plimsoll_placement.model import Assignment, Assignments, Job, Role
from plimsoll_placement.model import JobName as SolverName
from plimsoll_placement.placing.shortfall import missing
from plimsoll_placement.problem import Problem

Roles = AbstractSet[str]


@dataclass(frozen=True, slots=True)
class Renewal:
    """The services that are being renewed, and where each has one replica more meanwhile.

    `adjustment`: these replicas, as parts of their jobs. A new one is planned as if it ran already,
    and pinned. `waits`: the roles of which no replica that serves is to be renewed in place now,
    since another is to serve first, or the last old one goes. `added`: the services that get one
    more; `ending`: those of which the last old one goes.
    """

    adjustment: Adjustment = field(default_factory=Adjustment)
    waits: Mapping[JobName, Roles] = field(default_factory=dict[JobName, Roles])
    added: AbstractSet[JobName] = frozenset()
    ending: AbstractSet[JobName] = frozenset()


@dataclass(frozen=True)
class _Case:
    """A role that is being renewed: the solver's job, all that runs of it, and what is wanted."""

    view: JobView
    job: Job
    role: Role
    running: Assignments
    replicas: Mapping[int, Replica]

    @property
    def part(self) -> SolverName:
        """The name of the part of the job that one more replica is."""
        return SolverName(f"{self.job.name} (one more {self.role.name})")

    @cached_property
    def left(self) -> Assignments:
        """The replicas that run and that it could do without."""
        wanted = set(self.job.running)
        return tuple(each for each in self.running if each not in wanted)

    @property
    def free_number(self) -> int:
        """The smallest number that no replica of the role has, nor any pod of one that goes."""
        used = {each.replica for each in self.running}
        used |= {pod.replica for pod in self.view.pods if pod.role == self.role.name}
        return next(number for number in count() if number not in used)

    @property
    def all_serve(self) -> bool:
        """Whether all its replicas serve."""
        return all(each.is_ready for each in self.replicas.values())

    @property
    def is_last(self) -> bool:
        """Whether only one old replica is left, and the others serve and carry all that is wanted.

        It is not renewed but goes.
        """
        old = [each.number for each in self.replicas.values() if each.is_old]
        others = (each for each in self.replicas.values() if not each.is_old)
        is_left = any(each.replica in old for each in self.left)
        return len(old) == 1 and is_left and all(each.is_ready for each in others)

    def kept(self, snapshot: Snapshot) -> Assignment | None:
        """Which of those that it could do without it keeps: preferably one that serves, and new."""
        if self.is_last:
            return None

        def key(each: Assignment) -> tuple[bool, bool, int]:
            replica = self.replicas[each.replica]
            return not replica.is_ready, replica.is_old, each.replica

        lost = {(each.role, each.replica) for each in lost_places(self.view, snapshot)}
        here = (each for each in self.left if (each.role, each.replica) not in lost)
        stay = (each for each in here if snapshot.usable_nodes.issuperset(each.nodes))
        return min(stay, key=key, default=None)

    def may_have_more(self, snapshot: Snapshot) -> bool:
        """Whether one more is of use: all that are wanted serve, and it would be started."""
        job = self.view.inference
        enough = self.all_serve and not self.left and not missing(self.role, self.running)
        if not enough or job is None or may_not_grow(self.view, snapshot):
            return False
        refusal = growth_refusal(job.status)
        return refusal is None or not is_quota_full(refusal.message)

    def one_more(self, *place: Assignment, is_new: bool = True) -> Job:
        """The part of the job that one more replica is: it keeps its place, or looks for one."""
        carried = sum(self.role.carries(each.gpu_type) for each in place)
        wanted = max(1, self.role.useful_milli(carried))
        role = replace(self.role, counts=(0, 1), wanted_milli=wanted, wanted_count=0)
        return replace(
            self.job,
            name=self.part,
            part_of=self.job.name,
            roles=(role,),
            running=place,
            pinned=is_new and bool(place),
            restart_seconds=0,
            payback_seconds=0,
        )


class Renewals:
    """Finds where services that are being renewed have one replica more.

    Remembers what it found until something has changed.
    """

    def __init__(self) -> None:
        self._asked: tuple[Problem, tuple[_Case, ...]] | None = None
        self._found: Mapping[SolverName, Assignment] = {}

    def of(
        self, snapshot: Snapshot, problem: Problem, guard: Guard, *, may_add: bool = True
    ) -> Renewal:
        """The renewal of all services of the problem; none gets one more unless it `may_add`."""
        cases: list[_Case] = []
        asking: list[_Case] = []
        kept: list[Job] = []
        for view in snapshot.present:
            if view.inference is None:
                continue
            with guard(view):
                for case in _cases(view, problem):
                    place = case.kept(snapshot)
                    kept += [] if place is None else [case.one_more(place, is_new=False)]
                    asking += [case] if case.may_have_more(snapshot) else []
                    cases.append(case)
        if not cases:
            return Renewal()
        whole = replace(problem, jobs=(*problem.jobs, *kept))
        new = self._places(whole, tuple(asking if may_add else ()))
        waits: dict[JobName, set[str]] = {}
        for case in cases:
            is_asking = not may_add and case in asking
            starts = case.part in new or (case.left and not case.all_serve)
            if starts or case.is_last or is_asking:
                waits.setdefault(case.view.name, set()).add(case.role.name)
        added = [case for case in asking if case.part in new]
        parts = (*kept, *(case.one_more(new[case.part]) for case in added))
        return Renewal(
            Adjustment(parts=parts),
            waits,
            frozenset(case.view.name for case in added),
            frozenset(case.view.name for case in cases if case.is_last),
        )

    def _places(
        self, problem: Problem, asking: tuple[_Case, ...]
    ) -> Mapping[SolverName, Assignment]:
        """Where those that may have one more have it, if there is room."""
        if asking and self._asked != (problem, asking):
            self._asked = problem, asking
            self._found = places_beside(problem, [case.one_more() for case in asking])
        return {
            case.part: replace(place, replica=case.free_number)
            for case in asking
            if (place := self._found.get(case.part)) is not None
        }


def _cases(view: JobView, problem: Problem) -> Iterator[_Case]:
    """The roles of a service that are being renewed, but those that serve by request size."""
    known = replicas_by_role(view)
    job = problem.job_by_name.get(SolverName(view.name)) if known else None
    if job is None:
        return
    everything = running_assignments(view.resource)
    for role in job.roles:
        mine = tuple(each for each in everything if each.role == role.name)
        if role.name in known and len(mine) == len(known[role.name]):
            running = tuple(each for each in job.running if each.role == role.name)
            yield _Case(view, replace(job, running=running), role, mine, known[role.name])
