"""A snapshot of what manifests describe, as the observer would make it from the API server's."""

import copy
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from plimsoll.api.definition import API_VERSION
from plimsoll.api.inference_job import InferenceJob
from plimsoll.api.kinds import KIND_BY_NAME
from plimsoll.api.resource import Resource
from plimsoll.kube.objects.node_claim import NodeClaim
from plimsoll.kube.objects.objects import (
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    Pod,
    PodDisruptionBudget,
    PriorityClass,
)
from plimsoll.kube.objects.provisioning_request import ProvisioningRequest
from plimsoll.kube.objects.workload_parts import WorkloadObject
from plimsoll.kube.watching.workloads import Reading, Reference, Scale, Workload
from plimsoll.observe.adoption.kinds.table import ADAPTERS
from plimsoll.observe.labels import TEMPLATE_HASH
from plimsoll.observe.measured.demand import BucketDemand, JobDemand, RoleDemand
from plimsoll.observe.measured.energy import EnergyReading
from plimsoll.observe.measured.gpu_faults import GpuFault
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.measured.prices import NO_PRICES, NodePrices
from plimsoll.observe.measured.reports import WorkerReport
from plimsoll.observe.observer import Objects, Observer
from plimsoll.observe.snapshot import Snapshot
from plimsoll.observe.template_hash import template_hash
from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.manifest import Manifest

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NAMESPACE = "team"
_KUBE: Mapping[str, type[KubeObject]] = {
    **{each.kind: each.type for each in ADAPTERS},
    "Namespace": Namespace,
    "Node": Node,
    "NodeClaim": NodeClaim,
    "PersistentVolume": PersistentVolume,
    "Pod": Pod,
    "PriorityClass": PriorityClass,
    "PodDisruptionBudget": PodDisruptionBudget,
    "ProvisioningRequest": ProvisioningRequest,
}
_EVERYWHERE = {
    "Namespace",
    "Node",
    "NodeClaim",
    "PersistentVolume",
    "PriorityClass",
    "GPUPool",
    "PowerDomain",
    "JobQueue",
    "PlacementPolicy",
}


def objects_of(  # noqa: PLR0913 - each is a kind of thing that can be seen
    *manifests: Manifest,
    reports: Iterable[WorkerReport] = (),
    gpu_faults: Iterable[GpuFault] = (),
    demands: Iterable[JobDemand] = (),
    targets: Iterable[Reading] = (),
    power: PowerReading | None = None,
    energy: EnergyReading | None = None,
    prices: NodePrices = NO_PRICES,
) -> Objects:
    """The objects, with what the API server adds to them, and what workers said."""
    numbers = itertools.count(1)
    found = [_stored(copy.deepcopy(manifest), next(numbers)) for manifest in manifests]
    return Objects(
        nodes=[each for each in found if isinstance(each, Node)],
        pods=[each for each in found if isinstance(each, Pod)],
        resources=[each for each in found if isinstance(each, Resource)],
        priority_classes=[each for each in found if isinstance(each, PriorityClass)],
        budgets=[each for each in found if isinstance(each, PodDisruptionBudget)],
        namespaces=[each for each in found if isinstance(each, Namespace)],
        volumes=[each for each in found if isinstance(each, PersistentVolume)],
        reports=tuple(reports),
        gpu_faults=tuple(gpu_faults),
        demands=tuple(demands),
        targets=tuple(targets),
        power=power,
        energy=energy,
        workloads=[each for each in found if isinstance(each, WorkloadObject)],
        node_claims=[each for each in found if isinstance(each, NodeClaim)],
        prices=prices,
        provisioning_requests=[each for each in found if isinstance(each, ProvisioningRequest)],
    )


def seen(  # noqa: PLR0913 - each is a kind of thing that can be seen
    *manifests: Manifest,
    now: datetime = NOW,
    reports: Iterable[WorkerReport] = (),
    gpu_faults: Iterable[GpuFault] = (),
    demands: Iterable[JobDemand] = (),
    targets: Iterable[Reading] = (),
    power: PowerReading | None = None,
    energy: EnergyReading | None = None,
    prices: NodePrices = NO_PRICES,
) -> Snapshot:
    """The snapshot of a cluster in which there is just this."""
    objects = objects_of(
        *manifests,
        reports=reports,
        gpu_faults=gpu_faults,
        demands=demands,
        targets=targets,
        power=power,
        energy=energy,
        prices=prices,
    )
    return Observer().snapshot(objects, now)


def a_report(pod: Manifest, *, at: datetime = NOW, **said: Any) -> WorkerReport:  # noqa: ANN401
    """What the worker in a pod says, a moment ago."""
    labels = pod["metadata"]["labels"]
    name = pod["metadata"]["name"]
    return WorkerReport(
        pod=name,
        pod_uid=f"uid-Pod-{name}",
        job_uid=labels["plimsoll.dev/job-uid"],
        replica=int(labels["plimsoll.dev/replica"]),
        revision=int(labels["plimsoll.dev/revision"]),
        at=at,
        **said,
    )


def a_demand(job: str, *, load: float = 0, **facts: Any) -> JobDemand:  # noqa: ANN401
    """What is known of the load of a service's role `server`: steady, unless told otherwise."""
    roles = (RoleDemand("server", (BucketDemand(load, load, load, load, load),)),)
    known = JobDemand(f"uid-InferenceJob-{job}", NOW, roles)
    return replace(known, **facts)


