"""Correct the assumed draw of pools and domains by measurement.

For a pool this is the typical draw of one GPU: its nodes' watts above idle, relative to those
expected from what runs on them. If single nodes are not measured, the draw of a whole power domain
is used. For a domain it is the deviation of its draw from expectation, which its reserve covers.

Only nodes count whose load is known: they run all of the plan's pods for them and no others, all
ready for a while, and their GPUs have no limit, which would otherwise determine the draw. Each
measurement counts for the time it stands for. The figures that plans use follow in steps, so that
they do not change with every measurement.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, GPUPower, MeasuredPower
from plimsoll.api.power_domain import PowerDeviation, PowerDomain
from plimsoll.api.values.amounts import to_decimal
from plimsoll.observe.snapshot import NodeView, PodView, Snapshot
from plimsoll.planning.cluster.power_model import (
    MILLIWATTS,
    WHOLE_PERCENT,
    deviation_watts,
    draws_by_node,
    idle_milliwatts,
    planned_percent,
    power_of,
    powered_nodes,
    unmanaged_milli,
)
from plimsoll_placement.model import WHOLE_GPU_MILLI, Job
from plimsoll_placement.problem import Problem

SETTLED: Final = timedelta(minutes=2)
"""How long pods must have been ready: while they start, they draw less."""
INTERVAL: Final = timedelta(minutes=1)
"""How often measurements are counted; statuses are not written for them more often."""
LONGEST_GAP: Final = timedelta(minutes=5)
"""A measurement never stands for more time than this."""
SPEC_SECONDS: Final = 120
"""For how long the spec counts as if it had been measured."""
POOLS_SECONDS: Final = 600
"""For how long a domain's expectation from its pools counts likewise."""
POOL_MEMORY_SECONDS: Final = 3600
DOMAIN_MEMORY_SECONDS: Final = 4 * 3600
"""Older observations count little, because jobs change."""
SURE_SECONDS: Final = 900
"""Once pools were measured for this long, a domain's expected draw is considered right."""
STEP_PERCENT: Final = 2
"""Plans adopt another typical draw once it is off by more than this."""
DEVIATION_STEP: Final = 10
LEAST_DEVIATION, MOST_DEVIATION = 20, 300
"""In percent; beyond it something other than GPUs' deviation is wrong."""
_DIGITS: Final = 3


@dataclass(frozen=True, slots=True)
class Observation:
    """Some nodes' draw above idle in watts, and their expected draw by pool.

    `in_use` is their GPUs in use, with the draw of each.
    """

    measured: float
    expected: Mapping[str, float]
    in_use: tuple[tuple[float, GPUPower], ...]

    @property
    def ratio(self) -> float:
        """Actual over expected draw above idle."""
        return self.measured / sum(self.expected.values())


class Observations:
    """What a snapshot's reading says of nodes and domains, as far as it is comparable."""

    def __init__(self, snapshot: Snapshot, problem: Problem) -> None:
        self.snapshot = snapshot
        self.reading = snapshot.power
        self._draws = draws_by_node(problem.jobs)
        self._clear = clear_nodes(snapshot, problem.jobs) if snapshot.power else frozenset[str]()

    def of_pool(self, pool: GPUPool) -> list[Observation]:
        """The evidence about a pool: its nodes, or domains whose nodes are all known."""
        if self.reading is None:
            return []
        mine = self.snapshot.nodes_by_pool[pool.metadata.name]
        measured = [(n, self.reading.nodes.get(n.name)) for n in mine]
        power = power_of(pool)
        nodes = (self._of([(n, power)], watts) for n, watts in measured)
        found = [each for each in nodes if each is not None]
        if found or any(watts is not None for _, watts in measured):
            return found
        domains = (self.of_domain(each) for each in self.snapshot.power_domains)
        name = pool.metadata.name
        return [each for each in domains if each is not None and each.expected.get(name)]

    def of_domain(self, domain: PowerDomain) -> Observation | None:
        """The evidence about a domain."""
        if self.reading is None:
            return None
        nodes = powered_nodes(domain, self.snapshot)
        return self._of(nodes, self.reading.domains.get(domain.metadata.name))

    def _of(
        self, nodes: Iterable[tuple[NodeView, GPUPower | None]], watts: float | None
    ) -> Observation | None:
        idle, expected = 0.0, defaultdict[str, float](float)
        in_use: list[tuple[float, GPUPower]] = []
        for node, power in nodes:
            pool = self.snapshot.pool_by_node.get(node.name)
            if power is None or pool is None or node.name not in self._clear:
                return None
            gpus = self._draws[node.name] / WHOLE_GPU_MILLI
            idle += idle_milliwatts(node, power) / MILLIWATTS
            expected[pool.metadata.name] += gpus * (power.typical_watts - power.idle_watts)
            in_use.append((gpus, power))
        if watts is None or sum(expected.values()) <= 0:
            return None
        return Observation(max(0.0, watts - idle), expected, tuple(in_use))


