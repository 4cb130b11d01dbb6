"""Single changes that could let a job run: each can be applied, and each is a sentence.

They are applied to the problem that remains beside what is placed (see `explain/remains.py`) and to
the waiting job.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from plimsoll_placement.explain.shortage.amounts import (
    counted,
    cpu,
    gpu_memory,
    gpus,
    gpus_of,
    listed,
    memory,
    other,
    power,
)
from plimsoll_placement.model import (
    NO_GPUS,
    WHOLE_GPU_MILLI,
    Amounts,
    Devices,
    DomainName,
    GpuType,
    Job,
    Node,
    NodeName,
    PowerDomain,
    Queue,
    QueueName,
    Role,
    RoleName,
    amount_in,
)
from plimsoll_placement.problem import Problem

T = TypeVar("T")


class Change(Protocol):
    """One thing that somebody could do."""

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The problem and the job after the change."""
        ...

    def sentence(self) -> str:
        """What to do, as an imperative without a full stop."""
        ...


@dataclass(frozen=True, slots=True)
class FreeGpus:
    """Free devices of a type, so that `devices` more on each node have `level_milli` free.

    Whole ones then draw no more than idle ones do; each drew at least `draw_milli` before, in
    milli-GPUs in typical use.
    """

    gpu_type: GpuType
    share_milli: int
    level_milli: int
    devices: tuple[tuple[NodeName, int], ...]
    missing_milli: int
    draw_milli: int = WHOLE_GPU_MILLI

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """Frees the devices that are short of least first."""
        return _with_nodes(self.powered_down(problem), dict(self.devices), self._freed), job

    def powered_down(self, problem: Problem) -> Problem:
        """Without the draw of freed whole devices; jobs that hold only a part may go on."""
        if self.share_milli != WHOLE_GPU_MILLI:
            return problem
        saved: Counter[DomainName] = Counter()
        for name, count in self.devices:
            node = problem.nodes[problem.node_index[name]]
            for domain in node.power_domains:
                saved[domain] += count * self.draw_milli * node.busy_milliwatts // WHOLE_GPU_MILLI
        domains = (
            replace(each, base_milliwatts=each.base_milliwatts - saved[each.name])
            for each in problem.power_domains
        )
        return replace(problem, power_domains=tuple(domains))

    def plus(self, other: "FreeGpus") -> "FreeGpus":
        """Both as one; they have the same type, share and level."""
        counts = Counter(dict(self.devices)) + Counter(dict(other.devices))
        return replace(
            self,
            devices=tuple(counts.items()),
            missing_milli=self.missing_milli + other.missing_milli,
            draw_milli=min(self.draw_milli, other.draw_milli),
        )

    def _freed(self, node: Node, count: int) -> Node:
        return replace(node, devices=tuple(self._freed_in(each, count) for each in node.devices))

    def _freed_in(self, devices: Devices, count: int) -> Devices:
        if (devices.gpu_type, devices.share_milli) != (self.gpu_type, self.share_milli):
            return devices
        free = sorted(devices.free_milli, reverse=True)
        short = [place for place, milli in enumerate(free) if milli < self.level_milli]
        for place in short[:count]:
            free[place] = self.level_milli
        return replace(devices, free_milli=tuple(free))

    def sentence(self) -> str:
        """Such as: free 2 GPUs of NVIDIA-L4 on one node (n3)."""
        if self.level_milli < WHOLE_GPU_MILLI:
            amount = f"{gpus(self.missing_milli)} GPUs"
        else:
            amount = counted(sum(dict(self.devices).values()), "GPU")
        return f"free {amount} of {self.gpu_type}{_on(dict(self.devices))}"


@dataclass(frozen=True, slots=True)
class Headroom:
    """CPU, memory, pod slots, memory of shared GPUs and other resources of one node."""

    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    gpu_memory_bytes: int = 0
    others: Amounts = ()


