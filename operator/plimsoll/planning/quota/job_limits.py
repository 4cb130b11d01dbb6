"""Find the jobs beyond the limits of their namespace or queue; they wait unplanned.

The policy limits the jobs planned at a time per namespace, and a queue limits its own. Running jobs
count first and are never beyond a limit, so that no job loses its placement by one; then the
oldest. Jobs that are over or suspended do not count.

The cost of a plan also grows with the number of sizes that jobs may have. So the waiting jobs of a
namespace have a limit on their sizes together, the most important first; a thousand ordinary jobs
stay below it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from plimsoll.api.kinds import Job
from plimsoll.api.placement_policy import PlacementPolicySpec
from plimsoll.api.training_job import TrainingJob
from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.faults import Guard, unguarded
from plimsoll.planning.training.batch_limits import MOST_SIZES
from plimsoll.remembered import once_for_each

MOST_SIZES_AT_A_TIME: Final = 2**16
"""For a namespace's waiting jobs: enough for 64 of the costliest that can be written."""

Place = tuple[str, str]
"""What a limit applies to, such as `namespace`, and its name."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The most jobs of each namespace, and of the queues that have a limit."""

    of_a_namespace: int
    of_queues: Mapping[str, int]

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Limits":
        """The limits of the policy and the queues; without a policy, its defaults."""
        spec = snapshot.policy.spec if snapshot.policy is not None else PlacementPolicySpec()
        queues = ((q.metadata.name, q.spec.max_jobs) for q in snapshot.queues)
        most = {name: most for name, most in queues if most is not None}
        return cls(spec.max_jobs_per_namespace, most)

    def most(self, place: Place) -> int:
        """The limit of a namespace or queue that has one."""
        kind, name = place
        return self.of_a_namespace if kind == "namespace" else self.of_queues[name]

    def places(self, view: JobView) -> tuple[tuple[Place, int], ...]:
        """Where a job counts, and the limit there."""
        own = ("namespace", view.resource.metadata.namespace), self.of_a_namespace
        queue = view.resource.spec.queue
        if queue not in self.of_queues:
            return (own,)
        return own, (("queue", queue), self.of_queues[queue])


def beyond_limits(snapshot: Snapshot, guard: Guard = unguarded) -> Mapping[JobName, str]:
    """The jobs beyond a limit, each with a sentence that says which limit, and what to do."""
    views = [view for view in snapshot.present if _counts(view)]
    beyond = _too_many(views, Limits.of(snapshot))
    left = (view for view in views if view.name not in beyond and not _runs(view))
    return {**beyond, **_too_costly(left, guard)}


def _too_many(views: Sequence[JobView], limits: Limits) -> dict[JobName, str]:
    counts = Counter(place for view in views for place, _ in limits.places(view))
    over = {place for place, count in counts.items() if count > limits.most(place)}
    if not over:
        return {}
    taken: Counter[Place] = Counter()
    beyond: dict[JobName, str] = {}
    for view in sorted(views, key=_turn):
        full = [(place, most) for place, most in limits.places(view) if taken[place] >= most]
        if full and not _runs(view):
            beyond[view.name] = _sentence(*full[0])
        else:
            taken.update(place for place, _ in limits.places(view))
    return beyond


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
    for view, sizes in sorted(views, key=_importance):
        left -= sizes
        if left < 0:
            yield view.name


def _importance(sized: tuple[JobView, int]) -> tuple[int, tuple[bool, float, str]]:
    view, _ = sized
    return -(view.priority or 0), _turn(view)


@once_for_each
def _sizes(job: Job) -> int:
    """The most sizes of a job that are considered."""
    if isinstance(job, TrainingJob):
        return min(len(job.spec.workers.counts) * len(job.spec.accelerators), MOST_SIZES)
    return sum(len(role.profiles) for role in job.spec.roles) or 1


def _counts(view: JobView) -> bool:
    """Whether a job should run, or still runs."""
    is_going = view.resource.metadata.deletion_timestamp is not None
    return not view.is_over and not is_going and not view.resource.spec.suspend


def _runs(view: JobView) -> bool:
    return view.resource.status.placement is not None


def _turn(view: JobView) -> tuple[bool, float, str]:
    created = view.resource.metadata.creation_timestamp
    return not _runs(view), created.timestamp() if created else 0.0, view.name


def _sentence(place: Place, most: int) -> str:
    """Omits the number of waiting jobs: otherwise each newcomer would be news to all of them."""
    kind, name = place
    setting = {
        "namespace": "maxJobsPerNamespace of the PlacementPolicy",
        "queue": f"maxJobs of JobQueue {name}",
    }
    return (
        f"{kind} {name} has more than {most} jobs, the most that are planned at a time: it waits"
        f" for older ones to end; suspend or delete some, or have {setting[kind]} raised"
    )


def _too_costly_sentence(namespace: str) -> str:
    return (
        f"the waiting jobs of namespace {namespace} allow more than {MOST_SIZES_AT_A_TIME} sizes"
        " (worker counts per GPU type), the most that are planned at a time: it waits for more"
        " important and older ones; list fewer counts in workers.allowed, or fewer types"
    )