def pool_power(pool: GPUPool, observations: Observations) -> MeasuredPower | None:
    """The draw of a pool's GPU as measured so far; None if never measured."""
    before, power = pool.status.power, power_of(pool)
    found = observations.of_pool(pool)
    due = _time_since(before.observed_time if before else None, observations)
    if power is None or pool.spec.power is None or not found or not due:
        return before
    weights = [each.expected[pool.metadata.name] for each in found]
    ratio = sum(w * each.ratio for w, each in zip(weights, found, strict=True)) / sum(weights)
    seen = power.idle_watts + ratio * (power.typical_watts - power.idle_watts)
    known = float(before.typical_watts) if before else float(pool.spec.power.typical_watts)
    seconds = before.seconds if before else SPEC_SECONDS
    typical = mean_over_time(known, seen, seconds, due)
    typical = min(max(typical, power.idle_watts + 1), power.limit_watts)
    return MeasuredPower(
        typical_watts=to_decimal(typical, _DIGITS),
        planned_watts=in_steps(power.typical_watts, typical, STEP_PERCENT * typical / 100),
        seconds=min(seconds + due, POOL_MEMORY_SECONDS),
        observed_time=_measured_at(observations),
    )


def domain_deviation(domain: PowerDomain, observations: Observations) -> PowerDeviation | None:
    """How far a domain's draw deviates from expectation, as measured so far.

    In percent of what the pools lead to expect of the GPUs in use, so that it also holds for more
    GPUs. Until its pools are known, a domain would deviate by their errors.
    """
    before = domain.status.deviation
    due = _time_since(before.observed_time if before else None, observations)
    found = observations.of_domain(domain) if due else None
    if found is None or not _are_known(found, observations.snapshot.pools):
        return before
    allowed = deviation_watts(found.in_use)
    if allowed <= 0:
        return before
    strays = WHOLE_PERCENT * abs(found.measured - sum(found.expected.values())) / allowed
    seconds = before.seconds if before else POOLS_SECONDS
    known = float(before.percent) if before else float(WHOLE_PERCENT)
    square = mean_over_time(known**2, min(strays, MOST_DEVIATION) ** 2, seconds, due)
    percent = max(LEAST_DEVIATION, square**0.5)
    return PowerDeviation(
        percent=to_decimal(percent, _DIGITS),
        planned_percent=_up_in_steps(planned_percent(domain), percent),
        seconds=min(seconds + due, DOMAIN_MEMORY_SECONDS),
        observed_time=_measured_at(observations),
    )


def _are_known(found: Observation, pools: Iterable[GPUPool]) -> bool:
    measured = {p.metadata.name: p.status.power for p in pools}
    powers = (measured[name] for name, watts in found.expected.items() if watts)
    return all(power is not None and power.seconds >= SURE_SECONDS for power in powers)


def _measured_at(observations: Observations) -> datetime:
    assert observations.reading is not None  # noqa: S101 - without it nothing is observed
    return observations.reading.measured_at.replace(microsecond=0)


def _time_since(before: datetime | None, observations: Observations) -> int:
    """The seconds that a measurement stands for; 0 while there is no new one to count."""
    if observations.reading is None:
        return 0
    if before is None:
        return int(INTERVAL.total_seconds())
    passed = _measured_at(observations) - before
    return 0 if passed < INTERVAL else int(min(passed, LONGEST_GAP).total_seconds())


def mean_over_time(known: float, seen: float, seconds: int, due: int) -> float:
    """The mean over time, including the observation for the last seconds."""
    return known + (seen - known) * due / (seconds + due)


def in_steps(planned: int, measured: float, step: float) -> int:
    """The figure that plans use: unchanged unless it is off by more than a step."""
    return planned if abs(measured - planned) <= step else round(measured)


def _up_in_steps(planned: int, percent: float) -> int:
    if planned - 2 * DEVIATION_STEP < percent <= planned:
        return planned
    return int(-(-percent // DEVIATION_STEP) * DEVIATION_STEP)


def clear_nodes(snapshot: Snapshot, jobs: Iterable[Job]) -> frozenset[str]:
    """The nodes whose load is fully known and whose GPUs have no limit."""
    planned = Counter(
        str(n) for job in jobs for assignment in job.running for n in assignment.nodes
    )
    there: Counter[str] = Counter()
    for pod in _pods(snapshot):
        there[pod.node] += 1
    return frozenset(
        node.name
        for node in snapshot.nodes
        if node.cap_watts is None and not unmanaged_milli(node)
        if planned[node.name] == there[node.name]
    ) - {pod.node for pod in _pods(snapshot) if not is_settled(pod, snapshot.now)}


def _pods(snapshot: Snapshot) -> Iterator[PodView]:
    return (p for job in snapshot.present for p in job.pods if p.node and not p.is_over)


def is_settled(pod: PodView, now: datetime) -> bool:
    """Whether a pod has been ready for a while, and stays."""
    since = pod.ready_since or pod.created
    return pod.ready and not pod.deleting and since is not None and now - since >= SETTLED
