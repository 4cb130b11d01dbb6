"""The solver's view of the cluster: nodes with their pool's price and power, domains, levels."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from plimsoll.api.gpu_pool import GPUPool, GPUPoolSpec
from plimsoll.observe.assumed.gpu_memory import shared_memory
from plimsoll.observe.labels import GPU_MEMORY
from plimsoll.observe.nodes.gpus import Offer
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll.observe.views.pools import gpu_type_of
from plimsoll.planning.cluster.interconnect import Networks, networks_of
from plimsoll.planning.cluster.interruptions import interruption_rate
from plimsoll.planning.cluster.overhead import NO_OVERHEAD, ByNode, without
from plimsoll.planning.cluster.power_model import MILLIWATTS, base_milliwatts, busy_milliwatts
from plimsoll_placement.model import Devices, DomainName, Node, NodeName, PowerDomain

# Larger prices weigh no more, so that sums over whole clusters stay within 64 bits.
MOST_MICRODOLLARS = 10**9
MOST_INTERRUPTIONS_PER_KILOHOUR = 10**6


@dataclass(frozen=True, slots=True)
class Level:
    """A topology level: the name jobs use, and the node label that distinguishes its domains."""

    name: str
    label: str


NOWHERE = Level("node (no node has the label that it names)", "")
"""The level of labels that no node has: each node is a domain of its own."""


@dataclass(frozen=True)
class Cluster:
    """The solver's nodes in the snapshot's order, and the inputs that made them."""

    nodes: tuple[Node, ...]
    power_domains: tuple[PowerDomain, ...]
    levels: tuple[Level, ...]
    networks: Networks
    later: "Cluster | None" = None
    """The cluster once all pods on their way out have gone, if there are any.

    Overhead that jobs' pods take beyond their templates may go as well, and is not counted in it.
    """

    def level_index(self, name: str | None) -> int | None:
        """The index of a level that a job names, by the level's name or label."""
        if name is None:
            return None
        levels = enumerate(self.levels)
        found = next((i for i, level in levels if name in (level.name, level.label)), None)
        return self.levels.index(NOWHERE) if found is None and NOWHERE in self.levels else found

    @cached_property
    def supply_milli(self) -> Mapping[str, int]:
        """Milli-GPUs by type that unmanaged pods leave."""
        supply: dict[str, int] = defaultdict(int)
        for node in self.nodes:
            for devices in node.devices if node.usable else ():
                supply[devices.gpu_type] += sum(devices.free_milli)
        return supply


Made = Mapping[str, tuple[NodeView, Node]]
"""The solver's nodes by name, each with the inputs that made it."""


def made(views: Iterable[NodeView], cluster: Cluster) -> Made:
    """The nodes of a cluster built from these."""
    return {view.name: (view, node) for view, node in zip(views, cluster.nodes, strict=True)}


def cluster_of(snapshot: Snapshot, before: Made, overhead: ByNode = NO_OVERHEAD) -> Cluster:
    """The solver's cluster for a snapshot; `overhead` is the overhead of jobs' pods.

    Nodes that are unchanged since `before`, with the same pools, domains, levels and overhead, are
    reused.
    """
    left = _without_overhead(snapshot, overhead)
    now = _cluster_of(left, before)
    if not overhead and not any(node.leaving for node in snapshot.nodes):
        return now
    return replace(now, later=_cluster_of(_once_left(snapshot), made(left.nodes, now)))


def _without_overhead(snapshot: Snapshot, overhead: ByNode) -> Snapshot:
    if not overhead:
        return snapshot
    return replace(snapshot, nodes=tuple(without(node, overhead) for node in snapshot.nodes))


def _once_left(snapshot: Snapshot) -> Snapshot:
    return replace(snapshot, nodes=tuple(map(_without_leaving, snapshot.nodes)))


