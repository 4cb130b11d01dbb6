"""What would let a waiting job run, at whose expense, and when: all proven."""

from dataclasses import replace

import pytest

from plimsoll_placement.effort import Effort
from plimsoll_placement.explain import Again, Start, earliest_start, giving_way, proofs
from plimsoll_placement.explain.giving_way import Gain
from plimsoll_placement.model import Job, JobName, Role
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    H100,
    L4,
    Placements,
    a_mixable_role,
    a_node,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    placed,
    some_devices,
    some_nodes,
)

QUICK = Effort(0.2)


def waiting(worker: Role, **fields: int) -> Job:
    return replace(a_training_job("waits", worker=worker), **fields)


def holder(name: str, gpus: int, **fields: int | bool) -> Job:
    return replace(a_training_job(name, worker=a_role(gpu_milli=gpus * 1000)), **fields)


def again(problem: Problem, placements: Placements) -> Again:
    return Again(problem, placements, QUICK)


def proven(problem: Problem, placements: Placements) -> list[str]:
    job = problem.job_by_name[JobName("waits")]
    return [proof.sentence() for proof in proofs(again(problem, placements), job)]


# What would let it run


def test_two_changes_are_proposed_together_where_neither_suffices() -> None:
    problem = a_problem(
        some_nodes(1),
        [holder("one", 6), waiting(a_role(gpu_milli=4000))],
        queues=[a_queue(limit={H100: 8000})],
    )
    (proof,) = proofs(again(problem, placed(one=gang_on("n0"))), problem.jobs[1])
    assert proof.sentence() == (
        "free 2 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0) and "
        "raise the limit of queue research for NVIDIA-H100-80GB-HBM3 by 2"
    )
    assert proof.assignments == gang_on("n0")
    assert (proof.displaced, proof.is_certain, proof.others_stay) == ((), True, False)


def test_what_others_would_give_up_anyway_need_not_be_freed() -> None:
    problem = a_problem(
        some_nodes(1),
        [
            replace(holder("one", 6), queue=a_queue("other").name),
            waiting(a_role(gpu_milli=4000), priority=10),
        ],
        queues=[a_queue(limit={H100: 2000}), a_queue("other")],
    )
    (proof, *_) = proofs(again(problem, placed(one=gang_on("n0"))), problem.jobs[1])
    assert proof.sentence() == "raise the limit of queue research for NVIDIA-H100-80GB-HBM3 by 2"
    assert proof.displaced == (JobName("one"),)


def test_job_that_a_better_plan_has_room_for_needs_no_change() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role())])
    assert proven(problem, {}) == ["nothing: there is room for it"]


def test_job_that_others_could_make_room_for_says_that_and_what_helps_if_they_stay() -> None:
    jobs = [holder("one", 4), holder("two", 4), waiting(a_role(gpu_milli=8000))]
    problem = a_problem(some_nodes(2), jobs)
    placements = placed(one=gang_on("n0"), two=gang_on("n1"))
    moving, freeing = proofs(again(problem, placements), problem.jobs[2])
    assert (moving.sentence(), len(moving.displaced)) == ("let others move", 1)
    assert not moving.relaxation.changes
    assert freeing.sentence() == "free 4 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0)"
    assert (freeing.others_stay, freeing.displaced) == (True, ())


def test_fair_shares_that_keep_a_job_out_of_free_room_are_named() -> None:
    queues = [
        a_queue(parent="org", fair={H100: 0}),
        a_queue("org", parent="root", fair={H100: 0}),
        a_queue("root", fair={H100: 0}),
    ]
    problem = a_problem(some_nodes(1), [waiting(a_role(gpu_milli=2000))], queues=queues)
    assert not again(problem, {}).plan(problem.jobs[0]).runs
    share = "raise the fair share of queue research for NVIDIA-H100-80GB-HBM3 by 2"
    assert proven(problem, {}) == [share]


def test_nodes_that_offer_parts_of_devices_are_asked_for_where_there_are_none() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role(gpu_milli=250, counts=(2,)))])
    assert proven(problem, {}) == ["add 2 nodes with 0.25 × NVIDIA-H100-80GB-HBM3 each"]


