"""What a job's work costs on spot and off it, and whether there is room for it on spot.

Only pools with a price count. A spot pool without nodes is waited for only if its GPU type is known
from its spec.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.observe.snapshot import JobView, Snapshot
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.cluster.spot_availability import belief_of
from plimsoll.planning.spot.gangs import held_by_node, least_workers, milli_per_worker
from plimsoll.planning.training.rates import expected_rates
from plimsoll_placement.estimate.spot.belief import Belief
from plimsoll_placement.model import Node

Eligible = Callable[[JobView], int]
"""The nodes on which a training job's pods may run, as a bit mask in the cluster's order."""


@dataclass(frozen=True, slots=True)
class SpotOffer:
    """Spot capacity for a job: its price per unit of work, and what is known of its pool.

    If `belief` says that spot is up, the job has a place there, or room for one.
    """

    price: float
    belief: Belief


@dataclass(slots=True)
class _SpotNode:
    """A node with free GPUs. What is promised to a job is no longer free."""

    bit: int
    gpu_types: frozenset[str]
    free_milli: int


class Market:
    """The pools and nodes of one turn."""

    def __init__(self, snapshot: Snapshot, cluster: Cluster, eligible: Eligible) -> None:
        self._snapshot, self._eligible = snapshot, eligible
        self._least_price: dict[str, float] = {}
        """By GPU type, off spot, in dollars an hour of a GPU."""
        self._spot: dict[str, list[_SpotNode]] = defaultdict(list)
        """The nodes with free GPUs, by pool."""
        self._names: dict[str, set[str]] = defaultdict(set)
        """The names of all nodes, by pool."""
        self._without_room: set[tuple[tuple[str, ...], int, int, int]] = set()
        """What there is no room for: the type and the pools, workers, size and nodes."""
        self._beliefs: dict[str, Belief] = {}
        self._known_rates: dict[str, dict[str, float]] = {}
        held = held_by_node(snapshot)
        for bit, node in enumerate(cluster.nodes):
            self._names[node.pool].add(node.name)
            if node.open and node.spot:
                self._see_spot(bit, node, held)
            elif node.open:
                self._see_on_demand(node)

    def _see_spot(self, bit: int, node: Node, held: Counter[str]) -> None:
        free = sum(sum(each.free_milli) for each in node.devices) - held[node.name]
        if free > 0:
            self._spot[node.pool].append(_SpotNode(bit, _types(node), free))

    def _see_on_demand(self, node: Node) -> None:
        price = node.microdollars_per_gpu_hour / 1e6
        for kind in _types(node):
            self._least_price[kind] = min(price, self._least_price.get(kind, price))

    def on_demand_price(self, view: JobView, gpu_type: str) -> float | None:
        """The least price of a unit of a job's work off spot on a type; None if unknown."""
        price, rate = self._least_price.get(gpu_type), self._rates(view).get(gpu_type)
        return price * _gpus(view) / rate if price and rate else None

    def spot_offer(self, view: JobView, on: AbstractSet[str]) -> SpotOffer | None:
        """The cheapest spot capacity that a job has or could have, otherwise may wait for.

        `on` are the nodes that it runs on. None if there is none, or if others have it all.
        """
        offers = list(self._offers(view, on))
        up = [each for each in offers if each.belief.spot_is_up]
        return min(up or offers, key=lambda each: each.price, default=None)

    def _offers(self, view: JobView, on: AbstractSet[str]) -> Iterator[SpotOffer]:
        rates = self._rates(view)
        for pool in self._snapshot.pools:
            kind = pool.spec.gpu_type or pool.status.gpu_type
            if pool.spec.capacity_type != "Spot" or not rates.get(kind) or _excludes(pool, view):
                continue
            name = pool.metadata.name
            belief = self._belief(pool)
            has_place = not on.isdisjoint(self._names[name])
            if has_place or not belief.spot_is_up or self._room(view, kind, [name]) is not None:
                price = float(pool.spec.price_per_gpu_hour)
                yield SpotOffer(price * _gpus(view) / rates[kind], belief)

    def _rates(self, view: JobView) -> dict[str, float]:
        """Units of work per second of a job's smallest gang, by GPU type."""
        if view.uid not in self._known_rates:
            assert view.training is not None  # noqa: S101 - only training jobs have deadlines
            rates = expected_rates(view.training, (least_workers(view),))
            self._known_rates[view.uid] = {kind: rate for (kind, _), rate in rates.items()}
        return self._known_rates[view.uid]

    def _belief(self, pool: GPUPool) -> Belief:
        name = pool.metadata.name
        if name not in self._beliefs:
            nodes = self._snapshot.nodes_by_pool[name]
            self._beliefs[name] = belief_of(pool, nodes, self._snapshot.now)
        return self._beliefs[name]

    def promise(self, view: JobView) -> None:
        """Reserve room on spot for a job's smallest gang, if there is any."""
        rooms = (self._room(view, kind, [*self._spot]) for kind in self._rates(view))
        for node, milli in next((room for room in rooms if room is not None), ()):
            node.free_milli -= milli

    def _room(
        self, view: JobView, gpu_type: str, pools: Collection[str]
    ) -> list[tuple[_SpotNode, int]] | None:
        """Nodes for a job's smallest gang and what it would take of each; None without room."""
        left, milli, mask = least_workers(view), milli_per_worker(view), self._eligible(view)
        asked = (gpu_type, *pools), left, milli, mask
        if asked in self._without_room:
            return None
        found: list[tuple[_SpotNode, int]] = []
        for node in (each for pool in pools for each in self._spot[pool]):
            if gpu_type in node.gpu_types and mask >> node.bit & 1:
                workers = min(left, node.free_milli // milli)
                found.append((node, workers * milli))
                left -= workers
                if not left:
                    return found
        self._without_room.add(asked)
        return None


def _types(node: Node) -> frozenset[str]:
    return frozenset(each.gpu_type for each in node.devices)


def _gpus(view: JobView) -> float:
    return least_workers(view) * milli_per_worker(view) / 1000


def _excludes(pool: GPUPool, view: JobView) -> bool:
    """Whether a job's node selector asks for other nodes than a pool's."""
    assert view.training is not None  # noqa: S101 - as above
    wanted = view.training.spec.workers.template.spec.node_selector
    has = pool.spec.node_selector
    return any(has.get(label, value) != value for label, value in wanted.items())
