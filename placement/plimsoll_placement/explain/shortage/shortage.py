"""What one role lacks on one GPU type, in numbers."""

from dataclasses import dataclass
from enum import StrEnum

from plimsoll_placement.model import Amounts, DomainName, GpuType, QueueName, RoleName, Shape


class Reason(StrEnum):
    """Why a job waits; the words are those that the operator shows its users."""

    CANNOT_FIT = "CannotFit"
    INSUFFICIENT_GPUS = "InsufficientGPUs"
    INSUFFICIENT_RESOURCES = "InsufficientResources"
    NO_ELIGIBLE_NODE = "NoEligibleNode"
    QUEUE_LIMIT = "QueueLimit"
    POWER_BUDGET = "PowerBudget"
    SPOT_SHARE = "SpotShare"
    TOPOLOGY_UNSATISFIED = "TopologyUnsatisfied"
    LOWER_PRIORITY = "LowerPriority"
    PENDING = "Pending"


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked for: `groups` groups of `group_pods` pods, each group in one domain of `level`.

    A gang is one group; of an inference job each replica is one. `level` is a name, "" for none.
    """

    role: RoleName
    gpu_type: GpuType
    shape: Shape
    groups: int
    group_pods: int
    level: str = ""

    @property
    def pods(self) -> int:
        """All pods together."""
        return self.groups * self.group_pods

    @property
    def gpu_milli(self) -> int:
        """All milli-GPUs together."""
        return self.pods * self.shape.gpu_milli


@dataclass(frozen=True, slots=True)
class NodesInReach:
    """How many nodes offer the GPU type, which remain, and the most that they have.

    `offering` have such GPUs; selectors, affinity and tolerations admit `eligible` of them, of
    which `open` take new pods. `spot` of those are spot nodes that the job may not use at all.
    `most_free_milli` is the most that is free on one remaining node (of one device, for a
    fraction). `pods` have room on the devices of all that remain, at most `most_pods` on one of
    them when empty.
    """

    offering: int = 0
    eligible: int = 0
    open: int = 0
    spot: int = 0
    most_free_milli: int = 0
    pods: int = 0
    most_pods: int = 0
    grants_share: bool = False


@dataclass(frozen=True, slots=True)
class QueueRoom:
    """The queue of the chain that has the least left of the type, and how much."""

    queue: QueueName
    milli: int


@dataclass(frozen=True, slots=True)
class OtherRoom:
    """The most CPU and memory free on a node with room on its devices; the pods that fit in all.

    `gpu_memory_bytes` is the most that one pod could have of its shared GPUs' memory, `others` the
    most that is free of other resources that are asked for.
    """

    cpu_millis: int
    memory_bytes: int
    gpu_memory_bytes: int
    pods: int
    others: Amounts = ()


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """The domain of the required level with room for the most pods; "" where none has any."""

    domain: str
    pods: int


@dataclass(frozen=True, slots=True)
class PowerGap:
    """How much power a domain lacks, at its nodes' least draw."""

    domain: DomainName
    missing_milliwatts: int
    budget_milliwatts: int


@dataclass(frozen=True, slots=True)
class Shortage:
    """Why one role cannot be placed on one GPU type.

    `reason` is the first constraint that rules it out, given those named before it in the order of
    `diagnosis.py`. `bound`: no more than this many groups can be placed; if it is not below what is
    asked, it is not proven that no placement exists. `spot_pods` may be on spot nodes, and
    `steady_pods` fit off them. Of the type, on nodes that the role may run on, jobs of higher
    priority hold `ahead_milli`, and of those of no higher priority pinned ones `pinned_milli` and
    gangs whose stop would throw away more than the job gains `costly_milli`.
    """

    reason: Reason
    ask: Ask
    nodes: NodesInReach
    bound: int
    spot_pods: int = 0
    steady_pods: int = 0
    queue: QueueRoom | None = None
    others: OtherRoom | None = None
    domain: DomainRoom | None = None
    power: PowerGap | None = None
    ahead_milli: int = 0
    pinned_milli: int = 0
    costly_milli: int = 0

    @property
    def nearness(self) -> float:
        """The share of what is asked that can be had; the closest type is reported first."""
        if self.reason is Reason.NO_ELIGIBLE_NODE:
            return -1.0
        return min(1.0, self._had_pods / max(self.ask.pods, 1), self._had_of_pod)

    @property
    def _had_pods(self) -> float:
        if self.reason is Reason.QUEUE_LIMIT and self.queue is not None:
            return max(0, self.queue.milli) / max(self.ask.shape.gpu_milli, 1)
        if self.reason is Reason.TOPOLOGY_UNSATISFIED and self.domain is not None:
            return self.domain.pods
        return max(self.nodes.pods, self._had_of_pod)

    @property
    def _had_of_pod(self) -> float:
        return min(1.0, self.nodes.most_free_milli / max(self.ask.shape.gpu_milli, 1))
