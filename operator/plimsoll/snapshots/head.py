"""The head of a snapshot file: when it was taken, by whom, and the plan made then."""

from datetime import datetime
from typing import Self

import msgspec

from plimsoll_placement.effort import Effort
from plimsoll_placement.model import Assignment, GpuType, JobName, NodeName, Placements, RoleName
from plimsoll_placement.solution import Solution

SNAPSHOT_VERSION = 1


class Part(msgspec.Struct, frozen=True, rename="camel"):
    """A part of the head; its fields are written like those of the API."""


class RecordedAssignment(Part, frozen=True):
    """One replica of a role and the node of each of its pods."""

    role: str
    replica: int
    gpu_type: str
    nodes: tuple[str, ...]

    @classmethod
    def of(cls, assignment: Assignment) -> Self:
        """An assignment in written form."""
        return cls(assignment.role, assignment.replica, assignment.gpu_type, assignment.nodes)

    def assignment(self) -> Assignment:
        """The assignment written here."""
        nodes = tuple(map(NodeName, self.nodes))
        return Assignment(RoleName(self.role), self.replica, GpuType(self.gpu_type), nodes)


class RecordedPlan(Part, frozen=True):
    """Where each job runs by the plan; a job not named waits, or was not planned."""

    outcome: str
    gap_percent: float
    placements: dict[str, tuple[RecordedAssignment, ...]]

    @classmethod
    def of(cls, solution: Solution) -> Self:
        """A solution in written form."""
        placed = sorted((name, each) for name, each in solution.placements.items() if each)
        return cls(
            outcome=str(solution.outcome),
            gap_percent=solution.gap_percent,
            placements={name: tuple(map(RecordedAssignment.of, each)) for name, each in placed},
        )

    def by_job(self) -> Placements:
        """The placements by job."""
        return {
            JobName(name): tuple(each.assignment() for each in recorded)
            for name, recorded in self.placements.items()
        }


class Limit(Part, frozen=True):
    """What limited the search for the plan, as `Effort` has it."""

    deterministic_seconds: float
    workers: int

    @classmethod
    def of(cls, effort: Effort) -> Self:
        """An effort in written form."""
        return cls(effort.deterministic_seconds, effort.workers)

    def effort(self) -> Effort:
        """The effort written here."""
        return Effort(self.deterministic_seconds, self.workers)


class Head(Part, frozen=True):
    """Everything in a file apart from the objects."""

    snapshot_version: int
    taken: datetime
    program_version: str
    effort: Limit
    plan: RecordedPlan
