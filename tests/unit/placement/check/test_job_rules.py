"""What holds of each job: wrong in one way, it is caught by the rule that names it."""

from dataclasses import replace

import pytest

from plimsoll_placement.check import Rule, violations
from plimsoll_placement.model import NO_GPUS, Assignment, Job, Node, NodeName
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    A100,
    H100,
    T4,
    Placements,
    a_companion,
    a_mixable_role,
    a_node,
    a_problem,
    a_role,
    a_training_job,
    an_inference_job,
    gang_on,
    on,
    placed,
    some_nodes,
)


def broken_rules(problem: Problem, placements: Placements) -> list[Rule]:
    return [violation.rule for violation in violations(problem, placements)]


def one_job(job: Job, *nodes: Node, levels: tuple[str, ...] = ()) -> Problem:
    return a_problem(nodes or some_nodes(2), [job], levels=levels)


# Names


def test_nothing_placed_is_sound() -> None:
    assert violations(one_job(a_training_job()), {}) == ()


def test_waiting_job_may_be_named_with_no_replicas() -> None:
    assert violations(one_job(a_training_job()), placed(train=())) == ()


def test_a_plan_may_name_only_jobs_that_exist() -> None:
    problem = one_job(a_training_job())
    assert broken_rules(problem, placed(ghost=gang_on("n0"))) == [Rule.KNOWN_NAMES]


def test_a_plan_may_name_only_nodes_that_exist() -> None:
    problem = one_job(a_training_job())
    assert broken_rules(problem, placed(train=gang_on("n9"))) == [Rule.KNOWN_NAMES]


def test_a_plan_may_name_only_roles_that_exist() -> None:
    problem = one_job(a_training_job())
    assert broken_rules(problem, placed(train=gang_on("n0", role="ps"))) == [Rule.KNOWN_NAMES]


def test_a_replica_of_an_unknown_role_does_not_hide_what_else_takes_the_node() -> None:
    big = a_training_job("big", worker=a_role(gpu_milli=8000))
    other = a_training_job("other", worker=a_role(gpu_milli=8000))
    problem = a_problem(some_nodes(1), [big, other])
    plan = placed(big=(*gang_on("n0"), on("n0", role="ps")), other=gang_on("n0"))
    assert broken_rules(problem, plan) == [Rule.KNOWN_NAMES, Rule.DEVICES]


# Replicas


def test_no_replica_is_placed_twice() -> None:
    problem = one_job(a_training_job(worker=a_role(counts=(2,))))
    plan = placed(train=(on("n0", replica=1), on("n1", replica=1)))
    assert broken_rules(problem, plan) == [Rule.REPLICA_ONCE]


def test_replicas_of_different_roles_may_have_the_same_index() -> None:
    roles = (a_mixable_role("prefill"), a_mixable_role("decode"))
    plan = placed(serve=(on("n0", role="prefill"), on("n0", role="decode")))
    assert violations(one_job(an_inference_job(roles=roles)), plan) == ()


@pytest.mark.parametrize("nodes", [("n0",), ("n0", "n1", "n1")])
def test_a_replica_has_all_its_pods_and_no_more(nodes: tuple[str, ...]) -> None:
    problem = one_job(a_training_job(worker=a_role(pods_per_replica=2)))
    assert broken_rules(problem, placed(train=(on(*nodes),))) == [Rule.REPLICA_WHOLE]


def test_a_replica_of_two_pods_takes_two_nodes() -> None:
    problem = one_job(a_training_job(worker=a_role(pods_per_replica=2, gpu_milli=8000)))
    assert violations(problem, placed(train=(on("n0", "n1"),))) == ()


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_gang_has_one_of_its_allowed_counts(count: int) -> None:
    problem = one_job(a_training_job(worker=a_role(counts=(2, 4))))
    plan = placed(train=gang_on(*["n0"] * count))
    assert broken_rules(problem, plan) == [Rule.REPLICA_COUNT]


@pytest.mark.parametrize("count", [2, 4])
def test_every_allowed_count_is_sound(count: int) -> None:
    problem = one_job(a_training_job(worker=a_role(counts=(2, 4))))
    assert violations(problem, placed(train=gang_on(*["n0"] * count))) == ()


