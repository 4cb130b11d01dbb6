"""A waiting job says what it lacks in numbers, and which one change would let it run."""

from dataclasses import replace

import pytest

from plimsoll.vocabulary.reasons import Reason as TelemetryReason
from plimsoll_placement.explain import (
    Explainer,
    Feasibilities,
    Feasibility,
    Lack,
    Reason,
    fits_alone,
    lacks_alone,
    relaxations,
)
from plimsoll_placement.explain.shortage.shortage import OtherRoom, PowerGap, QueueRoom
from plimsoll_placement.model import (
    UNKNOWN_BYTES,
    DomainName,
    Job,
    JobName,
    QueueName,
    Role,
)
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    A100,
    ANY_NODE,
    GIB,
    H100,
    L4,
    T4,
    Placements,
    a_companion,
    a_mixable_role,
    a_node,
    a_power_domain,
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

ROW_A = DomainName("row-a")


def waiting(worker: Role, **fields: int | str | None) -> Job:
    return replace(a_training_job("waits", worker=worker), **fields)


def holder(name: str, gpus: int, **fields: int | bool) -> Job:
    return replace(a_training_job(name, worker=a_role(gpu_milli=gpus * 1000)), **fields)


def lack_of_waiting(problem: Problem, placements: Placements) -> Lack:
    return Explainer(problem, placements).lack(job_named(problem, "waits"))


def explained(problem: Problem, placements: Placements) -> tuple[str, str]:
    lack = lack_of_waiting(problem, placements)
    return str(lack.reason), lack.sentence()


def remedies(problem: Problem, placements: Placements) -> list[str]:
    found = relaxations(problem, placements, job_named(problem, "waits"))
    return [relaxation.sentence() for relaxation in found]


def job_named(problem: Problem, name: str) -> Job:
    return next(job for job in problem.jobs if job.name == name)


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_is_documented(reason: Reason) -> None:
    assert reason.value in set(TelemetryReason)


# GPUs


def two_nodes_mostly_taken() -> tuple[Problem, Placements]:
    problem = a_problem(
        some_nodes(2),
        [holder("one", 6), holder("two", 7), waiting(a_role(gpu_milli=4000))],
        queues=[a_queue(limit={H100: 19_000})],
    )
    return problem, placed(one=gang_on("n0"), two=gang_on("n1"))


def test_pod_that_needs_more_than_any_node_has_free_names_the_most_and_what_its_queue_may() -> None:
    assert explained(*two_nodes_mostly_taken()) == (
        "InsufficientGPUs",
        (
            "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 2; "
            "queue research may still use 6"
        ),
    )


def test_fewest_gpus_are_freed_on_the_node_that_has_most() -> None:
    assert remedies(*two_nodes_mostly_taken()) == [
        "free 2 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0)"
    ]


def test_single_gpus_that_are_short_are_counted_over_all_nodes() -> None:
    problem = a_problem(some_nodes(2), [holder("one", 5), waiting(a_role(counts=(12,)))])
    assert explained(problem, placed(one=gang_on("n0"))) == (
        "InsufficientGPUs",
        "needs 12 × NVIDIA-H100-80GB-HBM3; 11 are free",
    )


def test_pods_of_which_two_fit_a_node_are_called_pods() -> None:
    problem = a_problem(
        some_nodes(2), [holder("one", 5), waiting(a_role(counts=(4,), gpu_milli=4000))]
    )
    assert explained(problem, placed(one=gang_on("n0"))) == (
        "InsufficientGPUs",
        "needs 4 pods with 4 × NVIDIA-H100-80GB-HBM3 each; there is room for 2",
    )


def test_nodes_out_of_reach_are_told_apart() -> None:
    nodes = [a_node("n0"), a_node("n1"), a_node("n2", open=False)]
    problem = a_problem(nodes, [holder("one", 5), waiting(a_role(gpu_milli=4000, eligible=0b101))])
    assert explained(problem, placed(one=gang_on("n0"))) == (
        "InsufficientGPUs",
        (
            "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 3 "
            "on the 1 of 3 nodes that it may use"
        ),
    )
    assert remedies(problem, placed(one=gang_on("n0"))) == [
        "free 1 GPU of NVIDIA-H100-80GB-HBM3 on one node (n0)",
        "reopen 1 closed node with NVIDIA-H100-80GB-HBM3",
        "select and tolerate 1 more node with NVIDIA-H100-80GB-HBM3",
    ]


