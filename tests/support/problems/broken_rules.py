"""Problems in which what runs breaks a rule today: the cluster changed under it."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import Devices, GpuType, Job, Node, Role
from plimsoll_placement.problem import Problem
from support.problems.random_clusters import chance, milli_by_type
from support.problems.random_problems import drawn_problem

RENAMED = GpuType("renamed")


def drawn_broken_problem(
    rng: Random, *, nodes: int, jobs: int, companions: bool = False
) -> Problem:
    """A problem whose plan was carried out, some of it to be kept, before up to three changes."""
    problem = drawn_problem(rng, nodes=nodes, jobs=jobs, companions=companions)
    running = greedy_placements(problem)
    kept_percent = rng.choice((0, 50, 100))
    jobs_now = (
        replace(job, running=held, pinned=bool(held) and chance(rng, kept_percent))
        for job in problem.jobs
        for held in (running.get(job.name, ()),)
    )
    problem = replace(problem, jobs=tuple(jobs_now))
    for change in rng.sample(CHANGES, rng.choice((1, 2, 3))):
        problem = change(rng, problem)
    return problem


Change = Callable[[Random, Problem], Problem]


def limits_lowered(rng: Random, problem: Problem) -> Problem:
    """Some queues may use less than their jobs hold."""
    queues = (replace(queue, limit=milli_by_type(rng, 80)) for queue in problem.queues)
    return replace(problem, queues=tuple(queues))


def budgets_lowered(rng: Random, problem: Problem) -> Problem:
    """Power domains may draw little or nothing."""
    domains = (
        replace(domain, budget_milliwatts=rng.choice((100_000, 0)))
        for domain in problem.power_domains
    )
    return replace(problem, power_domains=tuple(domains))


def nodes_cordoned(rng: Random, problem: Problem) -> Problem:
    """Some nodes take nothing new, and some must be left."""
    nodes = (replace(node, open=chance(rng, 50), usable=chance(rng, 70)) for node in problem.nodes)
    return replace(problem, nodes=tuple(nodes))


def nodes_gone(rng: Random, problem: Problem) -> Problem:
    """Some nodes are no more."""
    left = [row for row in range(len(problem.nodes)) if not row or chance(rng, 70)]
    jobs = (_with_roles(job, lambda role: _moved(role, left)) for job in problem.jobs)
    return replace(problem, nodes=tuple(problem.nodes[row] for row in left), jobs=tuple(jobs))


def gpu_types_renamed(rng: Random, problem: Problem) -> Problem:
    """Some devices are of another type than they were."""
    types = [RENAMED, *sorted({each.gpu_type for node in problem.nodes for each in node.devices})]

    def renamed(devices: Devices) -> Devices:
        return replace(devices, gpu_type=rng.choice(types)) if chance(rng, 50) else devices

    nodes = (replace(node, devices=tuple(map(renamed, node.devices))) for node in problem.nodes)
    return replace(problem, nodes=tuple(nodes))


def nodes_shrunk(rng: Random, problem: Problem) -> Problem:
    """Some nodes have less CPU, memory, room for pods or devices."""

    def shrunk(node: Node) -> Node:
        return replace(
            node,
            cpu_millis=rng.choice((node.cpu_millis, 1000, 0)),
            memory_bytes=rng.choice((node.memory_bytes, 0)),
            pod_slots=rng.choice((node.pod_slots, 1)),
            devices=tuple(
                replace(each, free_milli=each.free_milli[: rng.choice((None, 1, 0))])
                for each in node.devices
            ),
        )

    return replace(problem, nodes=tuple(map(shrunk, problem.nodes)))


def topology_changed(rng: Random, problem: Problem) -> Problem:
    """Nodes are in other domains."""
    nodes = (
        replace(node, topology=tuple(rng.choice((label, "", "new")) for label in node.topology))
        for node in problem.nodes
    )
    return replace(problem, nodes=tuple(nodes))


def spot_shares_lowered(rng: Random, problem: Problem) -> Problem:
    """More nodes are spot, and jobs allow less of it."""
    nodes = (replace(node, spot=node.spot or chance(rng, 50)) for node in problem.nodes)
    jobs = (replace(job, spot_percent=rng.choice((0, 30))) for job in problem.jobs)
    return replace(problem, nodes=tuple(nodes), jobs=tuple(jobs))


def nodes_barred(rng: Random, problem: Problem) -> Problem:
    """Roles may no longer be on some of their nodes."""
    mask = rng.getrandbits(len(problem.nodes))
    jobs = (
        _with_roles(job, lambda role: replace(role, eligible=role.eligible & mask))
        for job in problem.jobs
    )
    return replace(problem, jobs=tuple(jobs))


def jobs_requeued(rng: Random, problem: Problem) -> Problem:
    """Jobs are in other queues and have other priorities."""
    names = [queue.name for queue in problem.queues]
    jobs = (
        replace(job, queue=rng.choice(names), priority=rng.choice((0, 50, 100)))
        for job in problem.jobs
    )
    return replace(problem, jobs=tuple(jobs)) if names else problem


CHANGES: tuple[Change, ...] = (
    limits_lowered,
    budgets_lowered,
    nodes_cordoned,
    nodes_gone,
    gpu_types_renamed,
    nodes_shrunk,
    topology_changed,
    spot_shares_lowered,
    nodes_barred,
    jobs_requeued,
)


def _with_roles(job: Job, changed: Callable[[Role], Role]) -> Job:
    return replace(job, roles=tuple(map(changed, job.roles)))


def _moved(role: Role, rows: list[int]) -> Role:
    eligible = sum((role.eligible >> old & 1) << new for new, old in enumerate(rows))
    return replace(role, eligible=eligible)
