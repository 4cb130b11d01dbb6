"""What pods cost on each node. Most nodes are of a few kinds, and are priced once for each."""

from collections.abc import Iterable, Mapping
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
        self._cheapest: dict[tuple[int | str, ...], int] = {}

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
            examples, of_node = self._classes
            prices = [pod_price(self._problem, job, role, node) for node in examples]
            known = self._known[key] = np.array(prices, dtype=np.int64)[of_node]
        return known

    def cheapest(self, job: Job, role: Role, gpu_type: GpuType) -> int:
        """What a pod of a role costs on the cheapest node with a GPU type, which must exist."""
        key = *price_key(job, role), gpu_type
        known = self._cheapest.get(key)
        if known is None:
            prices = self.of(job, role)
            known = min(int(prices[pool.rows].min()) for pool in self._device_pools[gpu_type])
            self._cheapest[key] = known
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