@dataclass(frozen=True, slots=True)
class FreeResources:
    """Free CPU, memory or pod slots on nodes that have the GPUs."""

    on_nodes: tuple[tuple[NodeName, Headroom], ...]

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The nodes have that much more."""
        return _with_nodes(problem, dict(self.on_nodes), self._freed), job

    def _freed(self, node: Node, more: Headroom) -> Node:
        return replace(
            node,
            cpu_millis=node.cpu_millis + more.cpu_millis,
            memory_bytes=node.memory_bytes + more.memory_bytes,
            pod_slots=node.pod_slots + more.pod_slots,
            gpu_memory_bytes=node.gpu_memory_bytes + more.gpu_memory_bytes,
            others=_with_more(node.others, more.others),
        )

    def sentence(self) -> str:
        """Such as: free 32 CPU and 64 GiB on one node (n3)."""
        rooms = dict(self.on_nodes).values()
        amounts = {
            cpu: sum(room.cpu_millis for room in rooms),
            memory: sum(room.memory_bytes for room in rooms),
            _slots: sum(room.pod_slots for room in rooms),
            gpu_memory: sum(room.gpu_memory_bytes for room in rooms),
        }
        parts = [written(amount) for written, amount in amounts.items() if amount]
        others = Counter[str]()
        for room in rooms:
            others.update(dict(room.others))
        parts += [other(name, amount) for name, amount in sorted(others.items())]
        return f"free {listed(parts)}{_on(dict(self.on_nodes))}"


def _with_more(others: Amounts, more: Amounts) -> Amounts:
    """Amounts of other resources with those that were freed."""
    found = dict(others)
    for name, amount in more:
        found[name] = amount_in(found, name) + amount
    return tuple(sorted(found.items()))


@dataclass(frozen=True, slots=True)
class AddNodes:
    """More nodes like an existing one, but empty."""

    like: Node
    role: RoleName
    count: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """They are appended to the others, and the role may run on them."""
        first = len(problem.nodes)
        names = (f"{self.like.name}+{self.role}-{each}" for each in range(1, self.count + 1))
        added = tuple(replace(self.like, name=NodeName(name)) for name in names)
        mask = ((1 << self.count) - 1) << first
        return replace(problem, nodes=problem.nodes + added), _opened(job, self.role, mask)

    def sentence(self) -> str:
        """Such as: add 100 nodes like n3."""
        return f"add {counted(self.count, 'node')} like {self.like.name}"


@dataclass(frozen=True, slots=True)
class NewNodes:
    """Nodes of a kind that the cluster does not have, each with what one pod takes."""

    node: Node
    role: RoleName
    count: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """They are appended, all in one domain of each level; the role may run there."""
        node = replace(self.node, topology=("new",) * len(problem.levels))
        return AddNodes(node, self.role, self.count).applied(problem, job)

    def sentence(self) -> str:
        """Such as: add 2 nodes with 4 × NVIDIA-L4 each; without GPUs, with what else they need."""
        node = self.node
        parts = [gpus_of(sum(each.free_milli), each.gpu_type) for each in node.devices]
        if not parts:
            parts += [cpu(node.cpu_millis)] if node.cpu_millis else []
            parts += [memory(node.memory_bytes)] if node.memory_bytes else []
        parts += [other(name, amount) for name, amount in node.others]
        having = f" with {listed(parts)}" if parts else ""
        each = " each" if having and self.count > 1 else ""
        return f"add {counted(self.count, 'node')}{having}{each}"


@dataclass(frozen=True, slots=True)
class RaiseLimit:
    """Raise what a queue may use of a type."""

    queue: QueueName
    gpu_type: GpuType
    milli: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The queue's limit is that much higher."""
        queues = tuple(self._raised(q) if q.name == self.queue else q for q in problem.queues)
        return replace(problem, queues=queues), job

    def _raised(self, queue: Queue) -> Queue:
        limit = {**queue.limit, self.gpu_type: queue.limit[self.gpu_type] + self.milli}
        return replace(queue, limit=limit)

    def sentence(self) -> str:
        """Such as: raise the limit of queue research for NVIDIA-L4 by 8."""
        return f"raise the limit of queue {self.queue} for {self.gpu_type} by {gpus(self.milli)}"


