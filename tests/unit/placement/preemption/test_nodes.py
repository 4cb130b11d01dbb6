"""Who gives way where much is placed, asked node by node."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from plimsoll_placement.check import violations
from plimsoll_placement.model import (
    Assignments,
    Devices,
    DomainName,
    GpuType,
    Job,
    JobName,
    QueueName,
)
from plimsoll_placement.placing.place import Request
from plimsoll_placement.preemption.nodes import NodePreemption
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import (
    a_node,
    a_power_domain,
    a_problem,
    a_queue,
    a_role,
    a_training_job,
    gang_on,
    some_nodes,
)
from support.problems.builders import placed as placements

H100 = GpuType("NVIDIA-H100-80GB-HBM3")


def filled(problem: Problem) -> Ledger:
    """A ledger in which everything is where it runs."""
    ledger = Ledger(problem)
    for job in problem.jobs:
        assert ledger.take(job, job.running)
    return ledger


def cleared(
    problem: Problem, name: str, *, reclaim: bool = False
) -> tuple[Assignments | None, Ledger]:
    """Assignments for a job at its least size after others gave way."""
    ledger, job = filled(problem), problem.job_by_name[JobName(name)]
    role = job.roles[0]
    request = Request(job, role, H100, tuple(range(role.least)))
    return NodePreemption(ledger, request, reclaim=reclaim).assignments(), ledger


def placed(ledger: Ledger) -> Mapping[JobName, Assignments]:
    return dict(ledger.placed)


def a_gang(name: str, *nodes: str, gpus: int = 8, priority: int = 0, loss: int = 600) -> Job:
    worker = a_role(counts=(len(nodes),), gpu_milli=1000 * gpus)
    return a_training_job(
        name, worker=worker, running=gang_on(*nodes), priority=priority, restart_seconds=loss
    )


def a_wish(workers: int, *, gpus: int = 8, priority: int = 100) -> Job:
    worker = a_role(counts=(workers,), gpu_milli=1000 * gpus)
    return a_training_job("wish", worker=worker, priority=priority)


def test_the_least_important_gives_way() -> None:
    jobs = [a_gang("low", "n0"), a_gang("lower", "n1", priority=-5), a_wish(1)]
    assignments, ledger = cleared(a_problem(some_nodes(2), jobs), "wish")
    assert assignments == gang_on("n1")
    assert placed(ledger).keys() == {"low", "wish"}


def test_of_two_on_a_node_who_loses_least_gives_way() -> None:
    jobs = [
        a_gang("much", "n0", gpus=4, loss=900),
        a_gang("little", "n0", gpus=4, loss=60),
        a_wish(1, gpus=4),
    ]
    _, ledger = cleared(a_problem([a_node()], jobs), "wish")
    assert placed(ledger).keys() == {"much", "wish"}


def test_a_gang_shrinks_before_another_is_stopped() -> None:
    elastic = a_training_job(
        "elastic",
        worker=a_role(counts=(1, 2), gpu_milli=4000),
        running=gang_on("n0", "n0"),
    )
    problem = a_problem(some_nodes(2), [elastic, a_gang("other", "n1"), a_wish(1, gpus=4)])
    _, ledger = cleared(problem, "wish")
    assert placed(ledger).keys() == {"elastic", "other", "wish"}
    assert len(ledger.placed[JobName("elastic")]) == 1


def test_whoever_was_removed_without_need_comes_back() -> None:
    jobs = [a_gang("wide", "n0", "n1"), a_gang("small", "n2", gpus=4), a_wish(2)]
    problem = a_problem(some_nodes(3), jobs)
    assignments, ledger = cleared(problem, "wish")
    assert assignments is not None
    assert violations(problem, placed(ledger)) == ()
    assert "small" in ledger.placed or "wide" in ledger.placed


@pytest.mark.parametrize(
    "wish",
    [a_wish(3), a_wish(1, priority=0), a_wish(1, gpus=16)],
    ids=["more nodes than there are", "no higher priority", "more GPUs than a node has"],
)
def test_where_it_cannot_be_nobody_gives_way(wish: Job) -> None:
    problem = a_problem(some_nodes(2), [a_gang("a", "n0"), a_gang("b", "n1"), wish])
    assignments, ledger = cleared(problem, "wish")
    assert assignments is None
    assert placed(ledger) == placements(a=gang_on("n0"), b=gang_on("n1"))


def test_those_of_a_full_queue_make_room_in_it() -> None:
    jobs = [a_gang("mine", "n0"), a_gang("theirs", "n1"), a_wish(1)]
    other = a_training_job("theirs", worker=jobs[1].roles[0], running=gang_on("n1"), queue="other")
    queues = [a_queue(limit={H100: 8000}), a_queue("other")]
    problem = a_problem(some_nodes(3), [jobs[0], other, jobs[2]], queues=queues)
    assignments, ledger = cleared(problem, "wish")
    assert assignments is not None
    assert placed(ledger).keys() == {"theirs", "wish"}


def test_power_is_had_from_those_on_the_same_node() -> None:
    nodes = some_nodes(2, power_domains=(DomainName("row"),), busy_milliwatts=100_000)
    domain = a_power_domain("row", budget_watts=800)
    problem = a_problem(nodes, [a_gang("low", "n0"), a_wish(1)], power_domains=[domain])
    assignments, ledger = cleared(problem, "wish")
    assert assignments == gang_on("n0")
    assert violations(problem, placed(ledger)) == ()


def test_a_gang_bound_to_a_domain_clears_nodes_of_one() -> None:
    nodes = [a_node(f"n{index}", topology=(f"rack-{index // 2}",)) for index in range(4)]
    jobs = [
        a_gang("a", "n0"),
        a_gang("b", "n1"),
        a_gang("c", "n2"),
        a_gang("d", "n3", priority=200),
    ]
    bound = a_training_job(
        "wish", worker=a_role(counts=(2,), gpu_milli=8000), priority=100, required_level=0
    )
    problem = a_problem(nodes, [*jobs, bound], levels=("rack",))
    assignments, ledger = cleared(problem, "wish")
    assert assignments == gang_on("n0", "n1")
    assert placed(ledger).keys() == {"c", "d", "wish"}


def test_what_a_queue_is_owed_is_had_from_a_higher_priority() -> None:
    held = a_training_job(
        "held",
        worker=a_role(gpu_milli=8000),
        running=gang_on("n0"),
        priority=1000,
        queue="borrower",
    )
    queues = [a_queue(guaranteed={H100: 8000}), a_queue("borrower")]
    problem = a_problem([a_node()], [held, a_wish(1, priority=0)], queues=queues)
    assert cleared(problem, "wish")[0] is None
    assert cleared(problem, "wish", reclaim=True)[0] == gang_on("n0")


def test_a_node_is_cleared_for_all_pods_that_it_can_have() -> None:
    jobs = [a_gang(f"low-{index}", "n0", gpus=1) for index in range(8)]
    assignments, ledger = cleared(a_problem([a_node()], [*jobs, a_wish(8, gpus=1)]), "wish")
    assert assignments == gang_on(*["n0"] * 8)
    assert placed(ledger).keys() == {"wish"}


def test_no_higher_priority_gives_way_while_lower_ones_are_elsewhere() -> None:
    lower = [a_gang("a", "n0", gpus=4), a_gang("b", "n1", gpus=4)]
    higher = [a_gang("c", "n0", gpus=4, priority=50), a_gang("d", "n1", gpus=4, priority=50)]
    problem = a_problem(some_nodes(2), [*lower, *higher, a_wish(2, gpus=4)])
    _, ledger = cleared(problem, "wish")
    assert placed(ledger).keys() == {"c", "d", "wish"}


def test_a_share_that_is_larger_than_what_is_asked_for_is_had_as_a_whole() -> None:
    node = a_node(devices=(Devices(H100, (500,), share_milli=500),))
    asks = a_role(gpu_milli=250)
    low = a_training_job("low", worker=asks, running=gang_on("n0"))
    wish = a_training_job("wish", worker=asks, priority=100)
    assignments, _ = cleared(a_problem([node], [low, wish]), "wish")
    assert assignments == gang_on("n0")


def test_what_is_spare_of_a_share_is_had_as_a_whole() -> None:
    node = a_node(devices=(Devices(H100, (1000,), share_milli=500),))
    elastic = a_training_job(
        "elastic",
        worker=a_role(counts=(1, 2), gpu_milli=250),
        running=gang_on("n0", "n0"),
        priority=100,
    )
    wish = a_training_job("wish", worker=a_role(gpu_milli=500), priority=100)
    assignments, _ = cleared(a_problem([node], [elastic, wish]), "wish")
    assert assignments == gang_on("n0")


def test_a_fraction_gives_way_for_the_whole_device() -> None:
    node = a_node(devices=(Devices(H100, (1000,), share_milli=1),))
    low = a_training_job("low", worker=a_role(gpu_milli=300), running=gang_on("n0"))
    assignments, _ = cleared(a_problem([node], [low, a_wish(1, gpus=1)]), "wish")
    assert assignments == gang_on("n0")


def test_power_is_had_from_those_on_other_nodes_where_nothing_else_lacks() -> None:
    nodes = some_nodes(3, power_domains=(DomainName("row"),), busy_milliwatts=100_000)
    domain = a_power_domain("row", budget_watts=800)
    jobs = [a_gang("low", "n0", gpus=4), a_gang("other", "n1", gpus=4), a_wish(1)]
    problem = a_problem(nodes, jobs, power_domains=[domain])
    assignments, ledger = cleared(problem, "wish")
    assert assignments is not None
    assert violations(problem, placed(ledger)) == ()


def test_where_a_domain_cannot_be_cleared_another_is() -> None:
    """In the first rack nobody but the queue that is owed what it has would have to go."""
    nodes = [a_node(f"n{index}", topology=(f"rack-{index}",)) for index in range(2)]
    owed = replace(a_gang("owed", "n0", priority=-5), queue=QueueName("owner"))
    wish = replace(a_wish(1), required_level=0)
    queues = [a_queue(), a_queue("owner", guaranteed={H100: 8000})]
    jobs = [owed, a_gang("low", "n1"), wish]
    problem = a_problem(nodes, jobs, levels=("rack",), queues=queues)
    assignments, ledger = cleared(problem, "wish")
    assert assignments == gang_on("n1")
    assert placed(ledger).keys() == {"owed", "wish"}


def test_spot_nodes_are_not_all_that_is_cleared_for_a_job_that_has_a_share_of_them() -> None:
    nodes = [a_node("n0", spot=True), a_node("n1")]
    low = replace(a_gang("low", "n0", priority=-5), spot_percent=100)
    wish = replace(a_wish(1), spot_percent=50)
    assignments, _ = cleared(a_problem(nodes, [low, a_gang("other", "n1"), wish]), "wish")
    assert assignments == gang_on("n1")
