"""batch/v1 Jobs as users write them, before anything holds them."""

from collections.abc import Mapping
from typing import Any

from plimsoll_devcluster.manifest import Manifest

ONE_GPU: Mapping[str, str] = {"nvidia.com/gpu": "1"}


def a_container(name: str = "main", amounts: Mapping[str, Any] = ONE_GPU) -> Manifest:
    """A container with these limits."""
    return {"name": name, "image": f"{name}:1", "resources": {"limits": dict(amounts)}}


def a_plain_job(
    name: str = "job",
    *,
    queue: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
    pod: Mapping[str, Any] | None = None,
    **spec: Any,  # noqa: ANN401 - fields of a Job's spec
) -> Manifest:
    """A Job of one pod with a GPU; `queue` is its label, `template` its template's metadata."""
    labels = {} if queue is None else {"plimsoll.dev/queue": queue}
    others = dict(metadata or {})
    pod_spec = {"restartPolicy": "Never", "containers": [a_container()], **(pod or {})}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, **others, "labels": labels | others.get("labels", {})},
        "spec": {"template": {"metadata": dict(template or {}), "spec": pod_spec}, **spec},
    }
