"""Estimate what a gang loses across domains of its preferred level, where all-reduce is slower.

Inside one domain, let a step take time 1: a share c of it is all-reduce, 1 - c is compute. Across
domains the same bytes move at the speed of the slowest link between them, so that all-reduce takes
c · inside / across, by a GPU's all-reduce bandwidth inside one domain and across several. The step
then takes 1 - c + c · inside / across, and the share 1 - 1 / that of the rate is lost.

Not modelled: gangs that cross even wider domains, and all-reduce overlapped with compute.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction

from plimsoll.api.gpu_pool import GPUPool, TopologyKey
from plimsoll.api.training_job import GangTopology
from plimsoll_placement.model import GpuType, Node

Keys = tuple[TopologyKey, ...]
Networks = Mapping[GpuType, tuple[Keys, ...]]
"""For each GPU type the keys of all pools that have such GPUs and state their bandwidth."""

WHOLE_PERCENT = 100


def networks_of(nodes: Iterable[Node], pools: Iterable[GPUPool]) -> Networks:
    """The networks that the nodes' pools state."""
    known = {
        pool.metadata.name: pool.spec.topology_keys
        for pool in pools
        if any(key.bandwidth_gbps is not None for key in pool.spec.topology_keys)
    }
    having: dict[GpuType, set[str]] = defaultdict(set)
    for node in nodes:
        for devices in node.devices if node.pool in known else ():
            having[devices.gpu_type].add(node.pool)
    return {kind: tuple(known[pool] for pool in sorted(names)) for kind, names in having.items()}


def crossing_percent(topology: GangTopology, networks: Networks) -> dict[GpuType, int]:
    """The percentage lost on each GPU type; types with incomplete inputs are omitted.

    If pools of one type have different networks, the slowest counts, inside and across.
    """
    communication, level = topology.communication_percent, topology.preferred
    if communication is None or level is None:
        return {}
    lost: dict[GpuType, int] = {}
    for gpu_type, pools in networks.items():
        paces = [pace for keys in pools for pace in _paces(keys, level)]
        if paces:
            inside, across = (min(each) for each in zip(*paces, strict=True))
            lost[gpu_type] = lost_percent(communication, inside, across)
    return lost


def lost_percent(communication_percent: int, inside: Decimal, across: Decimal) -> int:
    """The formula above, rounded to a percent; bandwidths in any unit, `across` not the larger."""
    share = Fraction(communication_percent, WHOLE_PERCENT)
    step = 1 - share + share * Fraction(inside) / Fraction(across)
    return round(WHOLE_PERCENT * (1 - 1 / step))


def _paces(keys: Sequence[TopologyKey], level: str) -> Iterator[tuple[Decimal, Decimal]]:
    """The bandwidth inside a level and that of the next wider one, if a pool states both."""
    wider: Decimal | None = None
    for key in keys:
        if level in (key.name, key.label):
            if key.bandwidth_gbps is not None and wider is not None:
                yield key.bandwidth_gbps, wider
            return
        wider = wider if key.bandwidth_gbps is None else key.bandwidth_gbps
