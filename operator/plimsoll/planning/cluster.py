"""The cluster as the solver sees it: nodes with their pool's price and power, domains, levels."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from plimsoll.api.gpu_pool import GPUPool, GPUPoolSpec
from plimsoll.api.power_domain import PowerDomain as PowerDomainResource
from plimsoll.observe.gpus import Offer
from plimsoll.observe.snapshot import JobView, NodeView, Snapshot
from plimsoll.planning.crossing import Networks, networks_of
from plimsoll.planning.spot_history import interruption_rate
from plimsoll_placement.problem import (
    WHOLE_GPU_MILLI,
    Devices,
    DomainName,
    GpuType,
    Node,
    NodeName,
    PowerDomain,
)

MILLIWATTS = 1000
# What is beyond these weighs no more, and sums of whole clusters stay within 64 bits.
MOST_MICRODOLLARS = 10**9
MOST_INTERRUPTIONS_PER_KILOHOUR = 10**6


@dataclass(frozen=True, slots=True)
class Level:
    """A topology level: what jobs call it, and the node label that tells its domains apart."""

    name: str
    label: str


@dataclass(frozen=True, slots=True)
class Cluster:
    """The solver's nodes in the order of the snapshot's, with what was needed to make them."""

    nodes: tuple[Node, ...]
    power_domains: tuple[PowerDomain, ...]
    levels: tuple[Level, ...]
    networks: Networks
    later: "Cluster | None" = None
    """The cluster once all pods that are on their way out have gone, if there are such."""

    def level_index(self, name: str | None) -> int | None:
        """The place of a level that a job names, by its name or its label."""
        if name is None:
            return None
        return next(
            (i for i, level in enumerate(self.levels) if name in (level.name, level.label)), None
        )

    def supply_milli(self) -> dict[str, int]:
        """Milli-GPUs by type that foreign pods leave."""
        supply: dict[str, int] = defaultdict(int)
        for node in self.nodes:
            for devices in node.devices if node.usable else ():
                supply[devices.gpu_type] += sum(devices.free_milli)
        return supply


def cluster_of(snapshot: Snapshot) -> Cluster:
    """The solver's cluster of a snapshot."""
    now = _cluster_of(snapshot)
    if not any(node.leaving for node in snapshot.nodes):
        return now
    return replace(now, later=_cluster_of(_once_left(snapshot)))


def _once_left(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, nodes=tuple(map(_without_leaving, snapshot.nodes)))


def _without_leaving(node: NodeView) -> NodeView:
    units = Counter(node.foreign_units)
    for requests in node.leaving:
        units.subtract(requests.others)
    return replace(
        node,
        cpu_millis=node.cpu_millis + sum(each.cpu_millis for each in node.leaving),
        memory_bytes=node.memory_bytes + sum(each.memory_bytes for each in node.leaving),
        pod_slots=node.pod_slots + len(node.leaving),
        foreign_units=units,
        leaving=(),
    )


def _cluster_of(snapshot: Snapshot) -> Cluster:
    levels = levels_of(snapshot)
    domains = _domains_by_node(snapshot)
    nodes = tuple(
        _node(view, pool_of(view, snapshot.pools), levels, domains.get(view.name, ()))
        for view in snapshot.nodes
    )
    networks = networks_of(nodes, snapshot.pools)
    return Cluster(nodes, _power_domains(snapshot), levels, networks)


def pool_of(node: NodeView, pools: Iterable[GPUPool]) -> GPUPool | None:
    """The pool that a node belongs to: of those whose selector matches, the first by name."""
    return next((pool for pool in pools if _selects(pool.spec.node_selector, node)), None)


def gpu_type_of(offer: Offer, node: NodeView, pool: GPUPool | None) -> GpuType:
    """What plans call the GPUs of an offer: as its pool does, for nodes that offer but one type."""
    named = pool.spec.gpu_type if pool and len(node.offers) == 1 else None
    return GpuType(named or offer.gpu_type)


def _selects(selector: Mapping[str, str], node: NodeView) -> bool:
    labels = node.labels
    return all(labels.get(key) == value for key, value in selector.items())