def test_roles_on_different_types_each_get_their_nodes() -> None:
    roles = tuple(
        a_mixable_role(name, counts=(1,), carried={kind: 1000}, role=a_role(rates={kind: 100}))
        for name, kind in (("prefill", H100), ("decode", L4))
    )
    problem = a_problem([a_node(gpus=0)], [an_inference_job("waits", roles=roles)])
    assert [set(each.split(" and ")) for each in proven(problem, {})] == [
        {"add 1 node with 1 × NVIDIA-H100-80GB-HBM3", "add 1 node with 1 × NVIDIA-L4"}
    ]


def test_freed_devices_count_beside_what_the_others_keep() -> None:
    node = a_node(devices=(some_devices(1, L4, share_milli=1),))
    most = a_role(gpu_milli=700, rates={L4: 100})
    half = waiting(a_role(gpu_milli=500, rates={L4: 100}))
    problem = a_problem([node], [a_training_job("one", worker=most), half])
    placements = placed(one=gang_on("n0", gpu_type=L4))
    assert proven(problem, placements) == ["free 0.2 GPUs of NVIDIA-L4 on one node (n0)"]


def test_freed_devices_that_others_would_take_first_are_reported_with_that_proviso() -> None:
    """A dearer place costs the running job half its queue's fair share; freed, it would move."""
    nodes = [a_node("n0", gpus=2), a_node("n1", gpus=2, gpu_type=L4)]
    both = a_role(gpu_milli=2000, rates={H100: 100, L4: 100})
    one = replace(holder("one", 2), roles=(both,), queue=a_queue("other").name, priority=10)
    one = replace(one, restart_seconds=0)
    queues = [a_queue(), a_queue("other", fair={L4: 0, H100: 2000})]
    taken = holder("two", 2, priority=20)
    problem = a_problem(nodes, [one, taken, waiting(a_role(gpu_milli=2000))], queues=queues)
    placements = placed(one=gang_on("n1", gpu_type=L4), two=gang_on("n0"))
    (proof,) = proofs(again(problem, placements), problem.jobs[2])
    assert proof.sentence() == "free 2 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0)"
    assert not proof.displaced
    assert proof.others_stay


# Who would have to give way


def two_holders(**fields: int | bool) -> tuple[Problem, Placements]:
    problem = a_problem(
        some_nodes(2),
        [
            holder("cheap", 6, restart_seconds=100, **fields),
            holder("dear", 6, restart_seconds=5000, **fields),
            waiting(a_role(gpu_milli=4000)),
        ],
    )
    return problem, placed(cheap=gang_on("n0"), dear=gang_on("n1"))


def test_least_work_is_thrown_away_at_the_least_priority_that_suffices() -> None:
    problem, placements = two_holders(priority=100)
    gives = giving_way(again(problem, placements), problem.jobs[2])
    assert gives is not None
    assert gives.priority == 101
    (loss,) = gives.losses
    assert (loss.job, loss.priority, loss.stops) == ("cheap", 100, True)
    assert (loss.held_milli, loss.gpu_seconds, gives.gpu_seconds) == (6000, 600, 600)
    assert gives.assignments == gang_on("n0")


def test_what_does_not_pay_is_told_with_what_it_would_gain_and_lose() -> None:
    low = holder("low", 8, restart_seconds=50 * 3600)
    problem = a_problem(some_nodes(1), [low, waiting(a_role(gpu_milli=4000), priority=10)])
    gives = giving_way(again(problem, placed(low=gang_on("n0"))), problem.jobs[1])
    assert gives is not None
    assert (gives.priority, gives.gpu_seconds) == (10, 8 * 50 * 3600)
    assert gives.gain == Gain(gpu_seconds=4 * 3600, seconds=3600, pays=False)
    cheap = replace(problem, jobs=(replace(problem.jobs[0], restart_seconds=0), problem.jobs[1]))
    gives = giving_way(again(cheap, placed(low=gang_on("n0"))), problem.jobs[1])
    assert gives is not None
    assert gives.gain.pays


