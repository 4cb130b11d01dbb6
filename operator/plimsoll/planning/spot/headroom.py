"""On-demand headroom for a job: capacity free or held by jobs that must yield to it."""

from collections import Counter, defaultdict
from collections.abc import Container
from dataclasses import dataclass, field

from plimsoll.observe.snapshot import JobName, JobView, Snapshot
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.spot.gangs import least_milli


@dataclass(slots=True)
class Headroom:
    """Milli-GPUs off spot by type, and the part that is held, by the holder's priority.

    What is promised to a job counts as held from then on.
    """

    free: Counter[str]
    held: dict[int, Counter[str]]
    holders: dict[JobName, Counter[str]] = field(repr=False)

    def type_for(self, view: JobView) -> str | None:
        """A GPU type of a training job with room for its smallest gang."""
        assert view.training is not None  # noqa: S101 - only training jobs have deadlines
        kinds = [accelerator.type for accelerator in view.training.spec.accelerators]
        return next((kind for kind in kinds if self._milli(view, kind) >= least_milli(view)), None)

    def promise(self, view: JobView, kind: str) -> None:
        """Reserve room for a job's smallest gang."""
        self.free[kind] -= least_milli(view)

    def _milli(self, view: JobView, kind: str) -> int:
        firm = (held[kind] for of, held in self.held.items() if of >= (view.priority or 0))
        own = self.holders.get(view.name, Counter[str]())
        return self.free[kind] - sum(firm) + own[kind]


def on_demand_headroom(snapshot: Snapshot, cluster: Cluster) -> Headroom:
    """The on-demand headroom that the jobs' placements leave."""
    off = {node.name for node in cluster.nodes if node.open and node.usable and not node.spot}
    free: Counter[str] = Counter()
    for node in cluster.nodes:
        for devices in node.devices if node.name in off else ():
            free[devices.gpu_type] += sum(devices.free_milli)
    held: defaultdict[int, Counter[str]] = defaultdict(Counter)
    holders: dict[JobName, Counter[str]] = {}
    for view in snapshot.jobs:
        if view.resource.status.placement is not None:
            holders[view.name] = _held_milli(view, off)
            held[view.priority or 0].update(holders[view.name])
    return Headroom(free, held, holders)


def _held_milli(view: JobView, off: Container[str]) -> Counter[str]:
    held: Counter[str] = Counter()
    placement, milli = view.resource.status.placement, view.resource.spec.milli_gpus_by_role
    for each in placement.assignments if placement else ():
        inside = sum(name in off for name in each.nodes)
        held[each.accelerator_type] += inside * milli.get(each.role, 0)
    return held
