"""The manifest of a job's pod: the user's template with a node, GPUs, names and environment.

A pod depends on its job, its place and nothing else, so building it twice gives the same pod.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from plimsoll.api.definition import API_VERSION
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import Job
from plimsoll.api.parts.batch import PlacedBatch
from plimsoll.api.parts.roles import DEFAULT_DRAIN
from plimsoll.api.templates.pod_template import PodTemplate
from plimsoll.api.training_job import TrainingJob, TrainingPlacement
from plimsoll.observe.eligibility.placement_spec import GPU_TOLERATIONS
from plimsoll.observe.labels import (
    COMPLETION_INDEX,
    GPU_MEMORY,
    JOB_KIND,
    JOB_NAME,
    JOB_UID,
    RANK,
    REPLICA,
    REVISION,
    ROLE,
    SERVING,
    TEMPLATE_HASH,
)
from plimsoll.observe.template_hash import template_hash
from plimsoll.planning.cluster.pod_requests import WORKER

CONSUMES = "autoscaling.x-k8s.io/consume-provisioning-request"
"""No node is made for a pod with this: one was by a request, which need not be there any more."""
PROVISIONING_CLASS = "autoscaling.x-k8s.io/provisioning-class-name"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
MASTER_PORT = 29500
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
STOP_SECONDS = 30
"""Kubernetes' default grace period, which a pod gets in addition to the time that a save takes."""

Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """One pod's place: its role, its replica and rank within it, its node and its GPUs there.

    `autoscaled`: the pool and the provisioning class of a node that cluster-autoscaler makes.
    `consolidated`: Karpenter moves pods off its node to save nodes.
    """

    role: str
    replica: int
    rank: int
    revision: int
    node: str
    gpu_resource: str
    gpu_units: int
    autoscaled: tuple[str, str] | None = None
    consolidated: bool = False


@dataclass(frozen=True, slots=True)
class Gang:
    """What the pods of a training job share: how many of each role, and the batch, if any."""

    counts: Mapping[str, int]
    batch: PlacedBatch | None = None

    @property
    def workers(self) -> int:
        """The number of workers."""
        return self.counts.get(WORKER, 0)

    @property
    def is_alone(self) -> bool:
        """Whether a single pod is all there is, which need find no other."""
        return sum(self.counts.values()) <= 1


def gang_of(placement: TrainingPlacement) -> Gang:
    """The gang of a placement."""
    counts = Counter(each.role for each in placement.assignments)
    return Gang(dict(sorted(counts.items())), placement.batch)


NO_GANG = Gang({})
"""The gang of an inference job's replicas: none."""


def pod_name(job: Job, role: str, replica: int, rank: int) -> str:
    """The pod's name: `job-role-replica`, with the rank where a replica has several pods."""
    name = f"{job.metadata.name}-{role}-{replica}"
    return f"{name}-{rank}" if pods_per_replica(job, role) > 1 else name


def pods_per_replica(job: Job, role: str) -> int:
    """The number of pods in a replica of the role."""
    if isinstance(job, TrainingJob):
        return 1
    return next((r.pods_per_replica for r in job.spec.roles if r.name == role), 1)


def template_of(job: Job, role: str) -> PodTemplate:
    """The template of a role; KeyError if the job has no such role."""
    if isinstance(job, TrainingJob) and role == WORKER:
        return job.spec.workers.template
    for each in job.spec.roles:
        if each.name == role:
            return each.template
    raise KeyError(role)


def milli_gpus(job: Job, role: str) -> int:
    """The GPUs of each pod of a role, in thousandths; KeyError if the job has no such role."""
    return job.spec.milli_gpus_by_role[role]


def shared_weights(job: Job, role: str) -> int:
    """The bytes that a pod of a role always holds of a GPU that it shares, as far as is known."""
    if isinstance(job, TrainingJob):
        return 0
    return next((each.shared_weights_bytes for each in job.spec.roles if each.name == role), 0)


def drain_of(job: InferenceJob, role: str) -> timedelta:
    """How long a replica of a role drains; the default for a role that no longer exists."""
    found = (each.drain for each in job.spec.roles if each.name == role)
    return next(found, DEFAULT_DRAIN)