def levels_of(snapshot: Snapshot) -> tuple[Level, ...]:
    """The pools' levels, the widest first, then what jobs name by label."""
    pools, jobs = snapshot.pools, snapshot.jobs
    found: dict[str, Level] = {}
    for pool in pools:
        for key in pool.spec.topology_keys:
            found.setdefault(key.name, Level(key.name, key.label))
    for name in sorted({name for job in jobs for name in _named_levels(job)}):
        if not any(name in (level.name, level.label) for level in found.values()):
            found[name] = Level(name, name)
    return tuple(found.values())


def _named_levels(job: JobView) -> list[str]:
    parts = [job.training.spec.topology] if job.training else []
    if job.inference:
        parts = [role.topology for role in job.inference.spec.roles]
    return [name for part in parts for name in (part.required, part.preferred) if name]


def _node(
    view: NodeView, pool: GPUPool | None, levels: tuple[Level, ...], domains: tuple[DomainName, ...]
) -> Node:
    spec = pool.spec if pool else None
    power = spec.power if spec else None
    return Node(
        name=NodeName(view.name),
        devices=tuple(_devices(offer, view, pool) for offer in view.offers),
        cpu_millis=max(0, view.cpu_millis),
        memory_bytes=max(0, view.memory_bytes),
        pod_slots=max(0, view.pod_slots),
        topology=tuple(view.labels.get(level.label, "") for level in levels),
        power_domains=domains,
        pool=pool.metadata.name if pool else "",
        spot=spec is not None and spec.capacity_type == "Spot",
        busy_milliwatts=(power.typical_watts - power.idle_watts) * MILLIWATTS if power else 0,
        microdollars_per_gpu_hour=_microdollars(spec) if spec else 0,
        interruptions_per_kilohour=_interruptions(pool) if pool else 0,
        open=view.state.open,
        usable=view.state.usable,
    )


def _microdollars(spec: GPUPoolSpec) -> int:
    return min(int(spec.price_per_gpu_hour * 1_000_000), MOST_MICRODOLLARS)


def _interruptions(pool: GPUPool) -> int:
    return min(int(interruption_rate(pool) * 1000), MOST_INTERRUPTIONS_PER_KILOHOUR)


def _devices(offer: Offer, view: NodeView, pool: GPUPool | None) -> Devices:
    """What foreign pods leave of an offer; each share of a shared GPU counts as a device."""
    units = offer.count * offer.units_per_device
    free = max(0, units - view.foreign_units.get(offer.resource, 0))
    milli = (offer.share_milli,) * free + (0,) * (units - free)
    return Devices(gpu_type_of(offer, view, pool), milli, offer.share_milli)


def _domains_by_node(snapshot: Snapshot) -> dict[str, tuple[DomainName, ...]]:
    return {
        node.name: tuple(
            DomainName(domain.metadata.name)
            for domain in snapshot.power_domains
            if _selects(domain.spec.node_selector, node)
        )
        for node in snapshot.nodes
    }


def _power_domains(snapshot: Snapshot) -> tuple[PowerDomain, ...]:
    return tuple(
        PowerDomain(
            DomainName(domain.metadata.name),
            domain.spec.budget_watts * MILLIWATTS,
            base_milliwatts(domain, snapshot),
        )
        for domain in snapshot.power_domains
    )


def base_milliwatts(domain: PowerDomainResource, snapshot: Snapshot) -> int:
    """What the domain's GPUs draw with all of ours idle: idle watts, and foreign pods' work."""
    total = 0
    for node in snapshot.nodes:
        pool = pool_of(node, snapshot.pools)
        if pool is None or pool.spec.power is None or not _selects(domain.spec.node_selector, node):
            continue
        power = pool.spec.power
        for offer in node.offers:
            foreign_milli = node.foreign_units.get(offer.resource, 0) * offer.share_milli
            total += offer.count * WHOLE_GPU_MILLI * power.idle_watts
            total += foreign_milli * (power.typical_watts - power.idle_watts)
    return total * MILLIWATTS // WHOLE_GPU_MILLI
