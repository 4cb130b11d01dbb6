"""The gangs and jobs as Kueue gets them, and its queues."""

from plimsoll_bench.beside.course import GANG
from plimsoll_bench.beside.gangs import NODE_GPUS, Gang
from plimsoll_devcluster.api_server import ApiServer
from plimsoll_devcluster.fake_nodes import RACK
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest

BATCH_JOBS = "/apis/batch/v1/namespaces/default/jobs"
QUEUES = "/apis/kueue.x-k8s.io/v1beta2"
WORKLOADS = f"{QUEUES}/namespaces/default/workloads"
BY_QUOTA, PACKED = "by-quota", "packed"
"""The queues: one that counts GPUs, and one that also finds nodes for a gang's pods, packed."""
_CPUS_A_NODE = 192


def apply_queues(api: ApiServer, nodes: int) -> None:
    """Have both queues, each with all GPUs."""
    levels = [{"nodeLabel": RACK}, {"nodeLabel": "kubernetes.io/hostname"}]
    api.apply(f"{QUEUES}/topologies/racks", _named("Topology", "racks", levels=levels))
    for name in (BY_QUOTA, PACKED):
        spec: Manifest = {"nodeLabels": {"nvidia.com/gpu.product": H100}}
        if name == PACKED:
            spec["topologyName"] = "racks"
        api.apply(f"{QUEUES}/resourceflavors/{name}", _named("ResourceFlavor", name, **spec))
        quotas = [
            {"name": "cpu", "nominalQuota": str(nodes * _CPUS_A_NODE)},
            {"name": "nvidia.com/gpu", "nominalQuota": str(nodes * NODE_GPUS)},
        ]
        group = {
            "coveredResources": [quota["name"] for quota in quotas],
            "flavors": [{"name": name, "resources": quotas}],
        }
        queue = _named("ClusterQueue", name, namespaceSelector={}, resourceGroups=[group])
        api.apply(f"{QUEUES}/clusterqueues/{name}", queue)
        local = _named("LocalQueue", name, clusterQueue=name)
        api.apply(f"{QUEUES}/namespaces/default/localqueues/{name}", local)


def batch_job(gang: Gang, queue: str) -> Manifest:
    """A gang as a suspended Job; through the packing queue it would rather be within a rack."""
    notes = {"kueue.x-k8s.io/podset-preferred-topology": RACK} if queue == PACKED else {}
    resources = {"requests": {"cpu": "1"}, "limits": {"nvidia.com/gpu": gang.gpus_per_worker}}
    container = {"name": "main", "image": "train", "resources": resources}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": gang.name, "labels": {"kueue.x-k8s.io/queue-name": queue}},
        "spec": {
            "suspend": True,
            "parallelism": gang.workers,
            "completions": gang.workers,
            "completionMode": "Indexed",
            "template": {
                "metadata": {"labels": {GANG: gang.name}, "annotations": notes},
                "spec": {"containers": [container], "restartPolicy": "Never"},
            },
        },
    }


def refusal(api: ApiServer, job: str) -> str:
    """Why Kueue has not admitted a Job; empty while it has not said."""
    uid = api.get(f"{BATCH_JOBS}/{job}")["metadata"]["uid"]
    for workload in api.items(f"{WORKLOADS}?labelSelector=kueue.x-k8s.io/job-uid={uid}"):
        for each in workload.get("status", {}).get("conditions", []):
            if each["type"] == "QuotaReserved" and each["status"] == "False":
                return each["message"]
    return ""


def _named(kind: str, name: str, **spec: object) -> Manifest:
    head = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": name}}
    return {**head, "spec": spec}
