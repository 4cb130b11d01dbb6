"""What placements leave free goes to whoever fits beside them."""

from plimsoll_placement.heuristics.filling import filled
from support.problems.builders import (
    a_node,
    a_problem,
    a_role,
    a_training_job,
    gang_on,
    placed,
)


def test_the_most_important_job_that_fits_takes_what_is_free() -> None:
    worker = a_role(counts=(1,), gpu_milli=4000)
    large = a_role(counts=(1,), gpu_milli=8000)
    jobs = [
        a_training_job("runs", worker=worker, priority=0),
        a_training_job("late", worker=worker, priority=1),
        a_training_job("next", worker=worker, priority=2),
        a_training_job("large", worker=large, priority=3),
    ]
    problem = a_problem([a_node("n0", gpus=8)], jobs)
    here = placed(runs=gang_on("n0"))
    assert filled(problem, here) == {**here, **placed(next=gang_on("n0"))}


def test_a_gang_grows_where_nobody_waits() -> None:
    gang = a_training_job(worker=a_role(counts=(1, 2), gpu_milli=4000))
    problem = a_problem([a_node("n0", gpus=8)], [gang])
    assert filled(problem, placed(train=gang_on("n0"))) == placed(train=gang_on("n0", "n0"))
