"""What placements leave of a problem, as a problem without them.

It treats everything placed as unmanaged: its nodes, limits and budgets are what is left. Changes
can be tried on it without placing everything again.
"""

from dataclasses import replace

from plimsoll_placement.model import Devices, Node, PowerDomain, Queue
from plimsoll_placement.problem import Problem
from plimsoll_placement.state.ledger import Ledger


def remaining(ledger: Ledger) -> Problem:
    """What a ledger has left, as a problem without jobs."""
    problem = ledger.problem
    left = _devices_left(ledger)
    return replace(
        problem,
        nodes=tuple(
            _node_left(ledger, row, left.get(row, ())) for row in range(len(problem.nodes))
        ),
        jobs=(),
        queues=tuple(_queue_left(ledger, queue) for queue in problem.queues),
        power_domains=tuple(_domain_left(ledger, domain) for domain in problem.power_domains),
    )


def _devices_left(ledger: Ledger) -> dict[int, tuple[Devices, ...]]:
    left: dict[int, tuple[Devices, ...]] = {}
    for device_pools in ledger.device_pools.values():
        for device_pool in device_pools:
            for row, free in zip(device_pool.rows.tolist(), device_pool.free.tolist(), strict=True):
                devices = tuple(milli for milli in free if milli >= 0)
                here = Devices(device_pool.gpu_type, devices, device_pool.share_milli)
                left[row] = (*left.get(row, ()), here)
    return left


def _node_left(ledger: Ledger, row: int, devices: tuple[Devices, ...]) -> Node:
    return replace(
        ledger.problem.nodes[row],
        devices=devices,
        cpu_millis=int(ledger.cpu[row]),
        memory_bytes=int(ledger.memory[row]),
        pod_slots=int(ledger.slots[row]),
        gpu_memory_bytes=int(ledger.gpu_memory[row]),
        others=ledger.others_left(row),
    )


def _queue_left(ledger: Ledger, queue: Queue) -> Queue:
    limit = {t: milli - ledger.queue_used[queue.name, t] for t, milli in queue.limit.items()}
    return replace(queue, limit=limit, guaranteed={}, fair={})


def _domain_left(ledger: Ledger, domain: PowerDomain) -> PowerDomain:
    left = ledger.power.left_of(domain.name)
    return replace(domain, base_milliwatts=domain.budget_milliwatts - left)
