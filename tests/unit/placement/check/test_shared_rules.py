"""What all jobs take together: too much is caught by the rule that names it, enough passes."""

from dataclasses import replace

import pytest

from plimsoll_placement.check import Rule, UnsoundPlanError, require_sound, violations
from plimsoll_placement.model import DomainName, GpuType, Job, Node
from plimsoll_placement.problem import Problem
from support.problems.builders import (
    A100,
    GIB,
    H100,
    MIG_1G,
    T4,
    Placements,
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    gang_on,
    placed,
    some_devices,
    some_nodes,
)


def broken_rules(problem: Problem, placements: Placements) -> list[Rule]:
    return [violation.rule for violation in violations(problem, placements)]


def one_job(job: Job, *nodes: Node, levels: tuple[str, ...] = ()) -> Problem:
    return a_problem(nodes or some_nodes(2), [job], levels=levels)


# Capacity of nodes


def two_workers(*, cpu_millis: int = 0, memory_bytes: int = 0, gpu_milli: int = 1000) -> Job:
    worker = a_role(
        counts=(2,), cpu_millis=cpu_millis, memory_bytes=memory_bytes, gpu_milli=gpu_milli
    )
    return a_training_job(worker=worker)


@pytest.mark.parametrize(("capacity", "broken"), [(8000, []), (7999, [Rule.CPU])])
def test_no_cpu_is_given_twice(capacity: int, broken: list[Rule]) -> None:
    problem = one_job(two_workers(cpu_millis=4000), a_node(cpu_millis=capacity))
    assert broken_rules(problem, placed(train=gang_on("n0", "n0"))) == broken


@pytest.mark.parametrize(("capacity", "broken"), [(2 * GIB, []), (2 * GIB - 1, [Rule.MEMORY])])
def test_no_memory_is_given_twice(capacity: int, broken: list[Rule]) -> None:
    problem = one_job(two_workers(memory_bytes=GIB), a_node(memory_bytes=capacity))
    assert broken_rules(problem, placed(train=gang_on("n0", "n0"))) == broken


@pytest.mark.parametrize(("slots", "broken"), [(2, []), (1, [Rule.POD_SLOTS])])
def test_each_pod_takes_a_slot(slots: int, broken: list[Rule]) -> None:
    problem = one_job(two_workers(), a_node(pod_slots=slots))
    assert broken_rules(problem, placed(train=gang_on("n0", "n0"))) == broken


def test_capacity_is_shared_by_all_jobs_of_the_node() -> None:
    jobs = [a_training_job(name, worker=a_role(cpu_millis=60_000)) for name in ("a", "b")]
    problem = a_problem(some_nodes(1), jobs)
    assert broken_rules(problem, placed(a=gang_on("n0"), b=gang_on("n0"))) == [Rule.CPU]


@pytest.mark.parametrize(("gpu_milli", "broken"), [(4000, []), (5000, [Rule.DEVICES])])
def test_no_gpu_is_given_twice(gpu_milli: int, broken: list[Rule]) -> None:
    problem = one_job(two_workers(gpu_milli=gpu_milli), a_node(gpus=8))
    assert broken_rules(problem, placed(train=gang_on("n0", "n0"))) == broken


def test_gpus_that_foreign_pods_hold_are_not_there() -> None:
    devices = replace(some_devices(4), free_milli=(1000, 0, 0, 1000))
    problem = one_job(two_workers(gpu_milli=1000), a_node(devices=(devices,)))
    assert violations(problem, placed(train=gang_on("n0", "n0"))) == ()
    problem = one_job(two_workers(gpu_milli=2000), a_node(devices=(devices,)))
    assert broken_rules(problem, placed(train=gang_on("n0", "n0"))) == [Rule.DEVICES]


def test_types_of_one_node_are_counted_apart() -> None:
    node = a_node(devices=(some_devices(2), some_devices(2, MIG_1G)))
    slices = a_training_job("slices", worker=a_role(counts=(2,), rates={MIG_1G: 100}))
    problem = a_problem([node], [two_workers(), slices])
    both = placed(train=gang_on("n0", "n0"), slices=gang_on("n0", "n0", gpu_type=MIG_1G))
    assert violations(problem, both) == ()


# Fractions of devices


def fractions(*millis: int) -> tuple[list[Job], Placements]:
    jobs = [a_training_job(f"f{i}", worker=a_role(gpu_milli=m)) for i, m in enumerate(millis)]
    return jobs, {job.name: gang_on("n0") for job in jobs}


def fraction_rules(
    devices: tuple[int, ...], share_milli: int, asked: tuple[int, ...]
) -> list[Rule]:
    group = replace(some_devices(1, share_milli=share_milli), free_milli=devices)
    jobs, plan = fractions(*asked)
    return broken_rules(a_problem([a_node(devices=(group,))], jobs), plan)