def pod_manifest(job: Job, placement: PodPlacement, gang: Gang = NO_GANG) -> Manifest:
    """The pod for a place; for a training job, within its gang."""
    template = template_of(job, placement.role)
    metadata: Manifest = {**template.metadata.wire()}
    name = pod_name(job, placement.role, placement.replica, placement.rank)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "name": name,
            "namespace": job.metadata.namespace,
            "labels": {**metadata.get("labels", {}), **_labels(job, placement)},
            **_annotations(job, placement, metadata),
            "ownerReferences": [owner(job)],
        },
        "spec": _spec(job, placement, name, template, gang),
    }


def owner(job: Job) -> Manifest:
    """The owner reference by which Kubernetes deletes what a job leaves behind."""
    return {
        "apiVersion": API_VERSION,
        "kind": job.kind,
        "name": job.metadata.name,
        "uid": job.metadata.uid,
        "controller": True,
    }


def selector(job: Job, role: str | None = None) -> str:
    """The label selector of a job's pods, or of one role's."""
    text = f"{JOB_NAME}={job.metadata.name},{JOB_KIND}={job.kind}"
    return f"{text},{ROLE}={role}" if role else text


def service_manifest(job: TrainingJob) -> Manifest:
    """The headless Service through which the workers find each other by name, ready or not."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": job.metadata.name,
            "namespace": job.metadata.namespace,
            "labels": {JOB_NAME: job.metadata.name, JOB_KIND: job.kind},
            "ownerReferences": [owner(job)],
        },
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {JOB_UID: job.metadata.uid},
            "ports": [{"name": "rendezvous", "port": MASTER_PORT}],
        },
    }


def _labels(job: Job, placement: PodPlacement) -> dict[str, str]:
    weights = shared_weights(job, placement.role)
    return {
        **({GPU_MEMORY: str(weights)} if weights else {}),
        JOB_NAME: job.metadata.name,
        JOB_KIND: job.kind,
        JOB_UID: job.metadata.uid,
        ROLE: placement.role,
        REPLICA: str(placement.replica),
        RANK: str(placement.rank),
        REVISION: str(placement.revision),
        TEMPLATE_HASH: template_hash(
            template_of(job, placement.role), milli_gpus(job, placement.role)
        ),
        COMPLETION_INDEX: str(placement.replica),
    }


def _annotations(job: Job, placement: PodPlacement, template: Manifest) -> Manifest:
    """The user's annotations, and what keeps node autoscalers from acting on the pod."""
    trains, ours = isinstance(job, TrainingJob), dict[str, str]()
    if placement.autoscaled is not None:
        ours[CONSUMES], ours[PROVISIONING_CLASS] = placement.autoscaled
        if trains:
            ours[SAFE_TO_EVICT] = "false"
    if placement.consolidated and trains:
        ours[DO_NOT_DISRUPT] = "true"
    return {"annotations": {**ours, **template.get("annotations", {})}} if ours else {}


def _spec(
    job: Job, placement: PodPlacement, name: str, template: PodTemplate, gang: Gang
) -> Manifest:
    spec: Manifest = {**template.spec.wire()}
    first, *others = spec["containers"]
    spec["containers"] = [_with_gpus(first, placement), *others]
    env = _environment(job, placement, gang)
    spec["containers"] = [_with_environment(each, env) for each in spec["containers"]]
    spec["affinity"] = pinned_affinity(spec.get("affinity") or {}, placement.node)
    if placement.gpu_units:
        spec["tolerations"] = [*spec.get("tolerations", ()), *GPU_TOLERATIONS]
    spec.setdefault("restartPolicy", "Never" if isinstance(job, TrainingJob) else "Always")
    if job.spec.priority_class_name:
        spec["priorityClassName"] = job.spec.priority_class_name
    if isinstance(job, InferenceJob) and drain_of(job, placement.role):
        spec["readinessGates"] = [*spec.get("readinessGates", ()), {"conditionType": SERVING}]
    if isinstance(job, TrainingJob):
        grace = job.spec.checkpoint.save_seconds + STOP_SECONDS
        requested = spec.get("terminationGracePeriodSeconds") or 0
        spec["terminationGracePeriodSeconds"] = max(grace, requested)
        if not gang.is_alone:
            spec |= {"hostname": name, "subdomain": job.metadata.name}
    return spec


