"""Cases that random problems found: rare together, plain each by itself."""

from plimsoll_placement.check import violations
from plimsoll_placement.heuristics.greedy import greedy_placements
from plimsoll_placement.score.bound import simple_bound
from plimsoll_placement.score.score import score
from plimsoll_placement.solve import solve
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
    some_nodes,
)


def test_the_spot_share_of_a_gang_counts_replicas_that_have_any_pod_on_spot() -> None:
    """Half of four pods on spot, yet one in each of the two replicas, would be all of them."""
    worker = a_role(counts=(2,), pods_per_replica=2)
    job = a_training_job(worker=worker, spot_percent=50)
    nodes = [
        a_node("n0", gpus=1, microdollars_per_gpu_hour=1),
        a_node("n1", gpus=1, spot=True),
        a_node("n2", gpus=1, microdollars_per_gpu_hour=1),
        a_node("n3", gpus=1, spot=True),
    ]
    problem = a_problem(nodes, [job])
    assert violations(problem, greedy_placements(problem)) == ()
    assert job.name in solve(problem).placements


def test_a_gang_that_shrinks_for_another_keeps_its_spot_share() -> None:
    """What is left of it would be on spot alone."""
    elastic = a_training_job(
        "elastic", worker=a_role(counts=(1, 2)), running=gang_on("spot", "n0"), spot_percent=50
    )
    urgent = a_training_job("urgent", priority=100)
    problem = a_problem([a_node("spot", gpus=1, spot=True), a_node(gpus=1)], [elastic, urgent])
    assert violations(problem, greedy_placements(problem)) == ()
    assert list(solve(problem).placements) == [urgent.name]


def test_the_bound_counts_guaranteed_gpus_that_only_pinned_jobs_hold() -> None:
    """The devices are gone, but the pinned job is not."""
    pinned = a_training_job(running=gang_on("n0"), pinned=True)
    problem = a_problem([a_node(gpus=0)], [pinned], queues=[a_queue(guaranteed={H100: 1000})])
    placements = {pinned.name: pinned.running}
    assert simple_bound(problem) >= score(problem, placements)


def test_nothing_is_placed_beyond_the_fair_share_that_is_worth_less_than_nothing() -> None:
    """The job serves a tenth of a GPU with two, half of which counts against it."""
    roles = (
        a_mixable_role("idle", counts=(1,), wanted_milli=0),
        a_mixable_role("busy", counts=(1,), wanted_milli=100),
    )
    jobs = [an_inference_job(roles=roles, queue="poor"), a_training_job(queue="rich")]
    queues = [a_queue("poor", fair={H100: 0}), a_queue("rich")]
    solution = solve(a_problem(some_nodes(1), jobs, queues=queues))
    assert list(solution.placements) == ["train"]
    assert solution.score == solution.bound
