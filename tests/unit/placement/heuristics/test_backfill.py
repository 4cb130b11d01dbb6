"""Where a gang will find room, if it may not preempt what is in its way."""

from dataclasses import replace

import pytest

from plimsoll_placement.heuristics.backfill import Room, room_to_come
from plimsoll_placement.model import NodeName
from support.problems.builders import a_problem, a_role, a_training_job, gang_on, some_nodes


@pytest.mark.parametrize(
    ("unsaved_seconds", "overdue", "expected"),
    [
        (60, False, None),
        (180_000, False, Room((NodeName("n0"),), 600)),
        (180_000, True, None),
    ],
    ids=["it can pay", "it cannot pay", "it need not pay"],
)
def test_room_that_a_gang_can_pay_for_is_no_room_to_come(
    unsaved_seconds: int, *, overdue: bool, expected: Room | None
) -> None:
    worker = a_role(gpu_milli=8000)
    low = a_training_job(
        "low", worker=worker, running=gang_on("n0"), restart_seconds=unsaved_seconds
    )
    gang = replace(a_training_job("gang", worker=worker, priority=1), overdue=overdue)
    problem = a_problem(some_nodes(1), [low, gang])
    gang = problem.job_by_name[gang.name]
    assert room_to_come(problem, gang, {low.name: 600}) == expected
