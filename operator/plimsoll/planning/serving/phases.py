"""Keep prefill and decode in proportion where there is not enough for both.

A request passes both phases, so a service serves the least of their shares. To the solver a replica
of either is worth its GPUs: where prefill was there first, it would keep all of them, and decode
starve. So no phase wants more than what the other can keep up with on the GPUs that there could be:
all that no higher priority holds, within the queue's limits.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Job, Queue, Role
from plimsoll_placement.problem import Problem

PREFILL, DECODE = "prefill", "decode"
_PHASES: Final = frozenset({PREFILL, DECODE})


def with_phases_in_proportion(problem: Problem) -> Problem:
    """The problem, whose services want no more of a phase than the other keeps up with."""
    jobs = tuple(_in_proportion(problem, job) for job in problem.jobs)
    changed = any(one is not other for one, other in zip(jobs, problem.jobs, strict=True))
    return replace(problem, jobs=jobs) if changed else problem


def _in_proportion(problem: Problem, job: Job) -> Job:
    phases = [role for role in job.roles if role.name in _PHASES and role.mixable]
    if job.gang or len(phases) < len(_PHASES):
        return job
    placed = _placed(phases, _available(problem, job))
    if all(_share(role, placed[role.name]) >= 1 for role in phases):
        return job
    capped = {role.name: _capped(role, placed[role.name]) for role in phases}
    return replace(job, roles=tuple(capped.get(role.name, role) for role in job.roles))


def _placed(phases: Sequence[Role], left: dict[GpuType, int]) -> dict[str, list[int]]:
    """What each replica carries if they are placed one by one, always of the phase with less.

    It ends where that phase cannot grow: the other would gain nothing.
    """
    placed: dict[str, list[int]] = {role.name: [] for role in phases}
    while True:
        role = min(phases, key=lambda role: (_share(role, placed[role.name]), role.name))
        mine = placed[role.name]
        if _share(role, mine) >= 1 or len(mine) >= role.counts[-1]:
            return placed
        milli = role.shape.gpu_milli * role.pods_per_replica
        kinds = [kind for kind in role.yields if left.get(kind, 0) >= milli]
        if not kinds:
            return placed
        kind = max(kinds, key=lambda kind: (role.carries(kind), left[kind], kind))
        left[kind] -= milli
        mine.append(role.carries(kind))


def _share(role: Role, carried: Sequence[int]) -> float:
    """The share of what is wanted that replicas carry; below their least count none is of use."""
    if len(carried) < role.least:
        return len(carried) / role.least - 1
    return role.served(sum(carried), len(carried)) / role.wanted_milli if role.wanted_milli else 1.0


def _capped(role: Role, carried: Sequence[int]) -> Role:
    """The role, which wants no more than this."""
    most = max(len(carried), role.least)
    return replace(
        role,
        counts=tuple(count for count in role.counts if count <= most),
        wanted_milli=min(role.wanted_milli, sum(carried)),
        wanted_count=min(role.wanted_count, most),
    )


def _available(problem: Problem, job: Job) -> dict[GpuType, int]:
    """The milli-GPUs of each type that the job could have beside higher priorities."""
    left: dict[GpuType, int] = defaultdict(int)
    for node in problem.nodes:
        for devices in node.devices if node.usable else ():
            left[devices.gpu_type] += sum(devices.free_milli) // WHOLE_GPU_MILLI * WHOLE_GPU_MILLI
    chain = [problem.queue_by_name[name] for name in problem.queue_chain[job.queue]]
    limits = [dict(queue.limit) for queue in chain]
    for other in problem.jobs:
        if other.priority > job.priority:
            _subtract(problem, other, left, chain, limits)
    return {
        kind: min([milli, *(limit[kind] for limit in limits if kind in limit)])
        for kind, milli in left.items()
    }


def _subtract(
    problem: Problem,
    other: Job,
    left: dict[GpuType, int],
    chain: Sequence[Queue],
    limits: Sequence[dict[GpuType, int]],
) -> None:
    """Take away what a job holds, from all that is there and from the limits of its queues."""
    milli = {role.name: role.shape.gpu_milli for role in other.roles}
    queues = set(problem.queue_chain[other.queue])
    for each in other.running:
        held = milli.get(each.role, 0) * len(each.nodes)
        left[each.gpu_type] -= held
        for queue, limit in zip(chain, limits, strict=True):
            if queue.name in queues and each.gpu_type in limit:
                limit[each.gpu_type] -= held