def test_fraction_is_looked_for_on_one_device() -> None:
    node = a_node(devices=(some_devices(2, L4, share_milli=1),))
    half, most = a_role(gpu_milli=500, rates={L4: 100}), a_role(gpu_milli=700, rates={L4: 100})
    jobs = [a_training_job(name, worker=most) for name in ("one", "two")]
    problem = a_problem([node], [*jobs, waiting(half)])
    placements = placed(one=gang_on("n0", gpu_type=L4), two=gang_on("n0", gpu_type=L4))
    assert explained(problem, placements) == (
        "InsufficientGPUs",
        "needs 0.5 × NVIDIA-L4 on one device; the most free on one device is 0.3",
    )
    assert remedies(problem, placements) == ["free 0.2 GPUs of NVIDIA-L4 on one node (n0)"]


def test_closest_type_is_named_first_and_the_others_briefly() -> None:
    worker = a_role(gpu_milli=8000, rates={T4: 100, A100: 100, H100: 100})
    nodes = [a_node("n0"), a_node("n1", gpu_type=A100)]
    taken = a_training_job("two", worker=a_role(gpu_milli=5000, rates={A100: 100}))
    problem = a_problem(nodes, [holder("one", 2), taken, waiting(worker)])
    placements = placed(one=gang_on("n0"), two=gang_on("n1", gpu_type=A100))
    assert explained(problem, placements) == (
        "InsufficientGPUs",
        (
            "needs 8 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 6; "
            "or 8 × NVIDIA-A100-SXM4-80GB on one node, most free 3; "
            "or 8 × Tesla-T4 on one node, the cluster has none"
        ),
    )


def test_sentence_stays_short_however_many_types_are_accepted() -> None:
    types = [type(H100)(f"NVIDIA-H100-80GB-HBM3-variant-{index}") for index in range(20)]
    worker = a_role(gpu_milli=8000, rates=dict.fromkeys(types, 100))
    sentence = explained(a_problem(some_nodes(1), [waiting(worker)]), {})[1]
    assert len(sentence) <= 400
    assert sentence.endswith(" other types")


# What can never fit


def test_job_for_more_nodes_than_there_are_cannot_fit() -> None:
    huge = waiting(a_role(counts=(600,), gpu_milli=8000))
    problem = a_problem(some_nodes(500), [huge])
    assert explained(problem, {}) == (
        "CannotFit",
        "needs 600 nodes with 8 × NVIDIA-H100-80GB-HBM3 each; the cluster has 500 such nodes",
    )
    assert remedies(problem, {}) == ["add 100 nodes like n0"]


def test_what_ours_hold_does_not_keep_a_job_from_fitting_alone() -> None:
    problem, placements = two_nodes_mostly_taken()
    job = job_named(problem, "waits")
    assert fits_alone(problem, job)
    assert lacks_alone(problem, job) is None
    assert Explainer(problem, placements).lack(job).alone is False


def test_foreign_pods_do() -> None:
    node = a_node(devices=(some_devices(3), some_devices(5, free_milli=0)))
    problem = a_problem([node], [waiting(a_role(gpu_milli=4000))])
    assert explained(problem, {}) == (
        "CannotFit",
        "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most on one node is 3",
    )


def test_gpu_type_that_nobody_has_is_said_so() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role(rates={T4: 100}))])
    assert explained(problem, {}) == ("CannotFit", "needs 1 × Tesla-T4; the cluster has none")
    assert remedies(problem, {}) == ["add 1 node with 1 × Tesla-T4"]


def test_part_of_a_gpu_is_not_to_be_had_where_only_whole_ones_are() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role(gpu_milli=250))])
    assert explained(problem, {}) == (
        "CannotFit",
        (
            "needs 0.25 × NVIDIA-H100-80GB-HBM3 on one device; no node offers such fractions:"
            " have device plugins share GPUs"
        ),
    )


