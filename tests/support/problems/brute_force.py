"""The true best of tiny problems, by looking at every placement that can differ in its score."""

from collections.abc import Iterator
from itertools import chain, combinations, combinations_with_replacement, product
from math import prod

from plimsoll_placement.check import violations
from plimsoll_placement.model import NO_GPUS, Assignment, GpuType, Job, JobName, NodeName, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solution import Score
from support.problems.builders import Placements

Held = tuple[Assignment, ...]
ReplicaPlacement = tuple[GpuType, tuple[NodeName, ...]]


def combination_count(problem: Problem) -> int:
    """How many placements there are to look at, at most."""
    return prod(len(held) for held in _sound_options(problem).values())


def best_score(problem: Problem) -> Score:
    """The best score of all sound placements."""
    return max(sound_scores(problem))


def sound_scores(problem: Problem) -> Iterator[Score]:
    """What all sound placements score, in no order."""
    options = sorted(_sound_options(problem).items(), key=lambda option: len(option[1]))
    pinned = _pinned(problem)
    for placements in _sound(problem, pinned, options):
        yield score(problem, placements)


def _sound(
    problem: Problem, placements: Placements, options: list[tuple[JobName, list[Held]]]
) -> Iterator[Placements]:
    """What is sound for all jobs is sound for some, so that what is not can be left at once."""
    if violations(problem, placements):
        return
    if not options:
        yield placements
        return
    (name, choices), *rest = options
    for held in choices:
        yield from _sound(problem, {**placements, name: held}, rest)


def _sound_options(problem: Problem) -> dict[JobName, list[Held]]:
    pinned = _pinned(problem)
    return {
        job.name: [
            held
            for held in _options(problem, job)
            if not violations(problem, {**pinned, job.name: held})
        ]
        for job in problem.jobs
        if not job.pinned
    }


def _pinned(problem: Problem) -> Placements:
    return {job.name: job.running for job in problem.jobs if job.pinned}


def _options(problem: Problem, job: Job) -> set[Held]:
    if job.gang:
        return {(), job.running, *_gangs(problem, job)}
    by_role = [list(_replicas(problem, job, role)) for role in job.roles]
    return {(), *(tuple(chain.from_iterable(held)) for held in product(*by_role))}


def _gangs(problem: Problem, job: Job) -> Iterator[Held]:
    """Which replica is where does not matter to a gang that changes."""
    for size in range(len(job.roles[0].counts)):
        parts = (list(_of_size(problem, role, role.counts[size])) for role in job.roles)
        for held in product(*parts):
            yield tuple(chain.from_iterable(held))


def _of_size(problem: Problem, role: Role, size: int) -> Iterator[Held]:
    for gpu_type in role.yields:
        placements = _replica_placements(problem, role, gpu_type)
        for chosen in combinations_with_replacement(placements, size):
            yield _numbered(role, chosen, range(size))


def _replicas(problem: Problem, job: Job, role: Role) -> Iterator[Held]:
    """Some of what runs stays, and the rest is new under numbers that were never used."""
    running = [assignment for assignment in job.running if assignment.role == role.name]
    unused = range(1 + max((a.replica for a in running), default=-1), 1000)
    found = [_replica_placements(problem, role, gpu_type) for gpu_type in role.yields]
    placements = list(chain.from_iterable(found))
    for kept_count in range(len(running) + 1):
        for size in role.counts:
            for new in combinations_with_replacement(placements, max(0, size - kept_count)):
                for kept in combinations(running, kept_count):
                    yield (*kept, *_numbered(role, new, unused))


def _replica_placements(problem: Problem, role: Role, gpu_type: GpuType) -> list[ReplicaPlacement]:
    offering = [
        node.name
        for index, node in enumerate(problem.nodes)
        if role.eligible >> index & 1
        and (gpu_type == NO_GPUS or any(d.gpu_type == gpu_type for d in node.devices))
    ]
    pods = combinations_with_replacement(offering, role.pods_per_replica)
    return [(gpu_type, names) for names in pods]


def _numbered(role: Role, placements: tuple[ReplicaPlacement, ...], numbers: range) -> Held:
    return tuple(
        Assignment(role.name, number, gpu_type, names)
        for number, (gpu_type, names) in zip(numbers, placements, strict=False)
    )
