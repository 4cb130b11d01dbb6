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


def _pod(container: str, gpus: int) -> Manifest:
    asks = {"limits": {"nvidia.com/gpu": gpus}}
    main = {"name": container, "image": "registry.example/train:1", "resources": asks}
    return {
        "containers": [main],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
    }