def test_roles_that_fit_one_by_one_but_not_together_cannot_fit() -> None:
    roles = tuple(
        a_mixable_role(name, counts=(1, 2), role=a_role(gpu_milli=6000))
        for name in ("prefill", "decode")
    )
    problem = a_problem(some_nodes(1), [an_inference_job("waits", roles=roles)])
    assert explained(problem, {}) == (
        "CannotFit",
        ("role decode needs 6 × NVIDIA-H100-80GB-HBM3 on one node; the most on one node is 2"),
    )


def test_job_that_can_idle_fits_if_any_of_its_roles_does() -> None:
    prefill = a_mixable_role("prefill", counts=(0, 1), role=a_role(gpu_milli=16_000))
    decode = a_mixable_role("decode", counts=(0, 1))
    problem = a_problem(some_nodes(1), [an_inference_job("waits", roles=(prefill, decode))])
    assert fits_alone(problem, job_named(problem, "waits"))
    alone = an_inference_job("alone", roles=(prefill,))
    assert not fits_alone(problem, replace(alone, roles=(replace(prefill, eligible=1),)))


# Nodes, queues, power, topology, spot, other resources


def test_job_that_no_node_admits_says_so() -> None:
    problem = a_problem(some_nodes(3), [waiting(a_role(eligible=0))])
    assert explained(problem, {}) == (
        "NoEligibleNode",
        (
            "needs 1 × NVIDIA-H100-80GB-HBM3; its selectors, affinity and tolerations admit "
            "none of the 3 nodes with these GPUs"
        ),
    )
    assert remedies(problem, {}) == ["select and tolerate 1 more node with NVIDIA-H100-80GB-HBM3"]


def test_job_whose_nodes_are_all_closed_says_so() -> None:
    problem = a_problem(some_nodes(2, open=False), [waiting(a_role())])
    assert explained(problem, {}) == (
        "NoEligibleNode",
        (
            "needs 1 × NVIDIA-H100-80GB-HBM3; "
            "all 2 nodes with these GPUs that it may run on are closed"
        ),
    )
    assert remedies(problem, {}) == ["reopen 1 closed node with NVIDIA-H100-80GB-HBM3"]


def test_lost_nodes_cannot_be_reopened() -> None:
    problem = a_problem(some_nodes(2, open=False, usable=False), [waiting(a_role())])
    assert remedies(problem, {}) == ["add 1 node with 1 × NVIDIA-H100-80GB-HBM3"]


def test_queue_of_the_chain_that_binds_is_named() -> None:
    queues = [a_queue(parent="org", limit={H100: 8000}), a_queue("org", limit={H100: 7000})]
    job = waiting(a_role(gpu_milli=4000))
    problem = a_problem(some_nodes(2), [holder("one", 4), job], queues=queues)
    placements = placed(one=gang_on("n0"))
    assert explained(problem, placements) == (
        "QueueLimit",
        "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; queue org may still use 3",
    )
    shortage = lack_of_waiting(problem, placements).shortages[0]
    assert shortage.queue == QueueRoom(QueueName("org"), 3000)
    assert remedies(problem, placements) == [
        "raise the limit of queue org for NVIDIA-H100-80GB-HBM3 by 1"
    ]


def test_missing_power_is_reported_in_kilowatts() -> None:
    nodes = some_nodes(2, busy_milliwatts=700_000, power_domains=(ROW_A,))
    domains = [a_power_domain("row-a", budget_watts=12_000, base_watts=6500)]
    problem = a_problem(
        nodes, [holder("one", 4), waiting(a_role(gpu_milli=7000))], power_domains=domains
    )
    placements = placed(one=gang_on("n0"))
    assert explained(problem, placements) == (
        "PowerBudget",
        "needs 2.2 kW more than power domain row-a has left (budget 12.0 kW)",
    )
    gap = PowerGap(ROW_A, 2_200_000, 12_000_000)
    assert lack_of_waiting(problem, placements).shortages[0].power == gap
    assert remedies(problem, placements) == ["raise the budget of power domain row-a by 2.2 kW"]