def test_an_inference_role_counts_its_replicas_over_all_types() -> None:
    role = a_mixable_role(counts=(1, 2), carried={H100: 1000, A100: 500})
    problem = one_job(an_inference_job(roles=(role,)), a_node(), a_node("n1", gpu_type=A100))
    two = (on("n0", role="server"), on("n1", role="server", replica=1, gpu_type=A100))
    assert violations(problem, placed(serve=two)) == ()
    three = (*two, on("n1", role="server", replica=2, gpu_type=A100))
    assert broken_rules(problem, placed(serve=three)) == [Rule.REPLICA_COUNT]


def test_every_role_of_a_placed_job_has_its_least_count() -> None:
    roles = (a_mixable_role("prefill"), a_mixable_role("decode", counts=(2, 3)))
    problem = one_job(an_inference_job(roles=roles))
    plan = placed(serve=(on("n0", role="prefill"), on("n0", role="decode")))
    assert broken_rules(problem, plan) == [Rule.REPLICA_COUNT]


def test_a_role_whose_least_count_is_zero_may_be_absent() -> None:
    roles = (a_mixable_role("prefill"), a_mixable_role("decode", counts=(0, 1)))
    plan = placed(serve=(on("n0", role="prefill"),))
    assert violations(one_job(an_inference_job(roles=roles)), plan) == ()


# GPU types


def test_a_gang_is_on_one_gpu_type() -> None:
    worker = a_role(counts=(2,), rates={H100: 100, A100: 50})
    problem = one_job(a_training_job(worker=worker), a_node(), a_node("n1", gpu_type=A100))
    plan = placed(train=(on("n0"), on("n1", replica=1, gpu_type=A100)))
    assert broken_rules(problem, plan) == [Rule.ONE_GPU_TYPE]


def test_an_inference_role_that_is_not_mixable_is_on_one_gpu_type() -> None:
    fixed = a_role(counts=(2,), rates={H100: 100, A100: 50})
    job = an_inference_job("train", roles=(fixed,))
    problem = one_job(job, a_node(), a_node("n1", gpu_type=A100))
    plan = placed(train=(on("n0"), on("n1", replica=1, gpu_type=A100)))
    assert broken_rules(problem, plan) == [Rule.ONE_GPU_TYPE]


def test_two_inference_roles_may_be_on_two_gpu_types() -> None:
    roles = (a_role("prefill"), a_role("decode", rates={A100: 100}))
    problem = one_job(an_inference_job(roles=roles), a_node(), a_node("n1", gpu_type=A100))
    plan = placed(serve=(on("n0", role="prefill"), on("n1", role="decode", gpu_type=A100)))
    assert violations(problem, plan) == ()


def test_a_job_is_only_on_types_that_it_can_run_on() -> None:
    problem = one_job(a_training_job(), a_node(gpu_type=T4))
    assert broken_rules(problem, placed(train=gang_on("n0", gpu_type=T4))) == [Rule.GPU_TYPE]


def test_a_node_must_offer_the_type_that_a_replica_is_placed_on() -> None:
    problem = one_job(a_training_job(), a_node(gpu_type=A100))
    assert broken_rules(problem, placed(train=gang_on("n0"))) == [Rule.GPU_TYPE]


# Nodes


def test_pods_run_only_where_their_selectors_admit_the_node() -> None:
    problem = one_job(a_training_job(worker=a_role(eligible=0b10)))
    assert violations(problem, placed(train=gang_on("n1"))) == ()
    assert broken_rules(problem, placed(train=gang_on("n0"))) == [Rule.ELIGIBLE]


def test_every_pod_of_a_replica_needs_an_eligible_node() -> None:
    problem = one_job(a_training_job(worker=a_role(eligible=0b10, pods_per_replica=2)))
    assert broken_rules(problem, placed(train=(on("n1", "n0"),))) == [Rule.ELIGIBLE]


def test_nothing_new_is_on_an_unusable_node() -> None:
    problem = one_job(a_training_job(), a_node(usable=False))
    assert broken_rules(problem, placed(train=gang_on("n0"))) == [Rule.USABLE]