def _without_leaving(node: NodeView) -> NodeView:
    if not node.leaving:
        return node
    units = Counter(node.unmanaged_units)
    for requests in node.leaving:
        units.subtract(requests.others)
    return replace(
        node,
        cpu_millis=node.cpu_millis + sum(each.cpu_millis for each in node.leaving),
        memory_bytes=node.memory_bytes + sum(each.memory_bytes for each in node.leaving),
        pod_slots=node.pod_slots + len(node.leaving),
        unmanaged_units=units,
        leaving=(),
    )


def _cluster_of(snapshot: Snapshot, before: Made) -> Cluster:
    levels = levels_of(snapshot)
    domains = snapshot.domains_by_node
    nodes = tuple(
        known[1]
        if (known := before.get(view.name)) is not None and known[0] is view
        else _node(view, snapshot.pool_by_node.get(view.name), levels, domains[view.name])
        for view in snapshot.nodes
    )
    networks = networks_of(nodes, snapshot.pools)
    return Cluster(nodes, _power_domains(snapshot), levels, networks)


def levels_of(snapshot: Snapshot) -> tuple[Level, ...]:
    """The pools' levels, widest first, then those that jobs name by label.

    Labels that no node has form one level, however many of them jobs name.
    """
    pools, jobs = snapshot.pools, snapshot.jobs
    found: dict[str, Level] = {}
    for pool in pools:
        for key in pool.spec.topology_keys:
            found.setdefault(key.name, Level(key.name, key.label))
    for name in sorted({name for job in jobs for name in job.levels}):
        if not any(name in (level.name, level.label) for level in found.values()):
            there = name in snapshot.node_label_keys
            found[name if there else NOWHERE.name] = Level(name, name) if there else NOWHERE
    return tuple(found.values())


def _node(
    view: NodeView, pool: GPUPool | None, levels: tuple[Level, ...], domains: tuple[str, ...]
) -> Node:
    spec = pool.spec if pool else None
    memory = shared_memory(view)
    return Node(
        name=NodeName(view.name),
        devices=tuple(_devices(offer, view, pool) for offer in view.offers),
        cpu_millis=max(0, view.cpu_millis),
        memory_bytes=max(0, view.memory_bytes),
        pod_slots=max(0, view.pod_slots),
        topology=tuple(view.labels.get(level.label, "") for level in levels),
        power_domains=tuple(map(DomainName, domains)),
        pool=pool.metadata.name if pool else "",
        spot=spec is not None and spec.capacity_type == "Spot",
        busy_milliwatts=busy_milliwatts(pool),
        microdollars_per_gpu_hour=_microdollars(spec) if spec else 0,
        interruptions_per_kilohour=_interruptions(pool) if pool else 0,
        open=view.state.open,
        usable=view.state.usable,
        gpu_memory_bytes=max(0, memory.total_bytes - view.unmanaged_units.get(GPU_MEMORY, 0)),
        gpu_memory_each_bytes=memory.each_bytes,
        returnable=spec is not None and spec.provisioning is not None,
        others=view.others_left,
    )


def _microdollars(spec: GPUPoolSpec) -> int:
    return min(int(spec.price_per_gpu_hour * 1_000_000), MOST_MICRODOLLARS)


def _interruptions(pool: GPUPool) -> int:
    return min(int(interruption_rate(pool) * 1000), MOST_INTERRUPTIONS_PER_KILOHOUR)


def _devices(offer: Offer, view: NodeView, pool: GPUPool | None) -> Devices:
    """What unmanaged pods leave of an offer; each share of a shared GPU counts as a device."""
    units = offer.count * offer.units_per_device
    free = max(0, units - view.unmanaged_units.get(offer.resource, 0))
    milli = (offer.share_milli,) * free + (0,) * (units - free)
    return Devices(gpu_type_of(offer, view, pool), milli, offer.share_milli)


def _power_domains(snapshot: Snapshot) -> tuple[PowerDomain, ...]:
    return tuple(
        PowerDomain(
            DomainName(domain.metadata.name),
            domain.spec.budget_watts * MILLIWATTS,
            base_milliwatts(domain, snapshot),
        )
        for domain in snapshot.power_domains
    )