def test_best_rack_is_named() -> None:
    nodes = [a_node(f"n{i}", topology=("block-0", f"rack-{i // 2}")) for i in range(4)]
    job = waiting(a_role(counts=(16,)), required_level=1)
    others = [holder("one", 5), holder("two", 4)]
    problem = a_problem(nodes, [*others, job], levels=("block", "rack"))
    placements = placed(one=gang_on("n0"), two=gang_on("n2"))
    assert explained(problem, placements) == (
        "TopologyUnsatisfied",
        "needs 16 × NVIDIA-H100-80GB-HBM3 in one rack; the most free in one rack is 12 (rack-1)",
    )
    assert remedies(problem, placements) == [
        "allow block instead of rack",
        "free 4 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n2)",
    ]


def test_job_that_only_spot_nodes_have_room_for_names_its_share() -> None:
    nodes = [a_node("n0", gpus=3), a_node("n1", spot=True)]
    problem = a_problem(nodes, [waiting(a_role(counts=(4,)))])
    assert explained(problem, {}) == (
        "CannotFit",
        (
            "needs 4 × NVIDIA-H100-80GB-HBM3; there is room for 3 of its 4 pods off spot nodes, "
            "and none may be on spot"
        ),
    )
    assert lack_of_waiting(problem, {}).shortages[0].reason is Reason.SPOT_SHARE
    assert "allow spot nodes for 25 % of its replicas" in remedies(problem, {})


def test_cpu_and_memory_that_bind_are_reported() -> None:
    worker = a_role(gpu_milli=2000, cpu_millis=64_000, memory_bytes=16 * GIB)
    busy = a_training_job("one", worker=a_role(cpu_millis=48_000))
    problem = a_problem(some_nodes(1), [busy, waiting(worker)])
    placements = placed(one=gang_on("n0"))
    assert explained(problem, placements) == (
        "InsufficientResources",
        (
            "needs 2 × NVIDIA-H100-80GB-HBM3 with 64 CPU and 16 GiB on one node; "
            "nodes with such GPUs free have at most 48 CPU left"
        ),
    )
    others = OtherRoom(
        cpu_millis=48_000, memory_bytes=512 * GIB, gpu_memory_bytes=UNKNOWN_BYTES, pods=0
    )
    assert lack_of_waiting(problem, placements).shortages[0].others == others
    assert "free 16 CPU on one node (n0)" in remedies(problem, placements)


def test_cpu_that_suffices_for_some_of_the_pods_is_counted_in_pods() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role(counts=(3,), cpu_millis=40_000))])
    assert explained(problem, {}) == (
        "CannotFit",
        (
            "needs 3 pods with 1 × NVIDIA-H100-80GB-HBM3 and 40 CPU each; "
            "there are CPU, memory and pod slots for 2 of 3 pods"
        ),
    )


# Roles of a gang


def launched(*, cpu: int = 1, eligible: int = ANY_NODE, **limits: int) -> Job:
    """A waiting gang of two workers, with a launcher that has limits of its own."""
    launcher = a_companion(cpu_millis=cpu * 1000, counts=(1,), eligible=eligible)
    companions = (replace(launcher, **limits),)
    worker = a_role(counts=(2,))
    return a_training_job("waits", worker=worker, companions=companions)


def test_a_launcher_that_has_no_room_is_named() -> None:
    problem = a_problem([a_node(), a_node("plain", gpus=0)], [launched(cpu=128)])
    assert explained(problem, {}) == (
        "CannotFit",
        "role launcher needs 1 pod with 128 CPU; nodes that it may use have at most 96 CPU left",
    )
    assert remedies(problem, {}) == ["add 1 node with 128 CPU"]


def test_what_would_make_room_for_a_launcher_is_said() -> None:
    busy = a_training_job("busy", worker=a_role(cpu_millis=80_000))
    problem = a_problem([a_node()], [busy, launched(cpu=32)])
    placements = placed(busy=gang_on("n0"))
    assert explained(problem, placements)[0] == "InsufficientResources"
    assert "free 16 CPU on one node (n0)" in remedies(problem, placements)


def test_a_launcher_may_be_admitted_to_more_nodes() -> None:
    problem = a_problem([a_node(), a_node("plain", gpus=0)], [launched(eligible=0)])
    assert explained(problem, {}) == (
        "NoEligibleNode",
        (
            "role launcher needs 1 pod with 1 CPU; "
            "its selectors, affinity and tolerations admit none of the 2 nodes"
        ),
    )
    assert remedies(problem, {}) == ["select and tolerate 1 more node"]


