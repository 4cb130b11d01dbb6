"""Clusters in which much is idle, but little of it together."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from plimsoll_placement.model import Devices, GpuType, Job
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    A100,
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    some_devices,
)

NODES = 6


def fragmented_problem(rng: Random) -> Problem:
    """Gangs and replicas here and there, and gangs that need more together than is idle."""
    share = rng.choice((1, 1000))
    nodes = [
        a_node(
            f"n{n}",
            devices=(_devices(rng, share),),
            topology=(rng.choice("ab"),),
            cpu_millis=rng.choice((8_000, 96_000)),
        )
        for n in range(NODES)
    ]
    problem = a_problem(nodes, (), levels=("row",))
    ledger, jobs = Ledger(problem), list[Job]()
    for job in _running(rng, nodes_count=NODES, share=share):
        kind = nodes[int(job.running[0].nodes[0][1:])].devices[0].gpu_type
        held = tuple(replace(each, gpu_type=kind) for each in job.running)
        here = replace(job, running=held)
        if ledger.take(replace(here, pinned=True), held):
            jobs.append(here)
    problem = a_problem(nodes, [*jobs, *_waiting(rng, share)], levels=("row",))
    allowance = rng.choice((None, None, 4000 * 600))
    return replace(problem, loss_allowance=allowance)


def _devices(rng: Random, share: int) -> Devices:
    return some_devices(rng.choice((2, 4)), rng.choice((H100, A100)), share_milli=share)


def _running(rng: Random, *, nodes_count: int, share: int) -> Iterator[Job]:
    for number in range(3 * nodes_count):
        node = f"n{rng.randrange(nodes_count)}"
        milli = rng.choice((300, 500, 700, 1000)) if share == 1 else rng.choice((1000, 1000, 2000))
        role = a_role(gpu_milli=milli, cpu_millis=rng.choice((0, 2000)), rates=_rates(rng))
        fields = {"priority": rng.randrange(2), "restart_seconds": rng.choice((0, 60, 3600))}
        if rng.random() < 0.2:
            server = a_mixable_role(role=role, carried={H100: milli, A100: milli})
            runs = (on(node, role="server"),)
            yield replace(an_inference_job(f"runs-{number}", roles=(server,)), running=runs)
        else:
            job = a_training_job(f"runs-{number}", worker=role, running=gang_on(node))
            yield replace(job, **fields, pinned=rng.random() < 0.2)


def _waiting(rng: Random, share: int) -> Iterator[Job]:
    for number in range(4):
        milli = rng.choice((500, 1000, 2000)) if share == 1 else rng.choice((2000, 3000, 4000))
        role = a_role(gpu_milli=milli, counts=(rng.choice((1, 1, 2)),), rates=_rates(rng))
        job = a_training_job(f"waits-{number}", worker=role, priority=rng.randrange(2))
        yield replace(job, required_level=rng.choice((None, None, 0)))


def _rates(rng: Random) -> dict[GpuType, int]:
    return {H100: 100, A100: rng.choice((100, 80))}
