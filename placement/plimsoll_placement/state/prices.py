"""What pods cost on each node. Most nodes are of a few kinds, and are priced once for each."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np

from plimsoll_placement.model import GpuType, Job, Node, Role
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import pod_price, price_class, price_key
from plimsoll_placement.state.device_pool import DevicePool, Ints


class Prices:
    """The prices of pods of jobs' roles, worked out when they are first asked for."""

    def __init__(
        self, problem: Problem, device_pools: Mapping[GpuType, tuple[DevicePool, ...]]
    ) -> None:
        self._problem, self._device_pools = problem, device_pools
        self._known: dict[tuple[int, ...], Ints] = {}
        self._by_class: dict[tuple[int, ...], tuple[Ints, Sequence[int]]] = {}
        self._range: dict[tuple[int | str, ...], tuple[int, int]] = {}

    def turn_to(self, problem: Problem, rows: Iterable[int]) -> bool:
        """Be the prices in another problem, which differs in these nodes; False if they are not."""
        before, now = self._problem, problem
        same = all(price_class(before.nodes[row]) == price_class(now.nodes[row]) for row in rows)
        if not same or before.weights != now.weights:
            return False
        self._problem = problem
        return True

    def of(self, job: Job, role: Role) -> Ints:
        """What one pod of a role costs on each node (see `pod_price`)."""
        key = price_key(job, role)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._of_classes(job, role)[0][self._classes[1]]
        return known

    def range(self, job: Job, role: Role, gpu_type: GpuType) -> tuple[int, int]:
        """What a pod of a role costs on the cheapest and dearest node with a type that exists."""
        key = *price_key(job, role), gpu_type
        known = self._range.get(key)
        if known is None:
            prices = self.of(job, role)
            rows = np.concatenate([pool.rows for pool in self._device_pools[gpu_type]])
            known = self._range[key] = int(prices[rows].min()), int(prices[rows].max())
        return known

    def of_pods(
        self, job: Job, role: Role, pods: int, rooms: Iterable[tuple[DevicePool, Ints]]
    ) -> int | None:
        """What so many pods cost on the cheapest nodes with room; None if there is too little.

        `rooms`: for how many pods each row of each device pool has room.
        """
        prices, cheapest_first = self._of_classes(job, role)
        of_node, room = self._classes[1], np.zeros(len(prices))
        for pool, free in rooms:
            room += np.bincount(of_node[pool.rows], free, len(prices))
        cost = 0
        for number in cheapest_first:
            taken = min(pods, int(room[number]))
            cost, pods = cost + taken * int(prices[number]), pods - taken
            if not pods:
                return cost
        return None

    def _of_classes(self, job: Job, role: Role) -> tuple[Ints, Sequence[int]]:
        """What a pod costs on a node of each class, and these from the cheapest on."""
        key = price_key(job, role)
        known = self._by_class.get(key)
        if known is None:
            found = [pod_price(self._problem, job, role, node) for node in self._classes[0]]
            prices = np.array(found, dtype=np.int64)
            known = prices, np.argsort(prices, kind="stable").tolist()
            self._by_class[key] = known
        return known

    @cached_property
    def _classes(self) -> tuple[list[Node], Ints]:
        """One node for each price, and for each node which of these it matches."""
        numbers: dict[tuple[int, int, int], int] = {}
        examples: list[Node] = []
        of_node: list[int] = []
        for node in self._problem.nodes:
            number = numbers.setdefault(price_class(node), len(numbers))
            if number == len(examples):
                examples.append(node)
            of_node.append(number)
        return examples, np.array(of_node, dtype=np.int64)