def test_what_runs_leaves_an_unusable_node() -> None:
    job = a_training_job(running=gang_on("n0"))
    assert broken_rules(one_job(job, a_node(usable=False)), placed(train=job.running)) == [
        Rule.USABLE
    ]


def test_a_closed_node_keeps_what_runs_on_it() -> None:
    job = a_training_job(running=gang_on("n0"))
    assert violations(one_job(job, a_node(open=False)), placed(train=job.running)) == ()


def test_a_closed_node_takes_nothing_new() -> None:
    problem = one_job(a_training_job(), a_node(open=False))
    assert broken_rules(problem, placed(train=gang_on("n0"))) == [Rule.OPEN]


def test_a_closed_node_takes_no_other_replica_of_a_job_that_runs_on_it() -> None:
    job = an_inference_job(running=(on("n0", role="server"),))
    plan = placed(serve=(*job.running, on("n0", role="server", replica=1)))
    assert broken_rules(one_job(job, a_node(open=False)), plan) == [Rule.OPEN]


def test_one_pod_on_a_closed_node_is_one_too_many() -> None:
    problem = one_job(
        a_training_job(worker=a_role(pods_per_replica=2)), a_node(open=False), a_node("n1")
    )
    found = violations(problem, placed(train=(on("n0", "n1"),)))
    assert [str(violation) for violation in found] == [
        "Open train: replica 0 of role worker would start on n0, closed to what is new"
    ]


def test_an_inference_job_grows_elsewhere_and_keeps_its_replica_on_a_closed_node() -> None:
    job = an_inference_job(running=(on("n0", role="server"),))
    plan = placed(serve=(*job.running, on("n1", role="server", replica=1)))
    assert violations(one_job(job, a_node(open=False), a_node("n1")), plan) == ()


def test_a_gang_that_changes_is_new_on_a_closed_node_too() -> None:
    worker = a_role(counts=(1, 2))
    job = a_training_job(worker=worker, running=gang_on("n0"))
    problem = one_job(job, a_node(open=False), a_node("n1"))
    assert broken_rules(problem, placed(train=gang_on("n0", "n1"))) == [Rule.OPEN]


# Pinned jobs


def test_a_pinned_job_stays_in_any_order_of_its_replicas() -> None:
    worker = a_role(counts=(2,))
    job = a_training_job(worker=worker, running=gang_on("n0", "n1"), pinned=True)
    assert violations(one_job(job), placed(train=tuple(reversed(job.running)))) == ()


@pytest.mark.parametrize("elsewhere", [gang_on("n1"), ()])
def test_a_pinned_job_is_neither_moved_nor_stopped(elsewhere: tuple[()]) -> None:
    job = a_training_job(running=gang_on("n0"), pinned=True)
    assert broken_rules(one_job(job), placed(train=elsewhere)) == [Rule.PINNED]


def test_a_pinned_job_may_not_be_left_out() -> None:
    job = a_training_job(running=gang_on("n0"), pinned=True)
    assert broken_rules(one_job(job), {}) == [Rule.PINNED]


def test_a_pinned_job_may_not_grow() -> None:
    job = an_inference_job(running=(on("n0", role="server"),), pinned=True)
    plan = placed(serve=(*job.running, on("n0", role="server", replica=1)))
    assert broken_rules(one_job(job), plan) == [Rule.PINNED]


def test_what_changed_about_a_pinned_job_is_not_held_against_the_plan() -> None:
    worker = a_role(counts=(2,), rates={A100: 100}, eligible=0)
    job = a_training_job(worker=worker, running=gang_on("n0", "gone", "n1"), pinned=True)
    nodes = (a_node(usable=False, spot=True), a_node("n1", open=False))
    assert violations(one_job(job, *nodes), placed(train=job.running)) == ()


# Roles of a gang


def with_launcher_and_loaders() -> Job:
    """Two or four workers, a loader for two of them, and a launcher."""
    companions = (a_companion(counts=(1, 1)), a_companion("loader", counts=(1, 2)))
    return a_training_job(worker=a_role(counts=(2, 4)), companions=companions)


def beside(role: str, *nodes: str) -> tuple[Assignment, ...]:
    return gang_on(*nodes, role=role, gpu_type=NO_GPUS)