def a_reading(workload: Manifest, *, problem: str = "", version: int = 1) -> Reading:
    """What is read of a workload."""
    meta, spec = workload["metadata"], workload["spec"]
    reference = Reference(NAMESPACE, workload["apiVersion"], workload["kind"], meta["name"])
    selector = ",".join(f"{k}={v}" for k, v in spec["selector"]["matchLabels"].items())
    scale = {
        "metadata": {"name": meta["name"], "resourceVersion": str(version)},
        "spec": {"replicas": spec["replicas"]},
        "status": {"selector": selector},
    }
    identity = {"uid": f"uid-{workload['kind']}-{meta['name']}", **meta}
    whole = msgspec.convert({"metadata": identity, "spec": spec}, Workload)
    return Reading(reference, msgspec.convert(scale, Scale), whole, problem)


def serving(job: Manifest, **loads: float) -> Manifest:
    """The job with a status in which so much is wanted of its roles."""
    since = (NOW - timedelta(hours=1)).isoformat()
    roles = [
        {"name": name, "loads": [{"bucket": "any", "wanted": str(load), "since": since}]}
        for name, load in loads.items()
    ]
    return {**job, "status": {**job.get("status", {}), "roles": roles}}


def _stored(manifest: Manifest, number: int) -> KubeObject | Resource:
    kind = manifest["kind"]
    defaults = {
        "uid": f"uid-{kind}-{manifest['metadata']['name']}",
        "namespace": "" if kind in _EVERYWHERE else NAMESPACE,
        "resourceVersion": str(number),
        "generation": 1,
        "creationTimestamp": (NOW - timedelta(hours=1) + timedelta(seconds=number)).isoformat(),
    }
    manifest["metadata"] = {**defaults, **manifest["metadata"]}
    if kind in _KUBE:
        return msgspec.convert(manifest, _KUBE[kind])
    return KIND_BY_NAME[kind].model_validate(manifest)


def at(job: Manifest, *nodes: str, gpu_type: str = H100, **status: Any) -> Manifest:  # noqa: ANN401
    """The job with a place on these nodes, one replica of one pod on each.

    It was admitted with what its spec names; a test says so itself where that is a PriorityClass.
    """
    role = "worker" if job["kind"] == "TrainingJob" else job["spec"]["roles"][0]["name"]
    common = {"role": role, "acceleratorType": gpu_type, "pool": "", "revision": 1}
    places = [{**common, "replica": replica, "nodes": [node]} for replica, node in enumerate(nodes)]
    placement: Manifest = {"revision": 1, "assignments": places}
    if job["kind"] == "TrainingJob":
        placement |= {"acceleratorType": gpu_type, "pool": "", "workers": len(nodes)}
    if "priorityClassName" not in job["spec"]:
        status = {"admission": an_admission(job["spec"].get("queue", "default")), **status}
    return {**job, "status": {"placement": placement, "revision": 1, **status}}


def an_admission(queue: str = "default", named: str | None = None, priority: int = 0) -> Manifest:
    """What a status says that its job was admitted with."""
    of_class = {} if named is None else {"priorityClassName": named}
    return {"queue": queue, **of_class, "priority": priority}


def pods_of(job: Manifest, *, phase: str = "Running") -> list[Manifest]:
    """The pods that a placed job has, bound where its placement says."""
    name, kind = job["metadata"]["name"], job["kind"]
    spec = job["spec"]
    uid = f"uid-{kind}-{name}"
    owner = {"apiVersion": API_VERSION, "kind": kind, "name": name, "uid": uid, "controller": True}
    template = (
        spec["workers"]["template"] if kind == "TrainingJob" else spec["roles"][0]["template"]
    )
    labels = {
        **template["metadata"]["labels"],
        **({} if kind == "TrainingJob" else {TEMPLATE_HASH: _hash_of(job)}),
        "plimsoll.dev/job-name": name,
        "plimsoll.dev/job-kind": kind,
        "plimsoll.dev/job-uid": uid,
    }
    return [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-{place['role']}-{place['replica']}",
                "labels": {
                    **labels,
                    "plimsoll.dev/role": place["role"],
                    "plimsoll.dev/replica": str(place["replica"]),
                    "plimsoll.dev/rank": "0",
                    "plimsoll.dev/revision": str(place["revision"]),
                },
                "ownerReferences": [owner],
            },
            "spec": {"nodeName": place["nodes"][0], "containers": [{"name": "main"}]},
            "status": {
                "phase": phase,
                "conditions": [{"type": "Ready", "status": "True"}] if phase == "Running" else [],
            },
        }
        for place in job["status"]["placement"]["assignments"]
    ]


def _hash_of(service: Manifest) -> str:
    """What the label of a service's pods says of their template."""
    role = InferenceJob.model_validate(service).spec.roles[0]
    return template_hash(role.template, role.milli_gpus_per_pod)


def with_pods(jobs: Iterable[Manifest]) -> list[Manifest]:
    """Placed jobs and all their pods."""
    return [each for job in jobs for each in (job, *pods_of(job))]
