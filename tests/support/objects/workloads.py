"""Objects of other workload kinds: built ones, and those that upstream shows to beginners."""

from pathlib import Path
from typing import Any

import yaml

from plimsoll_devcluster.manifest import Manifest

UPSTREAM = Path(__file__).with_name("upstream")


def upstream(name: str) -> Manifest:
    """A manifest as upstream's documentation has it."""
    return yaml.safe_load((UPSTREAM / f"{name}.yaml").read_text())


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


def _pod(container: str, gpus: int) -> Manifest:
    asks = {"limits": {"nvidia.com/gpu": gpus}}
    main = {"name": container, "image": "registry.example/train:1", "resources": asks}
    return {
        "containers": [main],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
    }
