"""Manifests of batch/v1 Jobs that ask to be planned."""

from typing import Any

from plimsoll_devcluster.manifest import Manifest

GATE = "plimsoll.dev/placement"
QUEUE = "plimsoll.dev/queue"


def a_batch_job(  # noqa: PLR0913 - what differs between Jobs, by name
    name: str = "train",
    *,
    workers: int = 2,
    gpus: int = 1,
    queue: str | None = "default",
    annotations: dict[str, str] | None = None,
    held: bool = True,
    pod_annotations: dict[str, str] | None = None,
    pod: Manifest | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a Job's spec
) -> Manifest:
    """An indexed Job that asks to be planned; `held`: as the admission policy makes it."""
    container: Manifest = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    pod_spec: Manifest = {
        "containers": [container],
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 0,
        **(pod or {}),
    }
    if held:
        pod_spec["schedulingGates"] = [{"name": GATE}]
    labels = {} if queue is None else {QUEUE: queue}
    said = {f"plimsoll.dev/{key}": value for key, value in (annotations or {}).items()}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels, "annotations": said},
        "spec": {
            "suspend": held,
            "parallelism": workers,
            "completions": workers,
            "completionMode": "Indexed",
            "podReplacementPolicy": "Failed",
            "template": {
                "metadata": {"annotations": pod_annotations or {}},
                "spec": pod_spec,
            },
            **spec,
        },
    }
