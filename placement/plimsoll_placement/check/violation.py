"""What can be wrong with a plan: the rules by name, and the violations found."""

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """What must always hold of placements."""

    KNOWN_NAMES = "KnownNames"
    REPLICA_ONCE = "ReplicaOnce"
    REPLICA_WHOLE = "ReplicaWhole"
    REPLICA_COUNT = "ReplicaCount"
    ONE_SIZE = "OneSize"
    ONE_GPU_TYPE = "OneGpuType"
    GPU_TYPE = "GpuType"
    ELIGIBLE = "Eligible"
    USABLE = "Usable"
    OPEN = "Open"
    PINNED = "Pinned"
    SPOT_SHARE = "SpotShare"
    TOPOLOGY = "Topology"
    CPU = "Cpu"
    MEMORY = "Memory"
    POD_SLOTS = "PodSlots"
    DEVICES = "Devices"
    GPU_MEMORY = "GpuMemory"
    OTHER_RESOURCES = "OtherResources"
    QUEUE_LIMIT = "QueueLimit"
    POWER_BUDGET = "PowerBudget"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: by which job, node, queue or domain, and by how much."""

    rule: Rule
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule} {self.subject}: {self.message}"


class UnsoundPlanError(Exception):
    """The placements break at least one rule; `violations` says which."""

    def __init__(self, violations: tuple[Violation, ...]) -> None:
        super().__init__("; ".join(str(violation) for violation in violations))
        self.violations = violations
