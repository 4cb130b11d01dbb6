from plimsoll.acting.pods.occupancy import Need, Occupancy
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from plimsoll_placement.model import SINGLE
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_gpu_pod, a_training_job

GPU = "nvidia.com/gpu"


def gpus(node: str, count: int) -> Need:
    return Need(node, ((GPU, count),))


def cluster(*more: Manifest) -> Occupancy:
    return Occupancy(seen(fake_node("a", gpus=4), fake_node("b", gpus=4), *more))


def with_gpus(pod: Manifest, count: int, **more: object) -> Manifest:
    container = {"name": "main", "resources": {"limits": {GPU: str(count)}}}
    return {**pod, "spec": {**pod["spec"], "containers": [container], **more}}


def test_all_of_a_gang_is_promised_or_nothing() -> None:
    occupancy = cluster()
    assert not occupancy.take_all([gpus("a", 3), gpus("b", 5)])
    assert occupancy.free("a", GPU) == 4
    assert occupancy.take_all([gpus("a", 3), gpus("b", 4)])
    assert (occupancy.free("a", GPU), occupancy.free("b", GPU)) == (1, 0)


def test_what_pods_of_one_gang_take_of_a_node_is_added_up() -> None:
    assert not cluster().take_all([gpus("a", 2), gpus("a", 3)])


def test_what_is_promised_is_not_promised_again() -> None:
    occupancy = cluster()
    assert occupancy.take_all([gpus("a", 3)])
    assert not occupancy.take_all([gpus("a", 2)])
    assert occupancy.take_all([gpus("a", 1)])


def test_a_pod_that_may_have_been_made_counts_once() -> None:
    job = at(a_training_job("job"), "a")
    (pod,) = (with_gpus(each, 3) for each in pods_of(job))
    nodes = fake_node("a", gpus=4), fake_node("b", gpus=4)
    unseen, known = seen(*nodes, job), seen(*nodes, job, pod)
    doubtful = known.jobs[0].pods
    assert Occupancy(unseen, doubtful).free("a", GPU) == 1
    assert Occupancy(known, doubtful).free("a", GPU) == 1


def test_a_pod_counts_where_it_is_bound_or_else_where_it_is_sent() -> None:
    job = at(a_training_job("job", workers=2), "a", "b")
    bound, sent = (with_gpus(pod, 3) for pod in pods_of(job))
    fields = [{"key": "metadata.name", "operator": "In", "values": ["b"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    sent["spec"] |= {"nodeName": "", "affinity": affinity}
    occupancy = cluster(job, bound, sent)
    assert (occupancy.free("a", GPU), occupancy.free("b", GPU)) == (1, 1)


def test_a_pod_that_goes_before_it_is_bound_holds_nothing_whatever_keeps_it() -> None:
    job = at(a_training_job("job"), "a")
    (pod,) = (with_gpus(pod, 3) for pod in pods_of(job))
    fields = [{"key": "metadata.name", "operator": "In", "values": ["a"]}]
    terms = {"nodeSelectorTerms": [{"matchFields": fields}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    pod["spec"] |= {"nodeName": "", "affinity": affinity}
    assert cluster(job, pod).free("a", GPU) == 1
    pod["metadata"] |= {"deletionTimestamp": "2026-11-21T12:00:00Z", "finalizers": ["x.dev/kept"]}
    assert cluster(job, pod).free("a", GPU) == 4


def test_pods_that_have_ended_hold_nothing_and_those_that_are_ending_do() -> None:
    job = at(a_training_job("job", workers=2), "a", "b")
    over, ending = (with_gpus(pod, 4) for pod in pods_of(job))
    over["status"] = {"phase": "Succeeded"}
    ending["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    occupancy = cluster(job, over, ending)
    assert (occupancy.free("a", GPU), occupancy.free("b", GPU)) == (4, 0)


def test_what_pods_of_others_hold_is_not_free() -> None:
    occupancy = cluster(a_gpu_pod("other", "a", gpus=3, cpu="191"))
    assert occupancy.free("a", GPU) == 1
    assert occupancy.free("a", "cpu") == 1000
    assert occupancy.free("a", "pods") == 109


def test_on_a_node_that_is_gone_nothing_is_free() -> None:
    assert not cluster().take_all([gpus("gone", 1)])
    assert cluster().crowded([gpus("gone", 1), gpus("a", 4)]) == ["gone"]


def test_the_nodes_that_lack_something_are_named() -> None:
    occupancy = cluster()
    occupancy.take_all([gpus("a", 2)])
    assert occupancy.crowded([gpus("b", 4), gpus("a", 2), gpus("a", 1)]) == ["a"]


def test_what_a_node_has_besides_gpus_is_promised_once() -> None:
    hca, node = "rdma/hca", fake_node("a", resources={"rdma/hca": "4"})
    job = at(a_training_job("job"), "a")
    (pod,) = pods_of(job)
    pod["spec"]["containers"][0]["resources"] = {"limits": {hca: "3"}}
    other = {**a_gpu_pod("other", "a"), "spec": {**pod["spec"]}}
    assert Occupancy(seen(node, job, pod)).free("a", hca) == 1
    assert Occupancy(seen(node, other)).free("a", hca) == 1
    occupancy = Occupancy(seen(node))
    assert occupancy.take_all([Need("a", ((hca, 4),))])
    assert not occupancy.take_all([Need("a", ((hca, 1),))])


def test_of_a_port_of_a_node_there_is_one() -> None:
    port, job = f"{SINGLE}host port TCP 29500", at(a_training_job("job"), "b")
    (pod,) = pods_of(job)
    pod["spec"]["containers"][0]["ports"] = [{"containerPort": 29500, "hostPort": 29500}]
    occupancy = cluster(job, pod)
    assert (occupancy.free("a", port), occupancy.free("b", port), occupancy.free("c", port)) == (
        1,
        0,
        0,
    )
    assert not occupancy.take_all([Need("a", ((port, 1),)), Need("a", ((port, 1),))])
    assert occupancy.take_all([Need("a", ((port, 1),))])
    assert not occupancy.take_all([Need("a", ((port, 1),))])