def test_closed_nodes_may_be_reopened_for_a_launcher() -> None:
    nodes = [a_node(), a_node("plain", gpus=0, open=False)]
    problem = a_problem(nodes, [launched(eligible=0b10)])
    assert "reopen 1 closed node" in remedies(problem, {})


def test_a_role_with_limits_of_its_own_is_named_where_they_would_be_relaxed() -> None:
    loaders = a_companion("loader", counts=(2,), cpu_millis=64_000)
    spot = [a_node(), a_node("n1", spot=True)]
    on_demand = a_training_job("waits", companions=(loaders,))
    allowed = "allow spot nodes for 50 % of the replicas of role loader"
    assert allowed in remedies(a_problem(spot, [on_demand]), {})
    racks = [a_node("n0", topology=("r0",)), a_node("n1", topology=("r1",))]
    near = a_training_job("waits", companions=(replace(loaders, required_level=0),))
    wider = "allow any nodes instead of rack for role loader"
    assert wider in remedies(a_problem(racks, [near], levels=("rack",)), {})


# Who holds it


def test_job_behind_higher_priority_says_what_they_hold() -> None:
    problem = a_problem(
        some_nodes(1), [holder("one", 5, priority=10), waiting(a_role(gpu_milli=4000))]
    )
    assert explained(problem, placed(one=gang_on("n0"))) == (
        "LowerPriority",
        (
            "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 3; "
            "jobs of higher priority hold 5"
        ),
    )


def test_higher_priority_is_not_blamed_where_its_leaving_would_not_help() -> None:
    problem = a_problem(
        some_nodes(1),
        [holder("one", 1, priority=10), holder("two", 5), waiting(a_role(gpu_milli=4000))],
    )
    placements = placed(one=gang_on("n0"), two=gang_on("n0"))
    assert lack_of_waiting(problem, placements).reason is Reason.INSUFFICIENT_GPUS


def test_jobs_that_must_not_move_are_named() -> None:
    problem = a_problem(
        some_nodes(1), [holder("one", 5, pinned=True), waiting(a_role(gpu_milli=4000))]
    )
    assert explained(problem, placed(one=gang_on("n0")))[1].endswith(
        "the most free on one node is 3; jobs that must not be moved hold 5"
    )


def test_jobs_that_would_lose_more_than_is_gained_are_named() -> None:
    low = holder("one", 5, restart_seconds=50 * 3600)
    urgent = waiting(a_role(gpu_milli=4000), priority=10)
    problem = a_problem(some_nodes(1), [replace(low, running=gang_on("n0")), urgent])
    placements = placed(one=gang_on("n0"))
    assert explained(problem, placements) == (
        "InsufficientGPUs",
        (
            "needs 4 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 3; "
            "jobs that would lose more work than it gains hold 5"
        ),
    )
    overdue = replace(problem, jobs=(problem.jobs[0], replace(problem.jobs[1], overdue=True)))
    assert "lose more" not in explained(overdue, placements)[1]


def test_job_with_room_says_so_and_needs_no_change() -> None:
    problem = a_problem(some_nodes(1), [waiting(a_role())])
    assert explained(problem, {}) == ("Pending", "there is room for it; the next plan may place it")
    assert remedies(problem, {}) == []


def test_queue_at_its_fair_share_is_named_where_there_is_room() -> None:
    queues = [a_queue(fair={H100: 4000})]
    jobs = [holder("one", 3), waiting(a_role(gpu_milli=2000))]
    assert explained(a_problem(some_nodes(1), jobs, queues=queues), placed(one=gang_on("n0"))) == (
        "Pending",
        "there is room for it, but queue research is at its fair share; the next plan may place it",
    )


