"""The placement problem: everything that one plan depends on."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from plimsoll_placement.entitlements import entitlements_of
from plimsoll_placement.memory import Memory
from plimsoll_placement.model import (
    Arrival,
    GpuType,
    Job,
    JobName,
    Node,
    NodeName,
    Placements,
    PowerDomain,
    Queue,
    QueueName,
    Weights,
    amount_in,
)


@dataclass(frozen=True)
class Problem:
    """Everything that one plan depends on. Names are unique; every job's queue is in `queues`.

    `past` lists the pods that came before these jobs: those to come are assumed to be like all that
    came. It only decides between equally good places, so it never makes a plan out of date.
    `baseline`: the placements against which the price of changes is measured (`score/price.py`);
    without them changes have none. `loss_allowance`: the most milli-GPU-seconds of work that
    changes may throw away, whatever is gained (`score/budget.py`); None: no limit.
    `memory`: what was derived from the nodes and jobs of this problem and those before; it changes
    no result, serves one thread, and is not sent to other processes. None: nothing is remembered.
    """

    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    queues: tuple[Queue, ...] = ()
    power_domains: tuple[PowerDomain, ...] = ()
    levels: tuple[str, ...] = ()
    weights: Weights = field(default_factory=Weights)
    past: tuple[Arrival, ...] = field(default=(), compare=False)
    baseline: Placements | None = field(default=None, compare=False)
    loss_allowance: int | None = field(default=None, compare=False)
    memory: Memory | None = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "memory": None}

    def remembered(self, memory: Memory) -> "Problem":
        """The same problem, as it follows on those that a memory knows."""
        nodes, jobs = memory.of_nodes(self.nodes), memory.of_jobs(self.jobs)
        return replace(self, nodes=nodes, jobs=jobs, memory=memory)

    def with_baseline(self, baseline: Placements) -> "Problem":
        """The same problem with a baseline, and with what has been derived from it."""
        found = replace(self, baseline=baseline)
        derived = {name: each for name, each in self.__dict__.items() if name in _DERIVED}
        found.__dict__.update(derived)
        return found

    @cached_property
    def node_index(self) -> dict[NodeName, int]:
        """The position of each node in `nodes`, which is also its bit in `Role.eligible`."""
        return {node.name: index for index, node in enumerate(self.nodes)}

    def amounts(self, resource: str) -> tuple[int, ...]:
        """What each of `nodes` has of a resource other than GPUs, CPU and memory."""
        known = self._amounts.get(resource)
        if known is None:
            known = tuple(amount_in(dict(node.others), resource) for node in self.nodes)
            self._amounts[resource] = known
        return known

    @cached_property
    def _amounts(self) -> dict[str, tuple[int, ...]]:
        """Those that were asked for, by resource."""
        return {}

    @cached_property
    def asked_resources(self) -> frozenset[str]:
        """The resources other than GPUs, CPU and memory that some job asks for."""
        shapes = (role.shape for job in self.jobs for role in job.roles)
        return frozenset(name for shape in shapes for name, _ in shape.others)

    def bits_of(self, names: Iterable[NodeName]) -> int:
        """The bits of nodes, as in `Role.eligible`; names of nodes that are gone have none."""
        return sum(1 << self.node_index[name] for name in set(names) if name in self.node_index)

    @cached_property
    def job_by_name(self) -> dict[JobName, Job]:
        """The jobs by name."""
        return {job.name: job for job in self.jobs}

    @cached_property
    def queue_by_name(self) -> dict[QueueName, Queue]:
        """The queues by name."""
        return {queue.name: queue for queue in self.queues}

    @cached_property
    def priorities(self) -> tuple[int, ...]:
        """The distinct priorities of all jobs, highest first."""
        return tuple(sorted({job.priority for job in self.jobs}, reverse=True))

    @cached_property
    def priority_weight(self) -> dict[int, int]:
        """What a GPU-second of each priority counts: 1 for the lowest, one more for each above."""
        return {priority: rank for rank, priority in enumerate(reversed(self.priorities), start=1)}

    @cached_property
    def entitlements(self) -> dict[tuple[QueueName, GpuType], int]:
        """How much of its guarantees each queue can claim, in milli-GPUs by type."""
        return entitlements_of(self.nodes, self.jobs, self.queues, self.queue_chain)

    @cached_property
    def queue_chain(self) -> dict[QueueName, tuple[QueueName, ...]]:
        """Each queue with its ancestors, itself first."""
        return {queue.name: self._chain(queue.name) for queue in self.queues}

    def _chain(self, name: QueueName) -> tuple[QueueName, ...]:
        chain: dict[QueueName, None] = {}
        at: QueueName | None = name
        while at is not None and at in self.queue_by_name and at not in chain:
            chain[at] = None
            at = self.queue_by_name[at].parent
        return tuple(chain)


_DERIVED: Final = frozenset(
    name for name, each in vars(Problem).items() if isinstance(each, cached_property)
)
"""What depends on nodes, jobs and queues alone."""
