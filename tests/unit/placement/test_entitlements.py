"""What queues can claim of their guarantees, and that within a queue priority decides."""

from typing import Unpack

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignment, Job, NodeName
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.score import score
from plimsoll_placement.solve import solve
from support.problems.builders import (
    A100,
    H100,
    JobFields,
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

OWNER = a_queue("owner", guaranteed={H100: 8000})
EFFORTS = pytest.mark.parametrize("effort", [Effort(0), Effort(0.5)], ids=["greedy", "search"])


def a_gang(name: str, gpus: int, *, queue: str = "owner", **fields: Unpack[JobFields]) -> Job:
    role = a_role(counts=(gpus,), rates={H100: 100})
    return a_training_job(name, worker=role, queue=queue, **fields)


def running(  # a gang, on one node
    name: str, gpus: int, node: str = "n0", *, queue: str = "owner", **fields: Unpack[JobFields]
) -> Job:
    fields["running"] = gang_on(*[node] * gpus)
    return a_gang(name, gpus, queue=queue, **fields)


def claim(*jobs: Job, gpus: int = 8) -> int:
    problem = a_problem([a_node(gpus=gpus)], jobs, queues=[OWNER, a_queue("guest")])
    return problem.entitlements[OWNER.name, H100]


def who_runs(problem: Problem, effort: Effort) -> set[str]:
    solution = solve(problem, effort)
    return {name for name, assignments in solution.placements.items() if assignments}


@EFFORTS
def test_a_large_job_of_low_priority_does_not_evict_a_small_one_of_its_own_queue(
    effort: Effort,
) -> None:
    jobs = [running("small", 1), a_gang("large", 8, priority=-100)]
    assert who_runs(a_problem([a_node()], jobs, queues=[OWNER]), effort) == {"small"}


@EFFORTS
def test_of_two_that_wait_the_important_one_runs_however_much_is_guaranteed(effort: Effort) -> None:
    jobs = [a_gang("small", 1), a_gang("large", 8, priority=-100)]
    assert who_runs(a_problem([a_node()], jobs, queues=[OWNER]), effort) == {"small"}


@EFFORTS
def test_what_runs_goes_before_a_larger_one_that_waits_in_the_same_queue(effort: Effort) -> None:
    jobs = [running("small", 1), a_gang("large", 8)]
    assert who_runs(a_problem([a_node()], jobs, queues=[OWNER]), effort) == {"small"}


@EFFORTS
def test_where_a_gpu_has_broken_the_important_job_stays(effort: Effort) -> None:
    jobs = [running("small", 1), a_gang("large", 7, priority=-100)]
    assert who_runs(a_problem([a_node(gpus=7)], jobs, queues=[OWNER]), effort) == {"small"}


@EFFORTS
def test_an_owner_of_low_priority_still_takes_its_own_back(effort: Effort) -> None:
    jobs = [
        running("borrower", 8, queue="guest", priority=1000),
        a_gang("owned", 8, priority=-100),
    ]
    problem = a_problem([a_node()], jobs, queues=[OWNER, a_queue("guest")])
    assert who_runs(problem, effort) == {"owned"}


@EFFORTS
def test_an_owner_gets_back_what_fits_beside_its_more_important_jobs(effort: Effort) -> None:
    jobs = [
        running("small", 1, "n0"),
        running("borrower", 8, "n1", queue="guest", priority=1000),
        a_gang("owned", 7, priority=-100),
    ]
    problem = a_problem(some_nodes(2), jobs, queues=[OWNER, a_queue("guest")])
    assert who_runs(problem, effort) == {"small", "borrower", "owned"}


def test_each_job_takes_its_least_size_in_its_turn() -> None:
    first, large, last = a_gang("a", 5, priority=2), a_gang("b", 4, priority=1), a_gang("c", 3)
    assert claim(first, large, last) == 8000
    assert claim(large, first) == 5000
    assert claim(running("r", 4), a_gang("w", 5)) == 4000


@EFFORTS
def test_nobody_moves_to_another_type_for_a_guarantee_that_is_in_use(effort: Effort) -> None:
    """However urgent a job was that could have had a part of it, and now runs elsewhere."""
    both = {H100: 100, A100: 100}
    pair = a_training_job(
        "pair",
        worker=a_role(counts=(2,), rates=both),
        queue="owner",
        running=gang_on("a", "a", gpu_type=A100),
    )
    urgent = a_training_job(
        "urgent",
        worker=a_role(rates=both),
        queue="owner",
        urgency_milli=3000,
        running=gang_on("h"),
    )
    nodes = [a_node("a", gpu_type=A100, gpus=2), a_node("h")]
    owner = a_queue("owner", guaranteed={H100: 8000, A100: 2000})
    problem = a_problem(nodes, [pair, urgent], queues=[owner])
    assert problem.entitlements == {("owner", A100): 2000, ("owner", H100): 1000}
    assert solve(problem, effort).placements == {job.name: job.running for job in problem.jobs}


def test_a_service_claims_what_it_holds_though_other_types_carry_more() -> None:
    role = a_mixable_role(counts=(1, 2, 3), carried={H100: 1000, A100: 700}, wanted_milli=1990)
    held = Assignment(role.name, 0, A100, (NodeName("other"),))
    job = an_inference_job(roles=(role,), queue="owner", running=(held,))
    owner = a_queue("owner", guaranteed={H100: 8000, A100: 8000})
    problem = a_problem([a_node(), a_node("other", gpu_type=A100)], [job], queues=[owner])
    assert problem.entitlements == {("owner", A100): 1000, ("owner", H100): 2000}


def test_what_is_not_asked_for_cannot_be_claimed() -> None:
    assert claim(a_gang("other", 8, queue="guest")) == 0
    only_a100 = a_training_job("j", worker=a_role(rates={A100: 100}), queue="owner")
    assert claim(only_a100) == 0


def test_no_more_can_be_claimed_than_there_is_and_others_have_not_pinned() -> None:
    assert claim(*(a_gang(f"j{i}", 1) for i in range(12)), gpus=4) == 4000
    pinned = running("pinned", 6, queue="guest", pinned=True)
    assert claim(pinned, *(a_gang(f"j{i}", 1) for i in range(12))) == 2000


def test_what_is_pinned_claims_what_it_holds() -> None:
    pinned = running("mine", 6, pinned=True, priority=-5)
    assert claim(pinned, a_gang("more", 4)) == 6000
    assert claim(pinned, a_gang("more", 2)) == 8000


def test_services_claim_whole_replicas() -> None:
    role = a_mixable_role(role=a_role(gpu_milli=3000), counts=(1, 2, 3, 4), wanted_milli=12_000)
    assert claim(an_inference_job(roles=(role,), queue="owner")) == 6000


@EFFORTS
def test_a_guarantee_is_no_reason_for_more_replicas_than_carry_the_load(effort: Effort) -> None:
    role = a_mixable_role(counts=(1, 2, 3), carried={H100: 1000, A100: 700}, wanted_milli=1990)
    job = an_inference_job(roles=(role,), queue="owner")
    nodes = [a_node(), a_node("other", gpu_type=A100)]
    problem = a_problem(nodes, [job], queues=[a_queue("owner", guaranteed={H100: 8000})])
    assert problem.entitlements == {("owner", H100): 2000}
    assert len(solve(problem, effort).placements[job.name]) == 2


def test_what_a_service_claims_of_several_types_is_together_what_carries_its_load() -> None:
    role = a_mixable_role(counts=(1, 2, 3), carried={H100: 1000, A100: 700}, wanted_milli=1990)
    job = an_inference_job(roles=(role,), queue="owner")
    owner = a_queue("owner", guaranteed={H100: 1000, A100: 8000})
    nodes = [a_node(), a_node("other", gpu_type=A100)]
    assert a_problem(nodes, [job], queues=[owner]).entitlements == {
        ("owner", H100): 1000,
        ("owner", A100): 2000,
    }


def test_a_parents_guarantee_is_claimed_by_its_parts_together() -> None:
    queues = [
        a_queue("division", guaranteed={H100: 8000}),
        a_queue("vision", parent="division"),
        a_queue("speech", parent="division"),
    ]
    jobs = [
        a_gang("small", 1, queue="vision"),
        a_gang("large", 8, queue="speech", priority=-1),
    ]
    problem = a_problem([a_node()], jobs, queues=queues)
    assert problem.entitlements == {("division", H100): 1000}
    assert score(problem, {}).levels[0] == 0