def test_inference_job_with_too_few_replicas_says_what_one_more_lacks() -> None:
    server = a_mixable_role(counts=(1, 2), wanted_milli=8000, role=a_role(gpu_milli=6000))
    problem = a_problem(some_nodes(1), [an_inference_job("waits", roles=(server,))])
    placements = placed(waits=(on("n0", role="server"),))
    assert explained(problem, placements) == (
        "InsufficientGPUs",
        "needs 6 × NVIDIA-H100-80GB-HBM3 on one node; the most free on one node is 2",
    )
    assert remedies(problem, placements) == [
        "free 4 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0)"
    ]


def test_node_too_small_for_what_runs_there_takes_nothing_more() -> None:
    shrunk = a_node(devices=(some_devices(3), some_devices(5, free_milli=0)))
    problem = a_problem([shrunk], [holder("one", 4), waiting(a_role())])
    lack = lack_of_waiting(problem, placed(one=gang_on("n0")))
    assert lack.reason is Reason.INSUFFICIENT_GPUS


# Several changes at once


def test_where_no_single_change_suffices_the_smallest_set_is_proposed() -> None:
    problem = a_problem(
        some_nodes(1),
        [holder("one", 6), waiting(a_role(gpu_milli=4000))],
        queues=[a_queue(limit={H100: 8000})],
    )
    assert remedies(problem, placed(one=gang_on("n0"))) == [
        (
            "free 2 GPUs of NVIDIA-H100-80GB-HBM3 on one node (n0) and "
            "raise the limit of queue research for NVIDIA-H100-80GB-HBM3 by 2"
        )
    ]


# Many jobs


def test_jobs_that_ask_for_the_same_are_explained_once() -> None:
    jobs = [replace(waiting(a_role(counts=(9,))), name=JobName(f"w{i}")) for i in range(100)]
    problem = a_problem(some_nodes(1), jobs)
    explainer, feasibility = Explainer(problem, {}), Feasibility(problem)
    assert len({id(explainer.lack(job)) for job in problem.jobs}) == 1
    assert len({id(feasibility.lacks_alone(job)) for job in problem.jobs}) == 1


def test_trying_a_job_leaves_no_trace() -> None:
    problem, placements = two_nodes_mostly_taken()
    explainer, job = Explainer(problem, placements), job_named(problem, "waits")
    small = replace(job, name=JobName("small"), roles=(a_role(gpu_milli=2000),))
    fits = replace(small, roles=(replace(small.roles[0], eligible=0b11),))
    assert explainer.lack(fits).reason is Reason.PENDING
    assert explainer.lack(job).shortages[0].nodes.most_free_milli == 2000


def test_what_is_known_of_jobs_alone_is_kept_until_the_cluster_changes() -> None:
    known = Feasibilities()
    some = a_problem([a_node()], [a_training_job("one")])
    kept = known.of(some)
    assert known.of(replace(some, jobs=(a_training_job("other"),))) is kept
    assert known.of(replace(some, nodes=(a_node(gpus=4),))) is not kept


def test_and_is_the_same_as_without_memory() -> None:
    known = Feasibilities()
    huge = a_training_job("huge", worker=a_role(gpu_milli=9000))
    fits = a_training_job("fits", worker=a_role(gpu_milli=8000), priority=7)
    problem = a_problem([a_node()], [huge, fits])
    known.of(a_problem([a_node()], [fits]))
    huge, fits = problem.jobs
    assert known.of(problem).lacks_alone(huge) == Feasibility(problem).lacks_alone(huge)
    assert known.of(problem).fits_alone(fits)


@pytest.mark.parametrize(("gpus", "reason"), [(4, Reason.PENDING), (5, Reason.INSUFFICIENT_GPUS)])
def test_who_is_held_beyond_a_limit_takes_no_room_from_other_queues(
    gpus: int, reason: Reason
) -> None:
    held = gang_on(*["n0"] * 4)
    gang = a_training_job("gang", worker=a_role(counts=(1, 2, 3, 4)), running=held, pinned=True)
    other = waiting(a_role(gpu_milli=gpus * 1000), queue="others")
    queues = [a_queue(limit={H100: 2000}), a_queue("others")]
    problem = a_problem([a_node(gpus=8)], [gang, other], queues=queues)
    lack = lack_of_waiting(problem, placed(gang=held))
    assert lack.reason is reason
    assert all(shortage.nodes.most_free_milli == 4000 for shortage in lack.shortages)