def test_all_roles_of_a_gang_grow_together() -> None:
    problem, launcher = one_job(with_launcher_and_loaders()), beside("launcher", "n1")
    two, four = gang_on("n0", "n0"), gang_on("n0", "n0", "n0", "n0")
    one_loader, two_loaders = beside("loader", "n1"), beside("loader", "n1", "n1")
    assert violations(problem, placed(train=(*two, *launcher, *one_loader))) == ()
    assert violations(problem, placed(train=(*four, *launcher, *two_loaders))) == ()
    assert broken_rules(problem, placed(train=(*two, *launcher, *two_loaders))) == [Rule.ONE_SIZE]
    assert broken_rules(problem, placed(train=(*four, *launcher, *one_loader))) == [Rule.ONE_SIZE]


def test_no_role_of_a_gang_is_left_out() -> None:
    plan = placed(train=(*gang_on("n0", "n0"), *beside("loader", "n1")))
    problem = one_job(with_launcher_and_loaders())
    assert broken_rules(problem, plan) == [Rule.REPLICA_COUNT, Rule.ONE_SIZE]


def test_who_needs_no_gpus_may_be_on_a_node_without_and_holds_none() -> None:
    job = a_training_job(companions=(a_companion(),))
    problem = one_job(job, a_node(), a_node("plain", gpus=0))
    assert violations(problem, placed(train=(*gang_on("n0"), *beside("launcher", "plain")))) == ()
    holding = gang_on("n0", role="launcher")
    assert broken_rules(problem, placed(train=(*gang_on("n0"), *holding))) == [Rule.GPU_TYPE]


def test_who_needs_no_gpus_takes_cpu_like_others() -> None:
    job = a_training_job(companions=(a_companion(cpu_millis=2000),))
    problem = one_job(job, a_node(cpu_millis=1000))
    assert broken_rules(problem, placed(train=(*gang_on("n0"), *beside("launcher", "n0")))) == [
        Rule.CPU
    ]


def test_each_role_of_a_gang_has_a_gpu_type_of_its_own() -> None:
    job = a_training_job(
        worker=a_role(counts=(2,)),
        companions=(a_companion("actor", gpu_milli=1000, counts=(2,), types=(H100, T4)),),
    )
    problem = one_job(job, a_node(), a_node("t4", gpu_type=T4))
    workers = gang_on("n0", "n0")
    actors = gang_on("t4", "t4", role="actor", gpu_type=T4)
    assert violations(problem, placed(train=(*workers, *actors))) == ()
    mixed = (on("t4", role="actor", gpu_type=T4), on("n0", role="actor", replica=1))
    assert broken_rules(problem, placed(train=(*workers, *mixed))) == [Rule.ONE_GPU_TYPE]


def test_spot_and_topology_are_limited_by_role() -> None:
    loaders = replace(a_companion("loader", counts=(2,)), spot_percent=50, required_level=1)
    job = a_training_job(worker=a_role(counts=(2,)), companions=(loaders,))
    spot = replace(in_rack("c", "r2"), spot=True)
    nodes = (in_rack("a", "r1"), in_rack("b", "r2"), spot, replace(spot, name=NodeName("d")))
    problem = one_job(job, *nodes, levels=RACKS)
    workers = gang_on("a", "b")
    assert violations(problem, placed(train=(*workers, *beside("loader", "b", "c")))) == ()
    together = placed(train=(*workers, *beside("loader", "c", "d")))
    assert broken_rules(problem, together) == [Rule.SPOT_SHARE]
    apart = placed(train=(*workers, *beside("loader", "a", "b")))
    assert broken_rules(problem, apart) == [Rule.TOPOLOGY]
    worker_on_spot = placed(train=(*gang_on("a", "c"), *beside("loader", "b", "b")))
    assert broken_rules(problem, worker_on_spot) == [Rule.SPOT_SHARE]


# Spot


