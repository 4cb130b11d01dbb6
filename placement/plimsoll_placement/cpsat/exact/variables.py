"""The decisions about the jobs of a scope, as variables of the model.

Whether a job stays where it runs; if not, how large it is and how many of its pods each node has.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel, IntVar

from plimsoll_placement.cpsat.exact.scope import Remains
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import Assignment, Assignments, GpuType, Job, Role


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Whether running assignments stay: all of a gang together, otherwise one replica's."""

    job: Job
    assignments: Assignments
    stays: IntVar


@dataclass(frozen=True, slots=True, eq=False)
class Size:
    """Whether a gang has this many replicas, within one domain of its preferred level or across.

    `place` is the position of that number in the role's counts.
    """

    place: int
    replicas: int
    crosses: bool
    chosen: IntVar


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """New replicas of a role on one GPU type: `pods` of them on each row, `replicas` in total.

    `sizes` are a gang's. `on_spot` is how many of the replicas have a pod on a spot node, where
    that is restricted.
    """

    job: Job
    role: Role
    gpu_type: GpuType
    pods: dict[int, IntVar]
    replicas: Sum
    sizes: tuple[Size, ...] = ()
    on_spot: Sum | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """What independent replicas serve: whether the job runs, by role, kept, new."""

    job: Job
    runs: IntVar
    served: tuple[IntVar, ...]
    kept: IntVar | None
    admitted: IntVar


@dataclass(slots=True)
class Variables:
    """The model with all its variables so far, and what stays beside them."""

    model: CpModel
    remains: Remains
    kept: list[Kept] = field(default_factory=list[Kept])
    batches: list[Batch] = field(default_factory=list[Batch])
    services: list[Service] = field(default_factory=list[Service])

    def yes_or_no(self) -> IntVar:
        """A new variable that is 0 or 1."""
        return self.model.new_bool_var("")

    def up_to(self, most: int) -> IntVar:
        """A new variable from 0 to `most`."""
        return self.model.new_int_var(0, most, "")

    def most(self, variable: IntVar) -> int:
        """The largest value that a variable can have."""
        # OR-Tools' stubs leave the contents of its protobufs untyped, and its lists do not count
        # from the end.
        return max(self.model.proto.variables[variable.index].domain)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType, reportUnknownVariableType]

    def pods(self) -> Iterator[tuple[Batch, int, IntVar]]:
        """The counts of new pods, with their row."""
        for batch in self.batches:
            for row, count in batch.pods.items():
                yield batch, row, count

    def kept_assignments(self) -> Iterator[tuple[Kept, Assignment, list[int]]]:
        """Each replica that may stay, with the rows of its pods."""
        index = self.remains.scope.problem.node_index
        for kept in self.kept:
            for assignment in kept.assignments:
                yield kept, assignment, [index[name] for name in assignment.nodes]
