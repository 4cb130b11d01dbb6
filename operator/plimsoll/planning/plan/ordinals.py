"""Number replicas so that none of them waits for a pod to go.

The solver numbers replicas as it likes. A replica that stays keeps its number; one taken back
before it has gone gets its number again; one that moves to another node gets a number that no pod
has, so that the new pod starts while the old one still serves or drains. That holds for the
replicas of a service, and for the workers of a gang that changes its size while it runs.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, count

from plimsoll.observe.snapshot import JobName, JobView, PodView, Snapshot
from plimsoll.planning.cluster.leaving import is_resized_live, leaving_pods
from plimsoll.planning.cluster.surge import surge_pods
from plimsoll.planning.plan.decisions import PlanResult
from plimsoll.planning.problem.running import running_assignments
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.model import Assignment, Assignments
from plimsoll_placement.model import JobName as SolverName

_Place = tuple[str, tuple[str, ...]]
"""A role and the node of each of a replica's pods."""


def with_ordinals(snapshot: Snapshot, result: PlanResult) -> PlanResult:
    """The plan result with final numbers for its new replicas."""
    placements: dict[SolverName, Assignments] = dict(result.solution.placements)
    numbers: dict[JobName, _Ordinals] = {}
    for job in sorted(result.problem.jobs, key=lambda job: not job.pinned):
        view = snapshot.job_by_name.get(JobName(job.whole_name))
        assignments = placements.get(job.name)
        if assignments and view is not None and _keeps_numbers(view):
            known = numbers.setdefault(view.name, _Ordinals(view))
            if job.pinned:
                known.keep(assignments)
            else:
                placements[job.name] = known.of(assignments)
    return replace(result, solution=replace(result.solution, placements=placements))


def _keeps_numbers(view: JobView) -> bool:
    """Whether a job's replicas come and go while others of it run."""
    return is_resized_live(view) or (view.inference is not None and view.target is None)


class _Ordinals:
    """The replica numbers of one job, each given out once."""

    def __init__(self, view: JobView) -> None:
        self._running = list(running_assignments(view.resource))
        job = view.training
        leaving = () if job is None else leaving_pods(view, job.status)
        self._going = _by_place((*filter(_drains, view.pods), *surge_pods(view), *leaving))
        self._taken: defaultdict[str, set[int]] = defaultdict(set)
        for pod in view.pods:
            self._taken[pod.role].add(pod.replica)

    def keep(self, assignments: Assignments) -> None:
        """Leave the numbers of what is pinned as they are: nobody else gets them."""
        for assignment in assignments:
            self._take(assignment, assignment.replica)
            if assignment in self._running:
                self._running.remove(assignment)

    def of(self, assignments: Assignments) -> Assignments:
        """The assignments with their numbers; replicas that stay come first."""
        staying = {assignment for assignment in assignments if assignment in self._running}
        for assignment in staying:
            self._take(assignment, assignment.replica)
            self._running.remove(assignment)
        return tuple(
            assignment if assignment in staying else self._new(assignment)
            for assignment in assignments
        )

    def _new(self, assignment: Assignment) -> Assignment:
        here = [each for each in self._running if _same_place(each, assignment)]
        if here:
            self._running.remove(here[0])
            return self._take(assignment, here[0].replica)
        role, _ = whole_role(assignment.role)
        back = self._going.pop((role, tuple(assignment.nodes)), None)
        if back is not None:
            return self._take(assignment, back)
        taken = self._taken[role]
        return self._take(
            assignment, next(n for n in chain((assignment.replica,), count()) if n not in taken)
        )

    def _take(self, assignment: Assignment, number: int) -> Assignment:
        self._taken[whole_role(assignment.role)[0]].add(number)
        return assignment if assignment.replica == number else replace(assignment, replica=number)


def _same_place(some: Assignment, other: Assignment) -> bool:
    """Whether two replicas differ only in their numbers and the request sizes that they take."""
    roles = whole_role(some.role)[0], whole_role(other.role)[0]
    return roles[0] == roles[1] and (some.nodes, some.gpu_type) == (other.nodes, other.gpu_type)


def _drains(pod: PodView) -> bool:
    return pod.draining_since is not None and not pod.deleting


def _by_place(pods: Iterable[PodView]) -> dict[_Place, int]:
    """The numbers of the replicas that the pods belong to, by their place."""
    found: dict[tuple[str, int], list[PodView]] = {}
    for pod in sorted(pods, key=lambda pod: pod.rank):
        found.setdefault((pod.role, pod.replica), []).append(pod)
    return {
        (role, tuple(pod.node for pod in replica)): number
        for (role, number), replica in found.items()
    }
