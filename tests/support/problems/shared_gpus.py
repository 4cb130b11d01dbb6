"""Nodes whose GPUs are shared, and services with parts of them."""

from dataclasses import replace
from random import Random
from typing import Unpack

from plimsoll_placement.check import require_sound
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job, Node, NodeName, Role, Shape
from plimsoll_placement.problem import Problem
from plimsoll_placement.solution import Solution
from plimsoll_placement.solve import solve_lean
from support.problems.builders import (
    GIB,
    H100,
    JobFields,
    NodeFields,
    a_mixable_role,
    a_node,
    an_inference_job,
    on,
    some_devices,
)

SHARES = 4
NANO = 10**9


def a_shared_gpu(
    name: str, gib: int = 80, *, shares: int = SHARES, **fields: Unpack[NodeFields]
) -> Node:
    """A node with one GPU of that much memory, shared by so many."""
    share = 1000 // shares
    devices = (some_devices(shares, share_milli=share, free_milli=share),)
    memory: NodeFields = {"gpu_memory_bytes": gib * GIB, "gpu_memory_each_bytes": gib * GIB}
    return replace(a_node(name, devices=devices, **memory), **fields)


def a_sharer(
    name: str,
    gib: int = 0,
    load: int | None = None,
    *,
    runs_on: str = "",
    milli: int = 250,
    **fields: Unpack[JobFields],
) -> Job:
    """A service with one replica of a part of a GPU, of unknown weights or load if not given."""
    role = replace(
        a_mixable_role(counts=(1,), wanted_milli=milli, carried={H100: milli}),
        shape=Shape(milli, gpu_memory_bytes=gib * GIB),
        load_nano=None if load is None else load * NANO,
    )
    running = (on(runs_on, role="server"),) if runs_on else ()
    return replace(an_inference_job(name, roles=(role,), running=running), **fields)


def seated(problem: Problem) -> Solution:
    """The sound solution of greedy, with replicas seated."""
    found = solve_lean(problem, Effort(deterministic_seconds=0))
    require_sound(problem, found.placements)
    return found


def neighbours(solution: Solution) -> set[frozenset[str]]:
    """The jobs that share each node."""
    found: dict[NodeName, set[str]] = {}
    for name, assignments in solution.placements.items():
        for assignment in assignments:
            for node in assignment.nodes:
                found.setdefault(node, set()).add(name)
    return {frozenset(each) for each in found.values()}


def places(solution: Solution) -> dict[str, str]:
    """The node of each job's only replica."""
    return {name: held[0].nodes[0] for name, held in solution.placements.items() if held}


def with_gpu_memory(problem: Problem, rng: Random) -> Problem:
    """The problem with memory of GPUs that are shared, and weights and loads of what shares them.

    What runs may hold more than there is, as if its weights had just become known.
    """
    nodes = tuple(_with_memory(node, rng) for node in problem.nodes)
    jobs = tuple(
        replace(job, roles=tuple(_with_weights(role, rng) for role in job.roles))
        if not job.gang
        else job
        for job in problem.jobs
    )
    return replace(problem, nodes=nodes, jobs=jobs)


def _with_memory(node: Node, rng: Random) -> Node:
    if all(devices.share_milli == WHOLE_GPU_MILLI for devices in node.devices):
        return node
    each = rng.choice((16, 24, 80)) * GIB
    total = each * rng.choice((1, 2))
    return replace(node, gpu_memory_bytes=total, gpu_memory_each_bytes=each)


def _with_weights(role: Role, rng: Random) -> Role:
    if not 0 < role.shape.gpu_milli < WHOLE_GPU_MILLI:
        return role
    weights = rng.choice((0, 5, 9, 14, 20)) * GIB
    load = rng.choice((None, 0, NANO, 7 * NANO))
    return replace(role, shape=replace(role.shape, gpu_memory_bytes=weights), load_nano=load)