@pytest.mark.parametrize(
    ("percent", "on_spot", "sound"),
    [(0, 0, True), (0, 1, False), (25, 1, True), (25, 2, False), (24, 1, False), (100, 4, True)],
)
def test_at_most_the_spot_share_of_replicas_is_on_spot_nodes(
    *, percent: int, on_spot: int, sound: bool
) -> None:
    job = a_training_job(worker=a_role(counts=(4,)), spot_percent=percent)
    problem = one_job(job, a_node(), a_node("spot", spot=True))
    plan = placed(train=gang_on(*["spot"] * on_spot, *["n0"] * (4 - on_spot)))
    assert broken_rules(problem, plan) == ([] if sound else [Rule.SPOT_SHARE])


def test_a_replica_with_any_pod_on_a_spot_node_is_a_spot_replica() -> None:
    job = a_training_job(worker=a_role(pods_per_replica=2), spot_percent=50)
    problem = one_job(job, a_node(), a_node("spot", spot=True))
    assert broken_rules(problem, placed(train=(on("n0", "spot"),))) == [Rule.SPOT_SHARE]


def test_the_spot_share_counts_the_replicas_of_all_roles() -> None:
    roles = (a_mixable_role("prefill"), a_mixable_role("decode"))
    job = an_inference_job(roles=roles, spot_percent=50)
    problem = one_job(job, a_node(), a_node("spot", spot=True))
    plan = placed(serve=(on("n0", role="prefill"), on("spot", role="decode")))
    assert violations(problem, plan) == ()


# Topology


RACKS = ("zone", "rack")


def in_rack(name: str, rack: str) -> Node:
    return a_node(name, topology=("z", rack))


def test_a_gang_stays_in_one_required_domain() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), required_level=1)
    nodes = (in_rack("a", "r1"), in_rack("b", "r1"), in_rack("c", "r2"))
    problem = one_job(job, *nodes, levels=RACKS)
    assert violations(problem, placed(train=gang_on("a", "b"))) == ()
    assert broken_rules(problem, placed(train=gang_on("a", "c"))) == [Rule.TOPOLOGY]


def test_a_wider_level_admits_what_a_narrower_one_does_not() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), required_level=0)
    problem = one_job(job, in_rack("a", "r1"), in_rack("c", "r2"), levels=RACKS)
    assert violations(problem, placed(train=gang_on("a", "c"))) == ()


def test_a_preferred_level_forbids_nothing() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), preferred_level=1)
    problem = one_job(job, in_rack("a", "r1"), in_rack("c", "r2"), levels=RACKS)
    assert violations(problem, placed(train=gang_on("a", "c"))) == ()


def test_nodes_without_a_label_share_no_domain() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), required_level=1)
    problem = one_job(job, in_rack("a", ""), in_rack("b", ""), levels=RACKS)
    assert violations(problem, placed(train=gang_on("a", "a"))) == ()
    assert broken_rules(problem, placed(train=gang_on("a", "b"))) == [Rule.TOPOLOGY]


def test_a_node_with_no_labels_at_all_shares_no_domain() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), required_level=0)
    problem = one_job(job, *some_nodes(2), levels=("zone",))
    assert violations(problem, placed(train=gang_on("n0", "n0"))) == ()
    assert broken_rules(problem, placed(train=gang_on("n0", "n1"))) == [Rule.TOPOLOGY]


def test_a_label_that_is_a_node_name_is_not_that_node() -> None:
    job = a_training_job(worker=a_role(counts=(2,)), required_level=1)
    problem = one_job(job, in_rack("a", ""), in_rack("b", "a"), levels=RACKS)
    assert broken_rules(problem, placed(train=gang_on("a", "b"))) == [Rule.TOPOLOGY]


def test_inference_replicas_may_be_in_different_domains_but_none_is_spread() -> None:
    role = a_mixable_role("worker", role=a_role(pods_per_replica=2))
    job = an_inference_job(roles=(role,), required_level=1)
    nodes = (in_rack("a", "r1"), in_rack("b", "r1"), in_rack("c", "r2"), in_rack("d", "r2"))
    problem = one_job(job, *nodes, levels=RACKS)
    assert violations(problem, placed(serve=(on("a", "b"), on("c", "d", replica=1)))) == ()
    assert broken_rules(problem, placed(serve=(on("a", "c"),))) == [Rule.TOPOLOGY]