@pytest.mark.parametrize(
    ("free", "share", "asked"),
    [
        ((1000,), 1, (500, 500)),
        ((1000, 1000), 1, (600, 600, 400, 400)),
        ((1000, 1000), 1, (1000, 300, 700)),
        ((700, 1000, 300), 1, (1000, 300, 700)),
        ((1000, 1000, 1000), 1, (2000, 1000)),
        # Neither first-fit-decreasing nor best-fit packs these: {500,300,200} and {400,400,200}.
        ((1000, 1000), 1, (500, 400, 400, 300, 200, 200)),
        ((1000, 1000), 250, (250,) * 8),
        ((600, 1000), 250, (100,) * 6),
        ((1000,), 500, (250, 500)),
    ],
)
def test_fractions_are_sound_where_each_has_its_device(
    free: tuple[int, ...], share: int, asked: tuple[int, ...]
) -> None:
    assert fraction_rules(free, share, asked) == []


@pytest.mark.parametrize(
    ("free", "share", "asked"),
    [
        pytest.param((1000, 1000), 1, (600, 600, 600), id="a fraction lies on one device"),
        pytest.param((500, 500), 1, (1000,), id="a whole GPU is not made of two halves"),
        pytest.param((1000, 999), 1, (2000,), id="a whole GPU is wholly free"),
        pytest.param((1000, 500, 500), 1, (1000, 600), id="a whole GPU is shared with nobody"),
        pytest.param((1000, 1000), 1, (1500,), id="more than one GPU is whole GPUs"),
        pytest.param((1000,), 1000, (500,), id="no fractions where GPUs are whole"),
        pytest.param((1000, 1000), 250, (250,) * 9, id="no more than four quarters each"),
        pytest.param((1000,), 250, (100,) * 5, id="a small fraction takes a whole share"),
        pytest.param((600,), 250, (250,) * 3, id="what is left of a device is whole shares"),
        pytest.param((1000,), 250, (500,), id="a pod takes a single share"),
        pytest.param((1000,), 250, (1000,), id="no whole GPUs where devices are shared"),
    ],
)
def test_no_fraction_is_given_twice(
    free: tuple[int, ...], share: int, asked: tuple[int, ...]
) -> None:
    assert fraction_rules(free, share, asked) == [Rule.DEVICES]


def test_devices_of_one_type_may_be_offered_whole_and_shared_on_one_node() -> None:
    node = a_node(devices=(some_devices(1), some_devices(1, share_milli=500)))
    jobs, plan = fractions(1000, 500, 500)
    assert violations(a_problem([node], jobs), plan) == ()
    jobs, plan = fractions(1000, 500, 500, 500)
    assert broken_rules(a_problem([node], jobs), plan) == [Rule.DEVICES]


# Queues


def in_queues(*, limit: int, used_by: tuple[str, ...], gpu_type: GpuType = H100) -> list[Rule]:
    queues = (
        a_queue("top", limit={gpu_type: limit}),
        a_queue("left", parent="top"),
        a_queue("right", parent="top"),
        a_queue("apart"),
    )
    jobs = [a_training_job(f"j{i}", queue=queue) for i, queue in enumerate(used_by)]
    problem = a_problem(some_nodes(1), jobs, queues=queues)
    return broken_rules(problem, {job.name: gang_on("n0") for job in jobs})


def test_a_queue_may_use_its_limit() -> None:
    assert in_queues(limit=2000, used_by=("top", "top")) == []


def test_a_queue_stays_within_its_limit() -> None:
    assert in_queues(limit=1999, used_by=("top", "top")) == [Rule.QUEUE_LIMIT]


def test_children_use_the_limit_of_their_parent_together() -> None:
    assert in_queues(limit=2000, used_by=("left", "right", "top")) == [Rule.QUEUE_LIMIT]


def test_other_queues_do_not_use_the_limit() -> None:
    assert in_queues(limit=1000, used_by=("left", "apart", "apart")) == []


def test_a_limit_is_of_one_gpu_type() -> None:
    assert in_queues(limit=0, used_by=("top",), gpu_type=A100) == []


def test_a_limit_counts_what_is_asked_for_not_the_share_that_is_granted() -> None:
    group = some_devices(1, share_milli=500)
    jobs, plan = fractions(250, 250)
    for limit, broken in [(500, []), (499, [Rule.QUEUE_LIMIT])]:
        queue = a_queue(limit={H100: limit})
        problem = a_problem([a_node(devices=(group,))], jobs, queues=[queue])
        assert broken_rules(problem, plan) == broken


def pinned_and_new(queue_limit: int) -> tuple[Problem, Placements, Placements]:
    worker = a_role(gpu_milli=3000)
    pinned = a_training_job("pinned", worker=worker, running=gang_on("n0"), pinned=True)
    queue = a_queue(limit={H100: queue_limit})
    problem = a_problem(some_nodes(1), [pinned, a_training_job("new")], queues=[queue])
    alone = placed(pinned=pinned.running)
    return problem, alone, {**alone, **placed(new=gang_on("n0"))}


def test_a_limit_below_what_pinned_jobs_use_admits_these_and_nothing_else() -> None:
    problem, alone, more = pinned_and_new(queue_limit=1000)
    assert violations(problem, alone) == ()
    assert broken_rules(problem, more) == [Rule.QUEUE_LIMIT]


# Power


POWERED = (DomainName("row"),)


