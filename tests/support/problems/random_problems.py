"""Whole problems drawn from a random source, with every kind of constraint in some of them.

The source may be a seeded `Random`, or hypothesis' own, which shrinks towards the first of each
choice: the plainest is therefore named first everywhere.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from plimsoll_placement.check import violations
from plimsoll_placement.model import (
    NO_GPUS,
    Assignment,
    Devices,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Role,
    RoleName,
)
from plimsoll_placement.problem import Problem
from support.problems.builders import Placements
from support.problems.random_clusters import (
    chance,
    drawn_mix,
    drawn_node,
    drawn_weights,
    milli_by_type,
    partly_taken,
    power_domains,
    queues,
)
from support.problems.random_jobs import drawn_job, with_companions

LEVELS = ("zone", "rack")
PROPOSALS = 3


ALLOWANCES = (None, 0, 500_000, 5_000_000)
"""In milli-GPU-seconds: no budget, none left, room for a small gang, and for a few."""


def random_problem(seed: int, nodes: int, jobs: int, *, companions: bool = False) -> Problem:
    """The same problem for the same seed, as large as wanted."""
    return drawn_problem(Random(seed), nodes=nodes, jobs=jobs, companions=companions)


def drawn_problem(rng: Random, *, nodes: int, jobs: int, companions: bool = False) -> Problem:
    """A problem with that many nodes and jobs, some of which run; then the cluster may shrink.

    With `companions` some gangs have several roles, and some nodes no GPUs.
    """
    mix = drawn_mix(rng)
    domains, tree = tuple(power_domains(rng, mix)), tuple(queues(rng, mix))
    drawn_nodes = tuple(drawn_node(rng, mix, index, domains) for index in range(nodes))
    drawn_jobs = tuple(drawn_job(rng, mix, index, nodes, tree) for index in range(jobs))
    if companions:
        bare = (replace(node, devices=()) if chance(rng, 20) else node for node in drawn_nodes)
        drawn_nodes = tuple(bare)
        drawn_jobs = tuple(with_companions(rng, mix, job, nodes) for job in drawn_jobs)
    fresh = Problem(
        nodes=drawn_nodes,
        jobs=drawn_jobs,
        queues=tree,
        power_domains=domains,
        levels=LEVELS,
        weights=drawn_weights(rng),
    )
    made = _edited(rng, _shrunk(rng, _with_running(rng, fresh)))
    return replace(made, loss_allowance=rng.choice(ALLOWANCES))


# What runs


def _with_running(rng: Random, problem: Problem) -> Problem:
    """Random placements for many of the jobs, jointly feasible."""
    placements: dict[JobName, tuple[Assignment, ...]] = {}
    wanted = [job for job in problem.jobs if chance(rng, 60)]
    for _ in range(PROPOSALS):
        for job in wanted:
            if not placements.get(job.name):
                placements[job.name] = random_placement(rng, problem, job)
        _drop_what_breaks_rules(problem, placements)
    return replace(problem, jobs=tuple(_running(rng, job, placements) for job in problem.jobs))


def _running(rng: Random, job: Job, placements: Placements) -> Job:
    running = placements.get(job.name, ())
    return replace(job, running=running, pinned=bool(running) and chance(rng, 15))


def _drop_what_breaks_rules(
    problem: Problem, placements: dict[JobName, tuple[Assignment, ...]]
) -> None:
    """Of the jobs that touch what is too much, drop the later half, until nothing is too much."""
    jobs = {job.name: job for job in problem.jobs}
    while broken := violations(problem, placements):
        touching: dict[str, list[JobName]] = defaultdict(list)
        for name, assignments in placements.items():
            for subject in _touched(problem, jobs[name], assignments):
                touching[subject].append(name)
        for subject in sorted({violation.subject for violation in broken}):
            for name in touching[subject][len(touching[subject]) // 2 :]:
                placements.pop(name, None)


def _touched(problem: Problem, job: Job, assignments: tuple[Assignment, ...]) -> set[str]:
    names = {name for assignment in assignments for name in assignment.nodes}
    domains = {d for name in names for d in _node_named(problem, name).power_domains}
    return {job.name, *names, *domains, *problem.queue_chain[job.queue]}


def _node_named(problem: Problem, name: NodeName) -> Node:
    return problem.nodes[problem.node_index[name]]


def random_placement(rng: Random, problem: Problem, job: Job) -> tuple[Assignment, ...]:
    size = rng.randrange(len(job.roles[0].counts)) if job.companions else None
    return tuple(a for role in job.roles for a in _random_replicas(rng, problem, job, role, size))


def _random_replicas(
    rng: Random, problem: Problem, job: Job, role: Role, size: int | None
) -> Iterator[Assignment]:
    """Replicas on nodes that suit each pod by itself, if there are any; often all on one node."""
    suitable = {gpu_type: _suitable(problem, job, role, gpu_type) for gpu_type in role.yields}
    types = [gpu_type for gpu_type, nodes in suitable.items() if nodes]
    if not types:
        return
    gpu_type = rng.choice(types)
    nodes = suitable[gpu_type]
    places = nodes if chance(rng, 40) else [rng.choice(nodes)]
    for replica in range(rng.choice(role.counts) if size is None else role.counts[size]):
        chosen = tuple(rng.choice(places) for _ in range(role.pods_per_replica))
        yield Assignment(role.name, replica, gpu_type, chosen)


def _suitable(problem: Problem, job: Job, role: Role, gpu_type: GpuType) -> list[NodeName]:
    return [
        node.name
        for index, node in enumerate(problem.nodes)
        if role.eligible >> index & 1
        and (job.spot_percent or not node.spot)
        and (
            gpu_type == NO_GPUS
            or any(_could_serve(each, gpu_type, role.shape.gpu_milli) for each in node.devices)
        )
    ]


def _could_serve(devices: Devices, gpu_type: GpuType, requested_milli: int) -> bool:
    granted = devices.granted_milli(requested_milli)
    return devices.gpu_type == gpu_type and bool(granted) and granted <= sum(devices.free_milli)


# What became of the cluster since


def _shrunk(rng: Random, problem: Problem) -> Problem:
    """Close nodes, take some out of use, and now and then cut budgets, limits and devices."""
    pinned = {n for j in problem.jobs if j.pinned for a in j.running for n in a.nodes}
    nodes = tuple(_aged(rng, node, is_pinned=node.name in pinned) for node in problem.nodes)
    problem = replace(problem, nodes=nodes)
    return _cut(rng, problem) if chance(rng, 20) else problem


def _aged(rng: Random, node: Node, *, is_pinned: bool) -> Node:
    is_open = not chance(rng, 15)
    usable = is_pinned or not chance(rng, 10)
    return replace(node, open=is_open, usable=usable)


def _cut(rng: Random, problem: Problem) -> Problem:
    return replace(
        problem,
        nodes=tuple(
            replace(node, devices=tuple(partly_taken(rng, devices) for devices in node.devices))
            for node in problem.nodes
        ),
        queues=tuple(replace(queue, limit=milli_by_type(rng, 50)) for queue in problem.queues),
        power_domains=tuple(
            replace(domain, budget_milliwatts=rng.choice((900_000, 300_000, 0)))
            for domain in problem.power_domains
        ),
    )


# What became of the jobs since


def _edited(rng: Random, problem: Problem) -> Problem:
    """Now and then users give roles of jobs that run another name, or take a GPU type off them."""
    jobs = (
        _changed(rng, job) if job.running and not job.pinned and chance(rng, 10) else job
        for job in problem.jobs
    )
    return replace(problem, jobs=tuple(jobs))


def _changed(rng: Random, job: Job) -> Job:
    first, *others = job.roles
    kinds = sorted(first.yields)
    if len(kinds) > 1 and chance(rng, 50):
        first = replace(first, yields={kind: first.yields[kind] for kind in kinds[1:]})
    else:
        first = replace(first, name=RoleName(f"new-{first.name}"))
    return replace(job, roles=(first, *others))
