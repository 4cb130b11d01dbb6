"""A cluster's contents as plain JSON, and the few facts that are read from them.

None of this is the operator's code: the judge must not share its mistakes.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from plimsoll_devcluster.manifest import Manifest

GPU = "nvidia.com/gpu"
LABEL = "plimsoll.dev/"
OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True)
class World:
    """Everything in the cluster that a history is about, at one moment."""

    nodes: dict[str, Manifest]
    pods: list[Manifest]
    jobs: list[Manifest]
    services: list[Manifest]

    def within(self, namespace: str, nodes: Iterable[str]) -> "World":
        """The part in a namespace, and those of these nodes that exist."""
        return World(
            {name: self.nodes[name] for name in nodes if name in self.nodes},
            *(
                [each for each in found if each["metadata"]["namespace"] == namespace]
                for found in (self.pods, self.jobs, self.services)
            ),
        )


def name_of(thing: Manifest) -> str:
    """The name of an object."""
    return thing["metadata"]["name"]


def label(pod: Manifest, key: str) -> str:
    """One of the operator's labels, "" if a pod lacks it."""
    return pod["metadata"].get("labels", {}).get(LABEL + key, "")


def gpus_of(pod: Manifest) -> int:
    """The GPUs that a pod requests."""
    limits = (each.get("resources", {}).get("limits", {}) for each in pod["spec"]["containers"])
    return sum(int(each.get(GPU, 0)) for each in limits)


def node_of(pod: Manifest) -> str:
    """The node that a pod is bound to, otherwise the one that its affinity sends it to."""
    if bound := pod["spec"].get("nodeName"):
        return bound
    affinity = pod["spec"].get("affinity", {}).get("nodeAffinity", {})
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms = required.get("nodeSelectorTerms", [])
    fields = [field for term in terms for field in term.get("matchFields", [])]
    return next((f["values"][0] for f in fields if f["key"] == "metadata.name"), "")


def is_going(pod: Manifest) -> bool:
    """Whether it is being deleted."""
    return "deletionTimestamp" in pod["metadata"]


def is_over(pod: Manifest) -> bool:
    """Whether it has ended, and takes nothing any more."""
    return pod.get("status", {}).get("phase") in OVER


def is_ready(pod: Manifest) -> bool:
    """Whether it serves."""
    found = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in found)


def is_up(node: Manifest) -> bool:
    """Whether its kubelet reports ready."""
    found = node.get("status", {}).get("conditions", [])
    return not any(each["type"] == "Ready" and each["status"] != "True" for each in found)


def is_open(node: Manifest) -> bool:
    """Whether a node takes new pods."""
    spec = node["spec"]
    return not spec.get("unschedulable") and not spec.get("taints") and is_up(node)


def must_be_left(node: Manifest) -> bool:
    """Whether a node must be vacated because of a notice."""
    return any(each["key"].startswith("karpenter.sh/") for each in node["spec"].get("taints", []))


def free_gpus(nodes: Iterable[Manifest], pods: Iterable[Manifest]) -> dict[str, int]:
    """The GPUs of each node that no pod has."""
    free = {name_of(node): int(node["status"]["allocatable"][GPU]) for node in nodes}
    for pod in pods:
        if not is_over(pod) and node_of(pod) in free:
            free[node_of(pod)] -= gpus_of(pod)
    return free


def condition(job: Manifest, kind: str) -> str:
    """A condition of a job, "" if it lacks it."""
    found = job.get("status", {}).get("conditions", [])
    return next((each["status"] for each in found if each["type"] == kind), "")


def placements_of(job: Manifest) -> list[tuple[str, int, str, int]]:
    """Role, replica, node and revision of each pod that a job's placement wants."""
    placement: Manifest = job.get("status", {}).get("placement") or {}
    places: list[Manifest] = placement.get("assignments", [])
    return sorted(
        (place["role"], int(place["replica"]), str(node), int(place["revision"]))
        for place in places
        for node in place["nodes"]
    )


def companions_of(job: Manifest) -> int:
    """How many pods without GPUs a gang has beside its workers."""
    return len(job["spec"].get("roles", ())) if job["kind"] == "TrainingJob" else 0


def gang_of(job: Manifest) -> tuple[int, int]:
    """How many pods with GPUs a job needs together, and the GPUs of each; a service needs one."""
    spec = job["spec"]
    if "workers" in spec:
        return spec["workers"]["min"], int(spec["workers"].get("gpusPerWorker", 1))
    return 1, int(spec["roles"][0]["gpusPerReplica"])
