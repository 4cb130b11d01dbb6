"""Measure the GPU draw of each role of a job, from its own pods, at one moment.

Known if the exporter says which pod has a GPU, and on nodes that run only one role's pods. Only
whole GPUs without a limit count, whose pods have been ready for a while; and only those of pools
with a known draw, since otherwise the job would be blamed for the pool's error.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import add
from typing import Final

from plimsoll.api.gpu_pool import GPUPool, GPUPower
from plimsoll.observe.measured.power import PowerReading
from plimsoll.observe.nodes.gpus import is_slice
from plimsoll.observe.snapshot import JobName, NodeView, PodView, Snapshot
from plimsoll.planning.cluster.power_model import MILLIWATTS, draw_milli, idle_milliwatts, power_of
from plimsoll.planning.power.capped import utilization_of
from plimsoll.planning.power.history import SURE_SECONDS, clear_nodes, is_settled
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.model import WHOLE_GPU_MILLI
from plimsoll_placement.problem import Problem

Who = tuple[JobName, str]
"""A job and one of its roles."""
ABSURD: Final = 1.5
"""Readings above this multiple of the GPUs' limits are no measurements."""


@dataclass(frozen=True, slots=True)
class RoleDraw:
    """The draw above idle of some GPUs of a role in watts, and the expectation from its class.

    `idle` is their draw without work, `most` the most that they can draw above that.
    """

    gpus: float
    measured: float
    expected: float
    idle: float
    most: float

    def __add__(self, other: "RoleDraw") -> "RoleDraw":
        return RoleDraw(
            self.gpus + other.gpus,
            self.measured + other.measured,
            self.expected + other.expected,
            self.idle + other.idle,
            self.most + other.most,
        )


@dataclass(frozen=True, slots=True)
class _Share:
    """What one pod of a role has of its node: whole GPUs, and the expectation from its class."""

    who: Who
    pod: PodView
    gpus: int
    typical_milli: int


def role_draws(snapshot: Snapshot, problem: Problem) -> Mapping[Who, RoleDraw]:
    """The measurements of each role that has any."""
    reading = snapshot.power
    if reading is None:
        return {}
    powers = {pool.metadata.name: power_of(pool) for pool in snapshot.pools if _is_known(pool)}
    clear = clear_nodes(snapshot, problem.jobs)
    found: dict[Who, list[RoleDraw]] = defaultdict(list)
    for name, shares in _shares_by_node(snapshot, problem).items():
        node = snapshot.node_by_name[name]
        pool = snapshot.pool_by_node.get(name)
        power = powers.get(pool.metadata.name) if pool else None
        if power is None or not _is_conclusive(node):
            continue
        draws = list(_of_pods(shares, power, reading, snapshot.now))
        if not draws and name in clear:
            draws = list(_of_node(node, shares, power, reading))
        for who, draw in draws:
            found[who].append(draw)
    return {who: reduce(add, draws) for who, draws in found.items()}


def _is_known(pool: GPUPool) -> bool:
    return pool.status.power is not None and pool.status.power.seconds >= SURE_SECONDS


def _is_conclusive(node: NodeView) -> bool:
    """Whether a node's GPUs are whole, each used by one pod, and without a limit."""
    whole = all(each.share_milli == WHOLE_GPU_MILLI and not is_slice(each) for each in node.offers)
    return whole and node.cap_watts is None


def _shares_by_node(snapshot: Snapshot, problem: Problem) -> Mapping[str, Sequence[_Share]]:
    """The pods on each node that are where the plan wants them; none with fractions of GPUs."""
    found: dict[str, list[_Share]] = defaultdict(list)
    classes = dict(_classes(snapshot, problem))
    for job in snapshot.present:
        for pod in job.pods:
            known = classes.get((job.name, pod.role))
            if known is not None and pod.node in snapshot.node_by_name and not pod.is_over:
                found[pod.node].append(_Share((job.name, pod.role), pod, *known))
    return found


def _classes(snapshot: Snapshot, problem: Problem) -> Iterator[tuple[Who, tuple[int, int]]]:
    """The whole GPUs of a role's pods, and the expectation from its class in milli-GPUs."""
    for job in problem.jobs:
        view = snapshot.job_by_name.get(JobName(job.whole_name))
        for role in job.roles if job.running else ():
            gpus, part = divmod(role.shape.gpu_milli, WHOLE_GPU_MILLI)
            if view is not None and gpus and not part:
                typical = draw_milli(role.shape.gpu_milli, utilization_of(view, role.name))
                yield (view.name, whole_role(role.name)[0]), (gpus, typical)


def _of_pods(
    shares: Iterable[_Share], power: GPUPower, reading: PowerReading, now: datetime
) -> Iterator[tuple[Who, RoleDraw]]:
    """The exporter's figures for pods, if it covers all of their GPUs."""
    for share in shares:
        measured = (reading.pods or {}).get((share.pod.namespace, share.pod.name))
        if measured is None or measured.gpus != share.gpus or not is_settled(share.pod, now):
            continue
        if measured.watts <= ABSURD * share.gpus * power.limit_watts:
            above = measured.watts - share.gpus * power.idle_watts
            yield share.who, _draw((share,), above, power)


def _of_node(
    node: NodeView, shares: Sequence[_Share], power: GPUPower, reading: PowerReading
) -> Iterator[tuple[Who, RoleDraw]]:
    """A node's figures, if one role has the node to itself."""
    watts, [who, *others] = reading.nodes.get(node.name), {share.who for share in shares}
    if watts is not None and not others:
        yield who, _draw(shares, watts - idle_milliwatts(node, power) / MILLIWATTS, power)


def _draw(shares: Iterable[_Share], above_idle: float, power: GPUPower) -> RoleDraw:
    found = tuple(shares)
    gpus = sum(share.gpus for share in found)
    typical = sum(share.typical_milli for share in found) / WHOLE_GPU_MILLI
    return RoleDraw(
        gpus,
        measured=max(0.0, above_idle),
        expected=typical * (power.typical_watts - power.idle_watts),
        idle=gpus * power.idle_watts,
        most=gpus * (power.limit_watts - power.idle_watts),
    )
