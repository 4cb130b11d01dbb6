"""Check whether there is room for a job: on nodes, in its queue and in its lane's power domain."""

from collections.abc import Iterable

from plimsoll_devcluster.histories.script import IDLE_WATTS, TYPICAL_WATTS, Lane, budget_watts
from plimsoll_devcluster.histories.world import (
    World,
    free_gpus,
    gang_of,
    gpus_of,
    is_open,
    is_over,
    label,
)
from plimsoll_devcluster.manifest import Manifest

_BUSY_WATTS = TYPICAL_WATTS - IDLE_WATTS
_SERVICE_SHARE = 0.9
"""The draw above idle of a serving GPU, relative to a training one (docs/design/power.md)."""


def lacks(job: Manifest, world: World, lane: Lane, pods: Iterable[Manifest]) -> set[str]:
    """What is lacking next to these pods, by the reasons in jobs' statuses."""
    least, gpus = gang_of(job)
    there = [pod for pod in pods if not is_over(pod)]
    on_nodes = free_gpus(filter(is_open, world.nodes.values()), there)
    watts = _BUSY_WATTS * least * gpus * _share(job["kind"])
    wanting = {
        "InsufficientGPUs": sum(each // gpus for each in on_nodes.values()) < least,
        "QueueLimit": _is_in_queue(job, lane)
        and queue_gpus_left(world, lane, there) < least * gpus,
        "PowerBudget": watts_left(world, lane, there) < watts,
    }
    return {reason for reason, is_so in wanting.items() if is_so}


def queue_gpus_left(world: World, lane: Lane, pods: Iterable[Manifest]) -> int:
    """The GPUs that jobs of the lane's queue may still take; negative if they have too many."""
    theirs = {job["metadata"]["uid"] for job in world.jobs if _is_in_queue(job, lane)}
    held = (gpus_of(pod) for pod in pods if label(pod, "job-uid") in theirs and not is_over(pod))
    return lane.queue_gpus - sum(held)


def watts_left(world: World, lane: Lane, pods: Iterable[Manifest]) -> float:
    """The watts that the lane's nodes may still draw; negative if they draw too much."""
    idle = IDLE_WATTS * sum(free_gpus(world.nodes.values(), ()).values())
    busy = (gpus_of(pod) * _share(label(pod, "job-kind")) for pod in pods if not is_over(pod))
    return budget_watts(lane) - idle - _BUSY_WATTS * sum(busy)


def _is_in_queue(job: Manifest, lane: Lane) -> bool:
    return job["spec"].get("queue") == lane.namespace


def _share(kind: str) -> float:
    return _SERVICE_SHARE if kind == "InferenceJob" else 1.0
