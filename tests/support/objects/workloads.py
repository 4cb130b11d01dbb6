"""Objects of other workload kinds."""

import copy
from collections.abc import Iterator, Mapping
from typing import Any

from plimsoll.observe.adoption.kinds.table import ADAPTERS
from plimsoll_devcluster.manifest import Manifest
from support.objects.batch_jobs import GATE, QUEUE, a_batch_job

REPLICA_SPECS: Mapping[str, str] = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
}
"""Where the jobs of Kubeflow's training-operator have their pods' templates, by kind."""

COLLECTIONS = {
    each.kind: f"/apis/{each.api_version}/namespaces/{{}}/{each.resource.plural}"
    for each in ADAPTERS
}
"""Where they are in a namespace."""
_ROLES: dict[str, tuple[str, ...]] = {
    "PyTorchJob": ("Master", "Worker"),
    "TFJob": ("PS", "Worker"),
    "MPIJob": ("Launcher", "Worker"),
    "JAXJob": ("Worker",),
    "XGBoostJob": ("Master", "Worker"),
    "PaddleJob": ("Master", "Worker"),
}
KINDS = ("JobSet", "TrainJob", "RayCluster", "RayJob", "AppWrapper", *REPLICA_SPECS)
"""All kinds but Job."""


def a_jobset(
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a JobSet's spec
) -> Manifest:
    """A JobSet of one Job of so many workers."""
    job = {
        "parallelism": workers,
        "completions": workers,
        "backoffLimit": 0,
        "template": {"spec": {**_pod("main", gpus), **(pod or {})}},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name},
        "spec": {
            "replicatedJobs": [{"name": "workers", "replicas": 1, "template": {"spec": job}}],
            **spec,
        },
    }


def a_torch_jobset(name: str = "pytorch", *, workers: int = 4) -> Manifest:
    """A JobSet that trains with torchrun, as JobSet's documentation shows: it asks for no GPUs."""
    rank = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    main = {
        "name": "pytorch",
        "image": "registry.example/train:1",
        "command": ["torchrun", f"--nnodes={workers}", "--node_rank=$(RANK)", "train.py"],
        "ports": [{"containerPort": 3389}],
        "env": [
            {"name": "MASTER_ADDR", "value": f"{name}-workers-0-0.{name}"},
            {"name": "MASTER_PORT", "value": "3389"},
            {"name": "RANK", "valueFrom": {"fieldRef": {"fieldPath": rank}}},
        ],
    }
    jobset = a_jobset(name, workers=workers)
    (replicated,) = jobset["spec"]["replicatedJobs"]
    replicated["template"]["spec"]["template"]["spec"] = {"containers": [main]}
    return jobset


def a_pytorch_job(
    name: str = "train",
    *,
    workers: int = 1,
    gpus: int = 1,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a PyTorchJob's spec
) -> Manifest:
    """A PyTorchJob of a master and so many workers."""
    replicas = {
        role: {
            "replicas": count,
            "restartPolicy": "Never",
            "template": {"spec": {**_pod("pytorch", gpus), **(pod or {})}},
        }
        for role, count in (("Master", 1), ("Worker", workers))
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": name},
        "spec": {"pytorchReplicaSpecs": replicas, **spec},
    }


def a_train_job(
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    **spec: Any,  # noqa: ANN401 - fields of a TrainJob's spec
) -> Manifest:
    """A TrainJob of so many nodes, on the runtime that Kubeflow Trainer brings for PyTorch."""
    asks = {"limits": {"nvidia.com/gpu": gpus}}
    trainer = {
        "numNodes": workers,
        "image": "registry.example/train:1",
        "resourcesPerNode": asks,
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer, **spec},
    }


def a_ray_cluster(
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a RayCluster's spec
) -> Manifest:
    """A RayCluster of a head without GPUs and one group of so many workers."""
    head = {"containers": [{"name": "ray-head", "image": "registry.example/ray:1"}]}
    group = {
        "groupName": "gpu",
        "replicas": workers,
        "rayStartParams": {},
        "template": {"spec": {**_pod("ray-worker", gpus), **(pod or {})}},
    }
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name},
        "spec": {
            "headGroupSpec": {"rayStartParams": {}, "template": {"spec": head}},
            "workerGroupSpecs": [group],
            **spec,
        },
    }