def _with_gpus(container: Manifest, placement: PodPlacement) -> Manifest:
    if not placement.gpu_units:
        return container
    resources = {**container.get("resources", {})}
    resources["limits"] = {
        **resources.get("limits", {}),
        placement.gpu_resource: placement.gpu_units,
    }
    return {**container, "resources": resources}


def _with_environment(container: Manifest, env: Mapping[str, str]) -> Manifest:
    """The container with our variables first, so that the user's own may override them."""
    own = container.get("env", [])
    named = {each.get("name") for each in own}
    ours = [{"name": key, "value": value} for key, value in env.items() if key not in named]
    return {**container, "env": [*ours, *own]}


def _environment(job: Job, placement: PodPlacement, gang: Gang) -> dict[str, str]:
    plain = {
        "PLIMSOLL_JOB": job.metadata.name,
        "PLIMSOLL_ROLE": placement.role,
        "PLIMSOLL_REPLICA": str(placement.replica),
        "PLIMSOLL_REVISION": str(placement.revision),
    }
    if isinstance(job, InferenceJob):
        return {**plain, "PLIMSOLL_RANK": str(placement.rank)}
    location = job.spec.checkpoint.location
    if location:
        plain["PLIMSOLL_CHECKPOINT_LOCATION"] = location
    if job.spec.roles:
        plain |= {_count_variable(role): str(count) for role, count in gang.counts.items()}
    if placement.role != WORKER:
        return {**plain, **_address(job, gang)}
    return {**plain, **_batch(gang), **_address(job, gang), **_rendezvous(job, placement, gang)}


def _count_variable(role: str) -> str:
    """The variable that says how many pods of a role there are: PLIMSOLL_COUNT_DATA_LOADER."""
    return f"PLIMSOLL_COUNT_{role.upper().replace('-', '_')}"


def _batch(gang: Gang) -> dict[str, str]:
    if gang.batch is None:
        return {}
    return {
        "PLIMSOLL_GLOBAL_BATCH": str(gang.batch.size),
        "PLIMSOLL_LOCAL_BATCH": str(gang.batch.local),
        "PLIMSOLL_ACCUMULATION": str(gang.batch.accumulation),
    }


def _address(job: TrainingJob, gang: Gang) -> dict[str, str]:
    """The variables by which everybody finds the first worker."""
    first = f"{pod_name(job, WORKER, 0, 0)}.{job.metadata.name}"
    address = "localhost" if gang.is_alone else first
    return {"MASTER_ADDR": address, "MASTER_PORT": str(MASTER_PORT)}


def _rendezvous(job: TrainingJob, placement: PodPlacement, gang: Gang) -> dict[str, str]:
    """The variables that torch.distributed and torchrun read (PET_* are torchrun's own options)."""
    at, workers, rank = _address(job, gang), str(gang.workers), str(placement.replica)
    per_worker = max(1, job.spec.workers.milli_gpus_per_worker // 1000)
    return {
        "WORLD_SIZE": workers,
        "RANK": rank,
        "NODE_RANK": rank,
        "PET_MASTER_ADDR": at["MASTER_ADDR"],
        "PET_MASTER_PORT": at["MASTER_PORT"],
        "PET_NNODES": workers,
        "PET_NODE_RANK": rank,
        "PET_NPROC_PER_NODE": str(per_worker),
    }


def pinned_affinity(affinity: Manifest, node: str) -> Manifest:
    """The affinity with every alternative narrowed to one node."""
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    by_node: Manifest = affinity.get("nodeAffinity", {})
    required: Manifest = by_node.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: list[Manifest] = required.get("nodeSelectorTerms") or [{}]
    narrowed = [{**term, "matchFields": [*term.get("matchFields", []), here]} for term in terms]
    return {
        **affinity,
        "nodeAffinity": {
            **by_node,
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": narrowed},
        },
    }
