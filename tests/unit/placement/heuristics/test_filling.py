"""What placements leave free goes to whoever fits beside them."""

from plimsoll_placement.heuristics.filling import filled
from plimsoll_placement.model import Queue
from support.problems.builders import (
    H100,
    a_mixable_role,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
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


def queues_with_a_share(milli: int, *, depth: int = 4) -> list[Queue]:
    """A chain of queues with one fair share; "q0" is the lowest.

    What is beyond it counts for less than nothing, since each queue takes half of it off.
    """
    above = [f"q{level}" for level in range(1, depth)]
    pairs = zip(["q0", *above], [*above, None], strict=True)
    return [a_queue(name, parent=parent, fair={H100: milli}) for name, parent in pairs]


def test_a_job_within_its_fair_share_is_placed_though_one_before_it_is_beyond_its_own() -> None:
    worker = a_role(counts=(1,), gpu_milli=4000)
    jobs = [
        a_training_job("beyond", worker=worker, queue="q0", priority=1),
        a_training_job("within", worker=worker, queue="other", priority=0),
    ]
    queues = [*queues_with_a_share(0), a_queue("other")]
    problem = a_problem([a_node("n0", gpus=8)], jobs, queues=queues)
    assert filled(problem, {}) == placed(within=gang_on("n0"))


def test_what_is_taken_back_for_a_fair_share_leaves_its_room_to_others() -> None:
    jobs = [
        an_inference_job(name, roles=(a_mixable_role(wanted_milli=milli),), queue="q0")
        for name, milli in (("large", 4000), ("small", 1000))
    ]
    problem = a_problem([a_node("n0", gpus=3)], jobs, queues=queues_with_a_share(1000))
    assert filled(problem, {}) == placed(small=gang_on("n0", role="server"))
