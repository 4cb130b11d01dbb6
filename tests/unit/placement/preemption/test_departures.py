"""Who would have to leave a node so that a request has all that it needs there."""

from collections.abc import Iterator

from plimsoll_placement.model import Job, JobName, Node
from plimsoll_placement.placing.place import Request
from plimsoll_placement.preemption.departures import Departure, Departures, Payable
from plimsoll_placement.preemption.tenants import Tenant
from plimsoll_placement.state.ledger import Ledger
from support.problems.builders import H100, a_node, a_problem, a_role, a_training_job, gang_on

HCA = "rdma/hca"
PAYABLE = Payable(10**12, 1000)


def a_gang(name: str, gpus: int, hcas: int, *, on: str = "") -> Job:
    """One worker with so many GPUs and network devices; `on`: where it runs."""
    worker = a_role(gpu_milli=1000 * gpus, others=((HCA, hcas),) if hcas else ())
    return a_training_job(name, worker=worker, running=gang_on(on) if on else ())


def departures(node: Node, *jobs: Job) -> tuple[Departures, Request]:
    """The departures from a node where jobs run, for the job that waits."""
    problem = a_problem([node], jobs)
    ledger = Ledger(problem)
    for job in problem.jobs:
        assert ledger.take(job, job.running)
    waits = problem.job_by_name[JobName("waits")]
    return Departures(ledger), Request(waits, waits.roles[0], H100, (0,))


def who(found: Iterator[Departure]) -> list[set[str]]:
    return [{tenant.job.name for tenant in each.tenants} for each in found]


def any_may(tenant: Tenant) -> bool:
    return bool(tenant)


def test_only_who_holds_enough_network_devices_makes_room_for_who_needs_them() -> None:
    node = a_node(others=((HCA, 5),))
    jobs = [a_gang("with", 4, 3, on="n0"), a_gang("without", 4, 0, on="n0")]
    found, request = departures(node, *jobs, a_gang("waits", 4, 4))
    assert who(found.one_each(request, PAYABLE)) == [{"with"}]
    found, request = departures(node, *jobs, a_gang("waits", 4, 2))
    assert sorted(map(sorted, who(found.one_each(request, PAYABLE)))) == [["with"], ["without"]]


def test_those_of_all_who_leave_a_node_are_counted_together() -> None:
    node = a_node(others=((HCA, 5),))
    jobs = [a_gang("one", 4, 2, on="n0"), a_gang("two", 4, 2, on="n0")]
    found, request = departures(node, *jobs, a_gang("waits", 8, 5))
    assert who(found.several(request, PAYABLE, any_may)) == [{"one", "two"}]
    found, request = departures(node, *jobs, a_gang("waits", 8, 6))
    assert who(found.several(request, PAYABLE, any_may)) == []
