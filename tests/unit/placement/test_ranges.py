"""What the solver can count with is what it is asked; within that nothing overflows."""

from dataclasses import replace

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Job, Role
from plimsoll_placement.ranges import MOST_GPU_MILLI, MOST_HELD, MOST_REQUESTED, out_of_range
from plimsoll_placement.solve import solve
from support.problems.builders import (
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    on,
)

JOBS = 200


def a_gang_at_the_end(index: int) -> Job:
    """One that may grow to as many GPUs as any, and starts with one."""
    role = a_role(counts=(1, MOST_GPU_MILLI // 1000), gpu_milli=1000)
    return a_training_job(f"gang-{index}", worker=role)


def a_service_at_the_end(index: int) -> Job:
    role = a_mixable_role(counts=range(1, 1025), wanted_milli=10 * MOST_GPU_MILLI)
    return an_inference_job(f"serve-{index}", roles=(role,))


@pytest.mark.slow
def test_many_jobs_at_the_end_of_the_range_are_planned_for() -> None:
    jobs = [*map(a_gang_at_the_end, range(JOBS)), *map(a_service_at_the_end, range(JOBS))]
    assert not any(map(out_of_range, jobs))
    problem = a_problem([a_node(f"n-{n}", gpus=8) for n in range(8)], jobs)
    solution = solve(problem, Effort(0.5))
    assert not violations(problem, solution.placements)
    assert sum(map(len, solution.placements.values())) == 64


@pytest.mark.parametrize(
    ("role", "unit"),
    [
        (a_role(counts=(1, 2), gpu_milli=MOST_GPU_MILLI), "GPUs at its largest"),
        (a_role(cpu_millis=MOST_REQUESTED + 1), "millicores"),
        (a_role(memory_bytes=MOST_REQUESTED + 1), "bytes"),
    ],
)
def test_what_is_too_much_to_count_with_is_named(role: Role, unit: str) -> None:
    fault = out_of_range(a_training_job("j", worker=role))
    assert fault.split(" asks for ")[0].endswith("role worker")
    assert f" {unit}; " in fault


def test_what_runs_may_not_hold_more_than_any_node_has() -> None:
    role = a_role(memory_bytes=MOST_HELD + 1)
    waits = a_training_job("j", worker=role)
    assert not out_of_range(waits)
    assert out_of_range(replace(waits, running=(on("n"),)))
