"""What stays the same whatever a problem's placements are: where jobs can go, and domains."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from plimsoll_placement.model import NO_GPUS, GpuType, Job
from plimsoll_placement.problem import Problem
from plimsoll_placement.score.worth import domain_of

Rows = Sequence[int]


class ProblemIndex:
    """A problem, indexed; each result is remembered."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.jobs = tuple(job for job in problem.jobs if not job.pinned)
        self._rows_for: dict[tuple[tuple[int, frozenset[GpuType]], ...], list[int]] = {}

    def rows_for(self, job: Job) -> Rows:
        """The rows that could take new pods of a job if they had room."""
        key = tuple((role.eligible, frozenset(role.yields)) for role in job.roles)
        known = self._rows_for.get(key)
        if known is None:
            suitable = (row for wanted in key for row in self._suitable(*wanted))
            known = self._rows_for[key] = list(dict.fromkeys(suitable))
        return known

    def domain_with(self, level: int, row: int) -> Rows:
        """The rows of the domain of a level that a row is in."""
        name = domain_of(self.problem, self.problem.nodes[row].name, level)
        return self._domains[level][name]

    @cached_property
    def alike(self) -> dict[frozenset[GpuType], list[int]]:
        """The rows by the GPU types that they offer."""
        found: dict[frozenset[GpuType], list[int]] = defaultdict(list)
        for row, node in enumerate(self.problem.nodes):
            found[frozenset(devices.gpu_type for devices in node.devices)].append(row)
        return found

    def like(self, row: int) -> Rows:
        """The rows that offer the same GPU types."""
        node = self.problem.nodes[row]
        return self.alike[frozenset(devices.gpu_type for devices in node.devices)]

    @cached_property
    def _domains(self) -> list[dict[tuple[str, str], list[int]]]:
        """The rows of each topology domain, by level."""
        found: list[dict[tuple[str, str], list[int]]] = []
        for level in range(len(self.problem.levels)):
            rows: dict[tuple[str, str], list[int]] = defaultdict(list)
            for row, node in enumerate(self.problem.nodes):
                rows[domain_of(self.problem, node.name, level)].append(row)
            found.append(rows)
        return found

    def _suitable(self, eligible: int, gpu_types: frozenset[GpuType]) -> list[int]:
        return [
            row
            for row, node in enumerate(self.problem.nodes)
            if eligible >> row & 1
            and node.open
            and node.usable
            and (
                NO_GPUS in gpu_types
                or any(devices.gpu_type in gpu_types for devices in node.devices)
            )
        ]