def powered(budget_watts: int, *, gpu_milli: int = 1000, base_watts: int = 100) -> list[Rule]:
    node = a_node(power_domains=POWERED, busy_milliwatts=500_000)
    domain = a_power_domain("row", budget_watts=budget_watts, base_watts=base_watts)
    job = a_training_job(worker=a_role(gpu_milli=gpu_milli))
    problem = a_problem([node], [job], power_domains=[domain])
    return broken_rules(problem, placed(train=gang_on("n0")))


@pytest.mark.parametrize(("gpu_milli", "needed"), [(1000, 600), (4000, 2100)])
def test_expected_draw_stays_within_the_budget(gpu_milli: int, needed: int) -> None:
    assert powered(needed, gpu_milli=gpu_milli) == []
    assert powered(needed - 1, gpu_milli=gpu_milli) == [Rule.POWER_BUDGET]


def test_all_nodes_of_a_domain_draw_from_its_budget() -> None:
    nodes = some_nodes(2, power_domains=POWERED, busy_milliwatts=500_000)
    domain = a_power_domain("row", budget_watts=1099, base_watts=100)
    job = a_training_job(worker=a_role(counts=(2,)))
    problem = a_problem(nodes, [job], power_domains=[domain])
    found = violations(problem, placed(train=gang_on("n0", "n1")))
    assert [str(violation) for violation in found] == [
        "PowerBudget row: 1100000 milliwatts drawn, the budget is 1099000"
    ]


def test_a_node_draws_from_every_domain_that_it_is_in() -> None:
    both = (DomainName("row"), DomainName("hall"))
    node = a_node(power_domains=both, busy_milliwatts=500_000)
    domains = [a_power_domain(name, budget_watts=499) for name in both]
    problem = a_problem([node], [a_training_job()], power_domains=domains)
    found = violations(problem, placed(train=gang_on("n0")))
    assert [(each.rule, each.subject) for each in found] == [
        (Rule.POWER_BUDGET, "row"),
        (Rule.POWER_BUDGET, "hall"),
    ]


def test_a_domain_that_is_over_its_budget_unused_forbids_use_and_nothing_else() -> None:
    domain = a_power_domain("row", budget_watts=100, base_watts=200)
    node = a_node(power_domains=POWERED, busy_milliwatts=1)
    problem = a_problem([node], [a_training_job()], power_domains=[domain])
    assert violations(problem, {}) == ()
    assert broken_rules(problem, placed(train=gang_on("n0"))) == [Rule.POWER_BUDGET]


def test_a_budget_below_what_pinned_jobs_draw_admits_these_and_nothing_else() -> None:
    node = a_node(power_domains=POWERED, busy_milliwatts=500_000)
    domain = a_power_domain("row", budget_watts=499)
    pinned = a_training_job("pinned", running=gang_on("n0"), pinned=True)
    problem = a_problem([node], [pinned, a_training_job("new")], power_domains=[domain])
    assert violations(problem, placed(pinned=pinned.running)) == ()
    more = placed(pinned=pinned.running, new=gang_on("n0"))
    assert broken_rules(problem, more) == [Rule.POWER_BUDGET]


# What pinned jobs hold of a node that shrank


@pytest.mark.parametrize(
    ("shrunk", "rule"),
    [
        (a_node(cpu_millis=1000), Rule.CPU),
        (a_node(memory_bytes=GIB - 1), Rule.MEMORY),
        (a_node(pod_slots=0), Rule.POD_SLOTS),
        (a_node(gpus=0), Rule.DEVICES),
    ],
)
def test_a_node_too_small_for_its_pinned_jobs_takes_nothing_else(shrunk: Node, rule: Rule) -> None:
    worker = a_role(cpu_millis=2000, memory_bytes=GIB)
    pinned = a_training_job("pinned", worker=worker, running=gang_on("n0"), pinned=True)
    problem = a_problem([shrunk], [pinned, a_training_job("new", worker=worker)])
    assert violations(problem, placed(pinned=pinned.running)) == ()
    more = placed(pinned=pinned.running, new=gang_on("n0"))
    assert broken_rules(problem, more) == [rule]


# The verdict


def test_everything_wrong_is_reported_with_numbers() -> None:
    worker = a_role(counts=(2,), cpu_millis=4000, gpu_milli=5000, rates={T4: 100})
    node = a_node(cpu_millis=7000, gpus=2, gpu_type=T4)
    plan = placed(train=gang_on("n0", "n0", gpu_type=T4))
    found = violations(one_job(a_training_job(worker=worker), node), plan)
    assert [str(violation) for violation in found] == [
        "Cpu n0: 8000 millicores taken of 7000",
        f"Devices n0: milli-GPUs asked of {T4}: 5000, 5000; on its devices: 1000, 1000",
    ]


def test_an_unsound_plan_raises_with_its_violations() -> None:
    problem = one_job(a_training_job())
    plan = placed(train=gang_on("n9"))
    with pytest.raises(UnsoundPlanError, match="node n9") as raised:
        require_sound(problem, plan)
    assert raised.value.violations == violations(problem, plan)


def test_a_sound_plan_raises_nothing() -> None:
    require_sound(one_job(a_training_job()), placed(train=gang_on("n0")))
