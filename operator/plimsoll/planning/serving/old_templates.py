"""Which replicas of a service still have an old pod template."""

from collections.abc import Mapping
from dataclasses import dataclass

from plimsoll.observe.snapshot import JobView
from plimsoll.observe.template_hash import hashes_by_role, is_old
from plimsoll.remembered import once_for_each


@dataclass(frozen=True, slots=True)
class Replica:
    """A placed replica: whether any of its pods is of an old template, and whether all serve."""

    number: int
    is_old: bool
    is_ready: bool


@once_for_each
def replicas_by_role(view: JobView) -> Mapping[str, Mapping[int, Replica]]:
    """Of the roles of a service with replicas of an old template, all placed replicas by number."""
    job = view.inference
    if job is None or view.target is not None or job.status.placement is None:
        return {}
    current, found = hashes_by_role(job), dict[str, dict[int, Replica]]()
    pods: dict[tuple[str, int, int], list[tuple[bool, bool]]] = {}
    for pod in view.pods:
        old = is_old(pod.template_hash, current.get(pod.role, frozenset()))
        serves = pod.ready and not pod.deleting and not pod.draining_since
        pods.setdefault((pod.role, pod.replica, pod.revision), []).append((old, serves))
    for place in job.status.placement.assignments:
        mine = pods.get((place.role, place.replica, place.revision), [])
        serves = len(mine) == len(place.nodes) and all(serves for _, serves in mine)
        replica = Replica(place.replica, any(old for old, _ in mine), serves)
        found.setdefault(place.role, {})[place.replica] = replica
    return {
        name: mine
        for name, mine in found.items()
        if name in current and any(each.is_old for each in mine.values())
    }
