"""On the twin, a job finds out where it is fast, at a bounded loss."""

import asyncio
from collections.abc import Mapping

import pytest

from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_simulator.cluster.nodes import gpu_node
from plimsoll_simulator.programs.training import Gang, Pace, Run
from plimsoll_simulator.twin import Twin, TwinTerms, lived
from support.clusters.twin_jobs import HOUR, begin, submit

SEARCHES = TwinTerms(most_effort_seconds=0.3)
"""Greedy plans move nothing."""
LOOK_HOURS = 0.1
"""Two stops, a few minutes of training elsewhere, and the turns between."""


def submit_with_speeds(twin: Twin, *, hours: float, speeds: Mapping[str, float]) -> Run:
    """A gang of four that calls both types equally fast, and has true speeds of its own."""

    def true(gang: Gang, _: float) -> Pace:
        return Pace(speeds[gang.gpu_type] * gang.gpus)

    return submit(twin, "job", gpus=4, hours=hours, pace=true)


def hours_taken(*, hours: float, speeds: Mapping[str, float]) -> tuple[float, int]:
    """How long the job took, and how often it started."""

    async def story(twin: Twin) -> None:
        begin(twin, gpu_node("h", H100, 4))
        run = submit_with_speeds(twin, hours=hours, speeds=speeds)
        await asyncio.sleep(0.3 * HOUR)
        twin.apply(gpu_node("a", A100, 4))
        while run.account.completed is None:  # noqa: ASYNC110 - a minute passes at once here
            await asyncio.sleep(60)

    [run] = lived(story, SEARCHES).training.runs.values()
    assert run.account.completed is not None
    return run.account.completed / HOUR, run.account.starts


@pytest.mark.slow
def test_a_type_that_is_really_faster_than_stated_is_found() -> None:
    took, starts = hours_taken(hours=10, speeds={H100: 1.0, A100: 2.0})
    assert took < 6
    assert starts == 2


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.9, 0.5, 0.1])
def test_a_look_at_a_type_that_is_slower_costs_little(speed: float) -> None:
    took, starts = hours_taken(hours=10, speeds={H100: 1.0, A100: speed})
    assert took < 10 + LOOK_HOURS
    assert starts == 3


def test_a_job_that_is_soon_done_looks_at_nothing() -> None:
    _, starts = hours_taken(hours=1, speeds={H100: 1.0, A100: 2.0})
    assert starts == 1
