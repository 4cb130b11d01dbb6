"""Model GPU power as plans count it: an expected draw for each GPU, and a reserve on top.

A pool's typical draw is that of training, which keeps GPUs busy all the time. Other uses draw more
or less than that above idle, by class:

- `Prefill` is compute-bound and draws close to the GPU's limit (Patel et al., "Characterizing
  Power Management Opportunities for LLMs in the Cloud", POLCA, ASPLOS 2024);
- `Decode` is memory-bound (ibid.; Ma et al., arXiv 2605.11999, find far less when it runs alone);
- `Mixed` does both, as most servers do.

The figures are from ML.ENERGY's leaderboard v3 (Chung et al., NeurIPS 2025): language models served
on H100 draw 390 W per GPU in the lowest tenth of its 177 configurations for chat (small batches,
almost pure decode), 500 W in the median and 637 W in the highest tenth, where training is taken to
draw 560 W and an idle GPU 75 W.

Each domain keeps a reserve on top of the expected draw. A GPU is assumed to reach its limit one
time in a hundred, independently of the others, so that variances add up: with n GPUs the reserve
grows only with the square root of n. The measured deviation of a domain
(`planning/power/history.py`) replaces that figure once known. Neither follows every fluctuation:
both change in steps, through the statuses.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import NormalDist
from typing import Final, Literal

from plimsoll.api.gpu_pool import GPUPool, GPUPower
from plimsoll.api.power_domain import PowerDomain
from plimsoll.observe.snapshot import NodeView, Snapshot
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job
from plimsoll_placement.problem import Problem

_HIGHEST_QUANTILE: Final = 1 - 1e-9

MILLIWATTS: Final = 1000
Utilization = Literal["Training", "Prefill", "Decode", "Mixed"]
DRAW_PERCENT: Final[Mapping[Utilization, int]] = {
    "Training": 100,
    "Prefill": 115,
    "Decode": 65,
    "Mixed": 90,
}
"""A GPU's draw above idle by its use, in percent of its typical draw above idle."""
AT_LIMIT: Final = 0.99
"""The share of the time that a GPU stays below its limit."""
WHOLE_PERCENT: Final = 100


def draw_milli(gpu_milli: int, utilization: Utilization) -> int:
    """How many milli-GPUs in typical use draw as much above idle, rounded up."""
    return -(-gpu_milli * DRAW_PERCENT[utilization] // WHOLE_PERCENT)


def power_of(pool: GPUPool) -> GPUPower | None:
    """The draw of one GPU of a pool, per its spec; its typical draw as measured, if it was."""
    power, seen = pool.spec.power, pool.status.power
    if power is None or seen is None:
        return power
    typical = min(max(seen.planned_watts, power.idle_watts), power.limit_watts)
    return power.model_copy(update={"typical_watts": typical})


def busy_milliwatts(pool: GPUPool | None) -> int:
    """The draw above idle of a whole GPU in typical use; 0 if unknown."""
    power = power_of(pool) if pool else None
    return (power.typical_watts - power.idle_watts) * MILLIWATTS if power else 0


def base_milliwatts(domain: PowerDomain, snapshot: Snapshot) -> int:
    """A domain's draw with all our GPUs idle: idle power, unmanaged pods' work, and the reserve."""
    nodes = powered_nodes(domain, snapshot)
    return sum(idle_milliwatts(*each) for each in nodes) + reserve_milliwatts(domain, nodes)


def expected_milliwatts(snapshot: Snapshot, problem: Problem) -> Mapping[str, int]:
    """Each domain's expected draw from a problem's running jobs, without caps and reserve."""
    draws, found = draws_by_node(problem.jobs), Counter[str]()
    for node in problem.nodes:
        for name in node.power_domains:
            found[name] += draws[node.name] * node.busy_milliwatts // WHOLE_GPU_MILLI
    for domain in snapshot.power_domains:
        nodes = powered_nodes(domain, snapshot)
        found[domain.metadata.name] += sum(idle_milliwatts(*each) for each in nodes)
    return found


def draws_by_node(jobs: Iterable[Job]) -> Counter[str]:
    """The uncapped draw of what runs on each node, in milli-GPUs in typical use."""
    draws: Counter[str] = Counter()
    for job in jobs:
        roles = {role.name: role for role in job.roles}
        for assignment in (assignment for assignment in job.running if assignment.role in roles):
            for name in assignment.nodes:
                draws[name] += roles[assignment.role].full_draw_milli
    return draws


def powered_nodes(domain: PowerDomain, snapshot: Snapshot) -> list[tuple[NodeView, GPUPower]]:
    """The nodes of a domain whose GPUs' draw is known."""
    return powered(snapshot.nodes_by_domain[domain.metadata.name], snapshot)


def powered(nodes: Iterable[NodeView], snapshot: Snapshot) -> list[tuple[NodeView, GPUPower]]:
    """Those of some nodes whose GPUs' draw is known, each with it."""
    powers = {pool.metadata.name: power_of(pool) for pool in snapshot.pools}
    pools = ((node, snapshot.pool_by_node.get(node.name)) for node in nodes)
    known = ((node, powers[pool.metadata.name]) for node, pool in pools if pool is not None)
    return [(node, power) for node, power in known if power is not None]


def idle_milliwatts(node: NodeView, power: GPUPower) -> int:
    """A node's draw with all our GPUs idle; unmanaged pods count as typical use."""
    gpus = sum(offer.count for offer in node.offers)
    above_idle = power.typical_watts - power.idle_watts
    unmanaged = unmanaged_milli(node) * above_idle * MILLIWATTS // WHOLE_GPU_MILLI
    return gpus * power.idle_watts * MILLIWATTS + unmanaged


def unmanaged_milli(node: NodeView) -> int:
    """Milli-GPUs held by unmanaged pods."""
    return sum(
        node.unmanaged_units.get(offer.resource, 0) * offer.share_milli for offer in node.offers
    )


def reserve_milliwatts(domain: PowerDomain, nodes: Iterable[tuple[NodeView, GPUPower]]) -> int:
    """The reserve for times when GPUs draw more than expected.

    A quantile of a normal distribution, which sums over many GPUs follow; none at 0.5 and below.
    """
    gpus = ((sum(offer.count for offer in node.offers), power) for node, power in nodes)
    deviation = deviation_watts(gpus) * planned_percent(domain) / WHOLE_PERCENT
    # Between 0 and 1, and as a float still below 1.
    quantile = NormalDist().inv_cdf(min(float(domain.spec.quantile), _HIGHEST_QUANTILE))
    return round(max(0.0, quantile * deviation) * MILLIWATTS)


def planned_percent(domain: PowerDomain) -> int:
    """The deviation that plans assume for a domain, in percent of its pools' expectation."""
    seen = domain.status.deviation
    return WHOLE_PERCENT if seen is None else seen.planned_percent


def deviation_watts(gpus: Iterable[tuple[float, GPUPower]]) -> float:
    """The standard deviation of the joint draw of so many GPUs."""
    squares = sum(
        count * max(0, power.limit_watts - power.typical_watts) ** 2 for count, power in gpus
    )
    return squares**0.5 / NormalDist().inv_cdf(AT_LIMIT)