def test_what_the_budget_does_not_allow_is_told_with_what_it_does() -> None:
    gang = holder("gang", 4, restart_seconds=600)
    nodes = [a_node("n0"), a_node("n1", gpus=4)]
    problem = a_problem(nodes, [gang, waiting(a_role(gpu_milli=8000))])
    for allowed, beyond in ((None, None), (2_400_000, None), (2_399_000, 2399)):
        limited = replace(problem, loss_allowance=allowed)
        gives = giving_way(again(limited, placed(gang=gang_on("n0"))), limited.jobs[1])
        assert gives is not None
        assert (gives.priority, gives.gpu_seconds) == (problem.jobs[1].priority, 2400)
        assert (gives.gain.pays, gives.gain.beyond) == (True, beyond)


def test_jobs_that_must_not_move_give_way_to_nobody() -> None:
    problem, placements = two_holders(priority=100, pinned=True)
    assert giving_way(again(problem, placements), problem.jobs[2]) is None


def test_a_gang_that_can_do_with_less_shrinks_and_starts_anew() -> None:
    elastic = a_training_job("one", worker=a_role(counts=(2, 4, 8)), restart_seconds=10)
    problem = a_problem(some_nodes(1), [elastic, waiting(a_role(gpu_milli=4000))])
    placements = placed(one=gang_on(*["n0"] * 8))
    gives = giving_way(again(problem, placements), problem.jobs[1])
    assert gives is not None
    (loss,) = gives.losses
    assert (gives.priority, loss.stops, len(loss.now)) == (0, False, 4)
    assert loss.gpu_seconds == 8 * 10


# When it could start


def test_job_starts_when_enough_of_those_that_run_have_ended() -> None:
    problem, placements = two_holders(priority=100)
    ends = {JobName("cheap"): 900, JobName("dear"): 300}
    start = earliest_start(again(problem, placements), problem.jobs[2], ends)
    assert start == Start(300, (JobName("dear"),), 300)


def test_nobody_knows_when_a_job_starts_that_no_known_end_makes_room_for() -> None:
    problem, placements = two_holders()
    huge = replace(problem.jobs[2], roles=(a_role(gpu_milli=8000, counts=(2,), eligible=0b11),))
    assert earliest_start(again(problem, placements), huge, {JobName("dear"): 300}) is None


def test_who_is_overdue_still_holds_his_place_now() -> None:
    problem, placements = two_holders()
    start = earliest_start(again(problem, placements), problem.jobs[2], {JobName("dear"): -50})
    assert start is not None
    assert (start.seconds, start.after) == (1, (JobName("dear"),))


@pytest.mark.parametrize(("cheap_ends", "in_turn"), [({}, None), ({JobName("cheap"): 900}, 900)])
def test_others_that_wait_longer_go_first(
    cheap_ends: dict[JobName, int], in_turn: int | None
) -> None:
    problem, placements = two_holders()
    job = replace(problem.jobs[2], roles=(a_role(gpu_milli=8000, eligible=0b11),))
    older = replace(job, name=JobName("older"), sequence=-1)
    problem = replace(problem, jobs=(*problem.jobs[:2], job, older))
    ends = {JobName("dear"): 300, **cheap_ends}
    start = earliest_start(again(problem, placements), job, ends)
    assert start == Start(300, (JobName("dear"),), in_turn)


def test_services_grow_before_a_job_of_lower_priority_starts() -> None:
    server = a_mixable_role(counts=(1, 2), wanted_milli=8000, role=a_role(gpu_milli=4000))
    service = replace(an_inference_job("serve", roles=(server,)), priority=10)
    problem = a_problem(some_nodes(1), [service, holder("one", 4), waiting(a_role(gpu_milli=4000))])
    placements = placed(serve=(on("n0", role="server"),), one=gang_on("n0"))
    start = earliest_start(again(problem, placements), problem.jobs[2], {JobName("one"): 60})
    assert start == Start(60, (JobName("one"),), None)
