"""What admission rules add to pods of jobs is not to be had for other jobs."""

from plimsoll.api.inference_job import InferenceJob
from plimsoll.observe.snapshot import Snapshot
from plimsoll.planning.cluster.overhead import Overhead, Overheads
from plimsoll.planning.problem.builder import ProblemBuilder
from plimsoll_devcluster.fake_nodes import fake_node
from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import at, pods_of, seen
from support.objects.job_manifests import a_template, a_training_job, an_inference_job

GIB = 2**30
TEMPLATE = a_template({"cpu": "1", "memory": "1Gi"})
SIDECAR = {"name": "mesh", "resources": {"requests": {"cpu": "500m", "memory": "2Gi"}}}


def a_pod(job: Manifest, *added: Manifest, bound: bool = True) -> Manifest:
    """The first pod of a placed job, with containers that somebody added."""
    pod = pods_of(job)[0]
    own = {"name": "main", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    pod["spec"]["containers"] = [own, *added]
    if not bound:
        del pod["spec"]["nodeName"]
    return pod


JOB = at(a_training_job("train", template=TEMPLATE), "n-0")
SERVICE = at(an_inference_job("serve", template=TEMPLATE), "n-0")


def overheads(snapshot: Snapshot) -> dict[str, Overhead]:
    return dict(Overheads().of(snapshot.jobs))


def test_what_templates_say_is_no_overhead() -> None:
    assert overheads(seen(fake_node("n-0"), JOB, a_pod(JOB))) == {}


def test_what_was_added_to_pods_of_a_node_is_summed_up() -> None:
    snapshot = seen(JOB, a_pod(JOB, SIDECAR), SERVICE, a_pod(SERVICE, SIDECAR))
    assert overheads(snapshot) == {"n-0": Overhead(1000, 4 * GIB)}


def test_a_pod_that_is_not_bound_or_has_ended_takes_nothing() -> None:
    ended = a_pod(JOB, SIDECAR)
    ended["status"] = {"phase": "Succeeded"}
    for pod in (a_pod(JOB, SIDECAR, bound=False), ended):
        assert overheads(seen(JOB, pod)) == {}


def test_a_pod_that_takes_less_than_its_template_leaves_nothing_to_others() -> None:
    pod = a_pod(JOB)
    pod["spec"]["containers"] = [{"name": "main"}]
    assert overheads(seen(JOB, pod)) == {}


def test_a_role_that_is_no_more_is_not_compared() -> None:
    pod = a_pod(SERVICE, SIDECAR)
    pod["metadata"]["labels"]["plimsoll.dev/role"] = "former"
    snapshot = seen(SERVICE, pod)
    assert isinstance(snapshot.jobs[0].resource, InferenceJob)
    assert overheads(snapshot) == {}


def test_plans_have_what_is_left_and_know_that_it_may_come_back() -> None:
    plain = seen(fake_node("n-0", cpu="8"), JOB, a_pod(JOB))
    grown = seen(fake_node("n-0", cpu="8"), JOB, a_pod(JOB, SIDECAR))
    translator = ProblemBuilder()
    before = translator.cluster(plain)
    after = translator.cluster(grown)
    assert before.nodes[0].cpu_millis - after.nodes[0].cpu_millis == 500
    assert before.nodes[0].memory_bytes - after.nodes[0].memory_bytes == 2 * GIB
    assert before.later is None
    assert after.later is not None
    assert after.later.nodes == before.nodes
    assert translator.cluster(plain).nodes == before.nodes


def test_devices_and_storage_that_were_added_are_not_to_be_had_either() -> None:
    devices = {"name": "net", "resources": {"limits": {"rdma/hca": "1", "nvidia.com/gpu": "1"}}}
    pod = a_pod(JOB, devices)
    pod["spec"]["containers"][0]["resources"]["limits"] = {"ephemeral-storage": "60Gi"}
    found = (("ephemeral-storage", 60 * GIB), ("rdma/hca", 1))
    assert overheads(seen(JOB, pod)) == {"n-0": Overhead(0, 0, found)}
    node = fake_node("n-0", resources={"ephemeral-storage": "100Gi", "rdma/hca": "1"})
    (planned,) = ProblemBuilder().cluster(seen(node, JOB, pod)).nodes
    assert planned.others == (("ephemeral-storage", 40 * GIB), ("rdma/hca", 0))
