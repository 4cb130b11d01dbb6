from collections.abc import Iterable
from typing import Any

from plimsoll.planning.problem.build import plan_input_of
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.gpu_models import A100, H100
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import a_demand, at, pods_of, seen, serving
from support.objects.job_manifests import a_pool, an_inference_job

NODES = [fake_node(f"n-{index}", H100) for index in range(4)]


def a_service(wanted: float, *nodes: str, **role: Any) -> Manifest:  # noqa: ANN401
    """A service that runs on these nodes, and wants a load of which a replica carries 1."""
    fields = {"replicas": {"min": 1, "max": 9}, **role}
    job = an_inference_job("s", loads={H100: 1, A100: 1}, role=fields)
    return serving(at(job, *nodes), server=wanted)


def kept(*manifests: Manifest, busy: Iterable[float] = ()) -> list[str]:
    """The nodes of the replicas that are still wanted."""
    requests = {f"s-server-{index}": each for index, each in enumerate(busy)}
    demand = a_demand("s", load=2, running_requests=requests)
    [job] = plan_input_of(seen(*manifests, demands=[demand]), ProblemBuilder()).problem.jobs
    return [name for assignment in job.running for name in assignment.nodes]


def test_what_is_needed_stays() -> None:
    job = a_service(3, "n-0", "n-1", "n-2")
    assert kept(*NODES, job, *pods_of(job)) == ["n-0", "n-1", "n-2"]


def test_the_replica_with_the_fewest_running_requests_goes_first() -> None:
    job = a_service(2, "n-0", "n-1", "n-2")
    assert kept(*NODES, job, *pods_of(job), busy=[7, 2, 5]) == ["n-0", "n-2"]


def test_a_replica_that_does_not_serve_yet_goes_before_one_that_does() -> None:
    job = a_service(2, "n-0", "n-1", "n-2")
    pods = pods_of(job)
    pods[0]["status"]["conditions"] = []
    assert kept(*NODES, job, *pods, busy=[0, 2, 5]) == ["n-1", "n-2"]


def test_the_dearest_goes_before_idle_ones() -> None:
    pool = a_pool("dear", {"kubernetes.io/hostname": "n-1"}, pricePerGPUHour=9)
    job = a_service(2, "n-0", "n-1", "n-2")
    assert kept(*NODES, pool, job, *pods_of(job), busy=[0, 9, 9]) == ["n-0", "n-2"]


def test_all_go_where_none_is_wanted() -> None:
    job = a_service(0, "n-0", "n-1", replicas={"min": 0, "max": 4})
    assert kept(*NODES, job, *pods_of(job)) == []


def test_the_fewest_allowed_stay() -> None:
    job = a_service(0, "n-0", "n-1", "n-2", replicas={"min": 2, "max": 4})
    assert kept(*NODES, job, *pods_of(job)) == ["n-0", "n-1"]
