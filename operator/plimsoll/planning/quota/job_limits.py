"""Find the jobs beyond the limits of their namespace or queue; they wait unplanned.

The policy limits the jobs planned at a time per namespace, and a queue limits its own. Running jobs
count first and are never beyond a limit, so that no job loses its placement by one; then the most
important and oldest. Jobs that are over or suspended do not count. Where the policy says nothing,
only waiting jobs count: GPUs and quota limit what runs, and a burst of any size drains.

The cost of a plan also grows with the number of sizes that jobs may have. So the waiting jobs of a
namespace have a limit on their sizes together, the most important first; a thousand ordinary jobs
stay below it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicySpec
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.faults import Guard, unguarded
from plimsoll.planning.training.batch_limits import MOST_SIZES
from plimsoll.remembered import once_for_each

MOST_WAITING: Final = 5000
"""For a namespace, unless the policy limits its jobs."""

MOST_SIZES_AT_A_TIME: Final = 2**16
"""For a namespace's waiting jobs: enough for 64 of the costliest that can be written."""

Place = tuple[str, str]
"""What a limit applies to, such as `namespace`, and its name."""


class _Group(NamedTuple):
    """What the limits of a job depend on."""

    namespace: str
    queue: str
    runs: bool


@dataclass(frozen=True, slots=True)
class Limits:
    """The most jobs of each namespace, and of the queues that have a limit."""

    of_a_namespace: int | None
    """None: `MOST_WAITING` of those that wait."""
    of_queues: Mapping[str, int]

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Limits":
        """The limits of the policy and the queues; without a policy, its defaults."""
        spec = snapshot.policy.spec if snapshot.policy is not None else PlacementPolicySpec()
        queues = ((q.metadata.name, q.spec.max_jobs) for q in snapshot.queues)
        most = {name: most for name, most in queues if most is not None}
        return cls(spec.max_jobs_per_namespace, most)

    def places(self, group: _Group) -> Iterator[tuple[Place, int]]:
        """Where the jobs of a group count, and the limit there."""
        if self.of_a_namespace is not None:
            yield ("namespace", group.namespace), self.of_a_namespace
        elif not group.runs:
            yield ("namespace", group.namespace), MOST_WAITING
        if group.queue in self.of_queues:
            yield ("queue", group.queue), self.of_queues[group.queue]

    def sentence(self, place: Place, most: int) -> str:
        """Omits the number of waiting jobs: otherwise each newcomer would be news to all."""
        kind, name = place
        if kind == "queue":
            jobs, end, remedy = "jobs", "end", f"have maxJobs of JobQueue {name} raised"
        elif self.of_a_namespace is not None:
            jobs, end = "jobs", "end"
            remedy = "have maxJobsPerNamespace of the PlacementPolicy raised"
        else:
            jobs, end = "waiting jobs", "start"
            remedy = "have maxJobsPerNamespace of the PlacementPolicy set to more than its jobs"
        jobs = jobs.removesuffix("s") if most == 1 else jobs
        return (
            f"{kind} {name} has more than {most} {jobs}, the most that are planned at a time: it"
            f" waits for more important and older ones to {end}; suspend or delete some, or"
            f" {remedy}"
        )


def beyond_limits(snapshot: Snapshot, guard: Guard = unguarded) -> Mapping[JobName, str]:
    """The jobs beyond a limit, each with a sentence that says which limit, and what to do."""
    beyond = _too_many(snapshot.present, Limits.of(snapshot))
    waiting = (view for view in snapshot.present if _waits(view) and view.name not in beyond)
    return {**beyond, **_too_costly(waiting, guard)}


def _too_many(views: Sequence[JobView], limits: Limits) -> dict[JobName, str]:
    if not _is_any_full(Counter(map(_group, views)), limits):
        return {}
    taken: Counter[Place] = Counter()
    beyond: dict[JobName, str] = {}
    grouped = ((view, group) for view in views if (group := _group(view)) is not None)
    for view, group in sorted(grouped, key=lambda each: _importance(each[0])):
        places = list(limits.places(group))
        full = [(place, limit) for place, limit in places if taken[place] >= limit]
        if full and not group.runs:
            beyond[view.name] = limits.sentence(*full[0])
        else:
            taken.update(place for place, _ in places)
    return beyond


def _is_any_full(groups: Mapping[_Group | None, int], limits: Limits) -> bool:
    """Whether any place has more jobs than its limit."""
    room: dict[Place, int] = {}
    for group, count in groups.items():
        for place, limit in limits.places(group) if group is not None else ():
            room[place] = room.get(place, limit) - count
    return any(left < 0 for left in room.values())


def _too_costly(waiting: Iterable[JobView], guard: Guard) -> dict[JobName, str]:
    """The jobs beyond the sizes considered for a namespace, by priority and age."""
    by_namespace: dict[str, list[tuple[JobView, int]]] = {}
    for view in waiting:
        with guard(view):
            sized = view, _sizes(view.resource)
            by_namespace.setdefault(view.resource.metadata.namespace, []).append(sized)
    beyond: dict[JobName, str] = {}
    for namespace, views in by_namespace.items():
        if sum(sizes for _, sizes in views) > MOST_SIZES_AT_A_TIME:
            beyond |= dict.fromkeys(_last(views), _too_costly_sentence(namespace))
    return beyond


def _last(views: Iterable[tuple[JobView, int]]) -> Iterator[JobName]:
    left = MOST_SIZES_AT_A_TIME
    for view, sizes in sorted(views, key=lambda sized: _importance(sized[0])):
        left -= sizes
        if left < 0:
            yield view.name


@once_for_each
def _sizes(job: Job) -> int:
    """The most sizes of a job that are considered."""
    if isinstance(job, TrainingJob):
        return min(len(job.spec.workers.counts) * len(job.spec.accelerators), MOST_SIZES)
    return sum(len(role.profiles) for role in job.spec.roles) or 1


@once_for_each
def _group(view: JobView) -> _Group | None:
    """Where a job counts, as long as it should run or still runs."""
    job = view.resource
    if view.is_over or job.metadata.deletion_timestamp is not None or job.spec.suspend:
        return None
    return _Group(job.metadata.namespace, job.spec.queue, job.status.placement is not None)


def _waits(view: JobView) -> bool:
    group = _group(view)
    return group is not None and not group.runs


def _importance(view: JobView) -> tuple[bool, int, float, str]:
    """Sorts what runs first, then the most important, then the oldest."""
    created = view.resource.metadata.creation_timestamp
    age = created.timestamp() if created else 0.0
    return view.resource.status.placement is None, -(view.priority or 0), age, view.name


def _too_costly_sentence(namespace: str) -> str:
    return (
        f"the waiting jobs of namespace {namespace} allow more than {MOST_SIZES_AT_A_TIME} sizes"
        " (worker counts per GPU type), the most that are planned at a time: it waits for more"
        " important and older ones; list fewer counts in workers.allowed, or fewer types"
    )