@dataclass(frozen=True, slots=True)
class RaisePower:
    """Raise the budget of a power domain."""

    domain: DomainName
    milliwatts: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The domain's budget is that much higher."""
        domains = tuple(self._raised(domain) for domain in problem.power_domains)
        return replace(problem, power_domains=domains), job

    def _raised(self, domain: PowerDomain) -> PowerDomain:
        if domain.name != self.domain:
            return domain
        return replace(domain, budget_milliwatts=domain.budget_milliwatts + self.milliwatts)

    def sentence(self) -> str:
        """Such as: raise the budget of power domain row-a by 2.1 kW."""
        return f"raise the budget of power domain {self.domain} by {power(self.milliwatts)}"


@dataclass(frozen=True, slots=True)
class WidenTopology:
    """Let the pods be in one domain of a wider level, or anywhere if that is None.

    Those of the job, or of the role of a gang that has a level of its own.
    """

    narrow: str
    wide: str
    level: int | None
    role: RoleName | None = None

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The job, or the role, requires the wider level."""
        return problem, _limited(job, self.role, required_level=self.level)

    def sentence(self) -> str:
        """Such as: allow block instead of rack."""
        return f"allow {self.wide} instead of {self.narrow}{_for(self.role)}"


@dataclass(frozen=True, slots=True)
class AllowSpot:
    """Let a larger share of replicas be on spot nodes: of the job, or of a role with its own."""

    percent: int
    role: RoleName | None = None

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The job, or the role, allows that share."""
        return problem, _limited(job, self.role, spot_percent=self.percent)

    def sentence(self) -> str:
        """Such as: allow spot nodes for 50 % of its replicas."""
        whose = f"the replicas of role {self.role}" if self.role else "its replicas"
        return f"allow spot nodes for {self.percent} % of {whose}"


@dataclass(frozen=True, slots=True)
class AdmitNodes:
    """Let the pods select and tolerate nodes that offer the type, given as a mask."""

    role: RoleName
    gpu_type: GpuType
    mask: int

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """The role may run on them as well."""
        return problem, _opened(job, self.role, self.mask)

    def sentence(self) -> str:
        """Such as: select and tolerate 3 more nodes with NVIDIA-L4."""
        more = counted(self.mask.bit_count(), "more node")
        return f"select and tolerate {more}{_with_type(self.gpu_type)}"


@dataclass(frozen=True, slots=True)
class ReopenNodes:
    """Let closed nodes take new pods."""

    gpu_type: GpuType
    nodes: frozenset[NodeName]

    def applied(self, problem: Problem, job: Job) -> tuple[Problem, Job]:
        """They are open."""
        opened = dict.fromkeys(self.nodes, True)
        return _with_nodes(problem, opened, lambda node, is_open: replace(node, open=is_open)), job

    def sentence(self) -> str:
        """Such as: reopen 2 closed nodes with NVIDIA-L4."""
        return f"reopen {counted(len(self.nodes), 'closed node')}{_with_type(self.gpu_type)}"


def _with_nodes(
    problem: Problem, changes: Mapping[NodeName, T], changed: Callable[[Node, T], Node]
) -> Problem:
    nodes = tuple(
        changed(node, changes[node.name]) if node.name in changes else node
        for node in problem.nodes
    )
    return replace(problem, nodes=nodes)


def _opened(job: Job, name: RoleName, mask: int) -> Job:
    def opened(role: Role) -> Role:
        return replace(role, eligible=role.eligible | mask) if role.name == name else role

    return replace(job, roles=tuple(opened(role) for role in job.roles))


def _limited(job: Job, name: RoleName | None, **limits: Any) -> Job:  # noqa: ANN401 - of either
    """The job with other limits; if a role is named, that role instead."""
    if name is None:
        return replace(job, **limits)
    roles = (replace(role, **limits) if role.name == name else role for role in job.roles)
    return replace(job, roles=tuple(roles))


def _for(role: RoleName | None) -> str:
    return f" for role {role}" if role else ""


def _with_type(gpu_type: GpuType) -> str:
    return f" with {gpu_type}" if gpu_type != NO_GPUS else ""


def _on(nodes: Mapping[NodeName, object]) -> str:
    return f" on one node ({next(iter(nodes))})" if len(nodes) == 1 else f" on {len(nodes)} nodes"


def _slots(count: int) -> str:
    return counted(count, "pod slot")