def a_ray_job(
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a RayJob's spec
) -> Manifest:
    """A RayJob on a cluster of a head without GPUs and one group of so many workers."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": {"name": name},
        "spec": {
            "entrypoint": "python train.py",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": a_ray_cluster(workers=workers, gpus=gpus, pod=pod)["spec"],
            **spec,
        },
    }


def replicated(
    name: str,
    *,
    workers: int = 1,
    gpus: int = 0,
    pod: Manifest | None = None,
    **fields: Any,  # noqa: ANN401 - fields of a replicated Job
) -> Manifest:
    """Replicated Jobs of a JobSet, one unless told otherwise, of so many workers."""
    template = {"spec": {**_pod(name, gpus), **(pod or {})}}
    job = {"parallelism": workers, "completions": workers, "template": template}
    return {"name": name, "replicas": 1, "template": {"spec": job}, **fields}


def a_kubeflow_job(
    kind: str = "PyTorchJob",
    /,
    **roles: tuple[int, int],
) -> Manifest:
    """A job of training-operator: of each replica type how many pods, and how many GPUs of each."""
    replicas = {
        role: {
            "replicas": count,
            "restartPolicy": "Never",
            "template": {"spec": _pod("main", gpus)},
        }
        for role, (count, gpus) in roles.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": "train"},
        "spec": {REPLICA_SPECS[kind]: replicas},
    }


def an_app_wrapper(
    name: str = "train",
    *wrapped: Manifest,
    workers: int = 2,
    gpus: int = 1,
    **spec: Any,  # noqa: ANN401 - fields of an AppWrapper's spec
) -> Manifest:
    """An AppWrapper of these, or else of an indexed Job of so many workers, which is tried once."""
    job = a_batch_job(name, workers=workers, gpus=gpus, queue=None, held=False, backoffLimit=0)
    return {
        "apiVersion": "workload.codeflare.dev/v1beta2",
        "kind": "AppWrapper",
        "metadata": {
            "name": name,
            "annotations": {"workload.codeflare.dev.appwrapper/retryLimit": "0"},
        },
        "spec": {"components": [{"template": each} for each in wrapped or (job,)], **spec},
    }


def a_workload_of(kind: str, *, gpus: int = 1) -> Manifest:
    """A workload of a kind, of which only the last pods ask for GPUs."""
    if kind == "JobSet":
        return a_jobset(replicatedJobs=[replicated("driver"), replicated("workers", gpus=gpus)])
    if kind == "TrainJob":
        return a_train_job(gpus=gpus)
    if kind == "RayCluster":
        return a_ray_cluster(gpus=gpus)
    if kind == "RayJob":
        return a_ray_job(gpus=gpus)
    if kind == "AppWrapper":
        return an_app_wrapper(gpus=gpus)
    *first, last = _ROLES[kind]
    job = a_kubeflow_job(kind, **dict.fromkeys(first, (1, 0)), **{last: (1, gpus)})
    for each in templates(job):
        each["containers"][0]["name"] = _own_container(kind)
    return job


def asking(
    workload: Manifest, said: Mapping[str, str] | None = None, *, queue: str = "default"
) -> Manifest:
    """The workload as it asks to be planned, with annotations."""
    workload = copy.deepcopy(workload)
    meta = workload["metadata"]
    meta["labels"] = {**meta.get("labels", {}), QUEUE: queue}
    more = {f"plimsoll.dev/{key}": value for key, value in (said or {}).items()}
    meta["annotations"] = {**meta.get("annotations", {}), **more}
    return workload


def suspended(workload: Manifest, *, suspend: bool = True) -> Manifest:
    """The workload, suspended or resumed."""
    workload = copy.deepcopy(workload)
    spec = workload["spec"]
    spec = spec.setdefault("runPolicy", {}) if workload["kind"] in REPLICA_SPECS else spec
    spec["suspend"] = suspend
    return workload


def held(workload: Manifest) -> Manifest:
    """The workload, suspended, with all its pods with GPUs behind our gate."""
    workload = suspended(workload)
    if workload["kind"] == "TrainJob":
        workload["spec"]["runtimePatches"] = [{"manager": GATE}]
    for component in workload["spec"].get("components", ()):
        component["podSetInfos"] = [{"schedulingGates": [{"name": GATE}]}]
    for template in templates(workload):
        limits = [each.get("resources", {}).get("limits", {}) for each in template["containers"]]
        if any("nvidia.com/gpu" in each for each in limits):
            template.setdefault("schedulingGates", []).append({"name": GATE})
    return workload


def templates(workload: Manifest) -> Iterator[Manifest]:
    """The specs of a workload's pod templates."""
    for component in workload["spec"].get("components", ()):
        yield from templates(component["template"])
    spec, field = workload["spec"], REPLICA_SPECS.get(workload["kind"], "")
    spec = spec.get("rayClusterSpec", spec)
    of_itself = [spec] if "template" in spec else []
    of_itself += [spec["headGroupSpec"]] if "headGroupSpec" in spec else []
    groups = (*spec.get("replicatedJobs", ()), *spec.get("workerGroupSpecs", ()))
    for each in (*of_itself, *groups, *spec.get(field, {}).values()):
        template = each["template"]["spec"]
        yield template.get("template", {}).get("spec", template)


def _own_container(kind: str) -> str:
    """The name that training-operator wants one container of each pod to have."""
    return {"MPIJob": "mpi", "TFJob": "tensorflow"}.get(kind, kind.removesuffix("Job").lower())


def _pod(container: str, gpus: int) -> Manifest:
    asks = {"limits": {"nvidia.com/gpu": gpus} if gpus else {"cpu": 1}}
    main = {"name": container, "image": "registry.example/train:1", "resources": asks}
    return {
        "containers": [main],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
    }
