"""What greedy makes of gangs that can grow."""

from dataclasses import replace

import pytest

from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.model import JobName, Weights
from support.problems.builders import a_node, a_problem, a_role, a_training_job, gang_on


def size_of(gpus: int, restart_seconds: int) -> int:
    """The size of a gang of four to sixteen workers that runs with four, with so many GPUs."""
    worker = a_role(counts=tuple(range(4, 17)))
    gang = a_training_job(
        "gang", worker=worker, running=gang_on(*["n0"] * 4), restart_seconds=restart_seconds
    )
    weights = Weights(break_even_percent=100, horizon_seconds=3600, gain_seconds=3600)
    problem = replace(a_problem([a_node("n0", gpus=gpus)], [gang]), weights=weights)
    return len(greedy_placements(problem)[JobName("gang")])


@pytest.mark.parametrize("restart_seconds", [0, 600, 1000])
def test_a_gang_takes_all_that_is_free(restart_seconds: int) -> None:
    """A stop of 1,000 s costs more than what one worker more does in an hour, not what four do."""
    assert size_of(8, restart_seconds) == 8
    assert size_of(16, restart_seconds) == 16


def test_a_gang_does_not_stop_for_less_than_it_throws_away() -> None:
    assert size_of(5, 1000) == 4
    assert size_of(16, 20_000) == 4
