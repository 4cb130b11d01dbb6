"""What a replica that serves on without a place holds is nobody else's, unless given away."""

from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.cluster.surge import surge_pods
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import NOW, at, pods_of, seen
from support.objects.job_manifests import a_training_job, an_inference_job

NODES = fake_node("old", gpus=2), fake_node("new", gpus=2)


def moved(*, suspend: bool = False) -> list[Manifest]:
    """A service that moved from one node to another, and its pods on both."""
    job = an_inference_job("serve", suspend=suspend)
    old, new = at(job, "old"), at(job, "new")
    new["status"]["placement"]["assignments"][0]["replica"] = 1
    return [new, *map(with_gpu, [*pods_of(old), *pods_of(new)])]


def with_gpu(pod: Manifest) -> Manifest:
    resources = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
    pod["spec"]["containers"] = [{"name": "main", "resources": resources}]
    return pod


def free_gpus(cluster: Cluster | None) -> dict[str, int]:
    nodes = cluster.nodes if cluster is not None else ()
    return {node.name: sum(node.devices[0].free_milli) // 1000 for node in nodes}


def test_new_plans_leave_it_what_it_holds() -> None:
    snapshot = seen(*NODES, *moved())
    (view,) = snapshot.jobs
    assert [pod.node for pod in surge_pods(view)] == ["old"]
    cluster = ProblemBuilder().cluster(snapshot)
    assert free_gpus(cluster) == {"old": 1, "new": 2}
    assert free_gpus(cluster.later) == {"old": 2, "new": 2}


def test_whoever_was_given_its_place_keeps_that_and_waits() -> None:
    waits = at(a_training_job("train", gpus=2), "old")
    cluster = ProblemBuilder().cluster(seen(*NODES, *moved(), waits))
    assert free_gpus(cluster) == {"old": 2, "new": 2}


def test_who_is_done_waits_for_no_place() -> None:
    done = {"type": "Complete", "status": "True", "reason": "Completed"}
    since = {"lastTransitionTime": NOW.isoformat(), "message": ""}
    over = at(a_training_job("train", gpus=2), "old", conditions=[{**done, **since}])
    cluster = ProblemBuilder().cluster(seen(*NODES, *moved(), over))
    assert free_gpus(cluster) == {"old": 1, "new": 2}


def test_what_was_suspended_serves_nobody() -> None:
    snapshot = seen(*NODES, *moved(suspend=True))
    assert not any(map(surge_pods, snapshot.jobs))
