"""Placed jobs whose pods request their GPUs, as real ones do."""

from plimsoll_devcluster.manifest import Manifest
from support.clusters.seen import pods_of


def holding(job: Manifest, *, units: int = 1) -> list[Manifest]:
    """A placed job and its pods, each of which holds so many units of its node's GPUs."""
    limits = {"nvidia.com/gpu": str(units)}
    container = {"name": "main", "resources": {"limits": limits, "requests": limits}}
    pods = [pod | {"spec": pod["spec"] | {"containers": [container]}} for pod in pods_of(job)]
    return [job, *pods]
