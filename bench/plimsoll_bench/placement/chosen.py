"""A choice among ways to place jobs, as a model, and what the chosen ones may take together.

The rules are those of `check/`, which also decides which pods the devices of a node can serve
together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

from plimsoll_bench.placement.enumerated import Held, Way, ways
from plimsoll_placement.check.device_fit import devices_fit
from plimsoll_placement.model import Devices, GpuType, JobName, Node, NodeName, Shape
from plimsoll_placement.problem import Problem

Terms = list[tuple[IntVar, int]]
Key = tuple[str, str]

MICRO_PER_MILLI = 1000
MOST_COUNTS = 20_000


class TooManyCountsError(Exception):
    """One node allows more mixtures of pods than may be examined."""


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A way, with how often it is taken."""

    way: Way
    count: IntVar


def total(terms: Sequence[tuple[IntVar, int]], constant: int = 0) -> LinearExpr:
    """A linear expression."""
    variables = [variable for variable, _ in terms]
    coefficients = [coefficient for _, coefficient in terms]
    # OR-Tools' stubs leave the parameters of this function untyped.
    return LinearExpr.weighted_sum(variables, coefficients) + constant  # pyright: ignore[reportUnknownMemberType]


class Choice:
    """The ways of all jobs that are not pinned, and all that they share."""

    def __init__(self, problem: Problem, most_ways: int) -> None:
        self.problem = problem
        self.model = CpModel()
        self.pinned: dict[JobName, Held] = {j.name: j.running for j in problem.jobs if j.pinned}
        self.units = [
            Unit(way, self.model.new_int_var(0, way.most, ""))
            for job in problem.jobs
            if not job.pinned
            for way in ways(problem, job, most_ways)
        ]
        self._nodes_suffice()
        self._limits_hold()
        self._budgets_hold()

    def units_of(self, name: JobName) -> list[Unit]:
        """The ways of one job."""
        return [unit for unit in self.units if unit.way.job.name == name]

    def _pods(self) -> Iterator[tuple[IntVar, NodeName, GpuType, Shape]]:
        """What each way takes, pod by pod."""
        for unit in self.units:
            for assignment in unit.way.held:
                shape = unit.way.job.role(assignment.role).shape
                for name in assignment.nodes:
                    yield unit.count, name, assignment.gpu_type, shape

    def _held_pods(self) -> Iterator[tuple[NodeName, GpuType, Shape]]:
        for name, held in self.pinned.items():
            shapes = {role.name: role.shape for role in self.problem.job_by_name[name].roles}
            for assignment in (a for a in held if a.role in shapes):
                for node in assignment.nodes:
                    yield node, assignment.gpu_type, shapes[assignment.role]

    def _at_most(self, terms: dict[Key, Terms], held: Counter[Key], key: Key, limit: int) -> None:
        if terms[key]:
            self.model.add(total(terms[key], held[key]) <= max(limit, held[key]))

    def _nodes_suffice(self) -> None:
        """No CPU, memory, pod slot or device is allocated twice."""
        terms: dict[Key, Terms] = defaultdict(list)
        held: Counter[Key] = Counter()
        for count, name, _, shape in self._pods():
            for what, amount in _amounts(shape):
                terms[name, what].append((count, amount))
        for name, _, shape in self._held_pods():
            for what, amount in _amounts(shape):
                held[name, what] += amount
        for node in self.problem.nodes:
            self._at_most(terms, held, (node.name, "cpu"), node.cpu_millis)
            self._at_most(terms, held, (node.name, "memory"), node.memory_bytes)
            self._at_most(terms, held, (node.name, "slots"), node.pod_slots)
            for gpu_type in {devices.gpu_type for devices in node.devices}:
                self._devices_suffice(node, gpu_type)

    def _devices_suffice(self, node: Node, gpu_type: GpuType) -> None:
        """The pods on a node are one of the mixtures that its devices can serve."""
        asked: dict[int, Terms] = defaultdict(list)
        for count, name, kind, shape in self._pods():
            if (name, kind) == (node.name, gpu_type):
                asked[shape.gpu_milli].append((count, 1))
        held = [
            shape.gpu_milli
            for name, kind, shape in self._held_pods()
            if (name, kind) == (node.name, gpu_type)
        ]
        if not asked:
            return
        groups = [devices for devices in node.devices if devices.gpu_type == gpu_type]
        most = [_most_alone(groups, milli) for milli in asked]
        mixtures = [
            mixture
            for mixture in _mixtures(most)
            if not any(mixture) or devices_fit(groups, [*held, *_pods_of(mixture, list(asked))])
        ]
        counts = [self.model.new_int_var(0, each, "") for each in most]
        for count, terms in zip(counts, asked.values(), strict=True):
            self.model.add(total(terms) == count)
        self.model.add_allowed_assignments(counts, mixtures)

    def _limits_hold(self) -> None:
        """Queues stay within their limits."""
        terms: dict[Key, Terms] = defaultdict(list)
        held: Counter[Key] = Counter()
        chain, jobs = self.problem.queue_chain, self.problem.job_by_name
        for unit in self.units:
            for assignment in unit.way.held:
                milli = unit.way.job.role(assignment.role).shape.gpu_milli * len(assignment.nodes)
                for queue in chain.get(unit.way.job.queue, ()):
                    terms[queue, assignment.gpu_type].append((unit.count, milli))
        for name, assignments in self.pinned.items():
            shapes = {role.name: role.shape for role in jobs[name].roles}
            for assignment in (a for a in assignments if a.role in shapes):
                for queue in chain.get(jobs[name].queue, ()):
                    milli = shapes[assignment.role].gpu_milli * len(assignment.nodes)
                    held[queue, assignment.gpu_type] += milli
        for queue in self.problem.queues:
            for gpu_type, limit in queue.limit.items():
                self._at_most(terms, held, (queue.name, gpu_type), limit)

    def _budgets_hold(self) -> None:
        """Power domains stay within their budgets."""
        terms: dict[Key, Terms] = defaultdict(list)
        held: Counter[Key] = Counter()
        nodes = {node.name: node for node in self.problem.nodes}
        for count, name, _, shape in self._pods():
            for domain in nodes[name].power_domains:
                drawn = shape.draw_milli * nodes[name].busy_milliwatts
                terms[domain, "power"].append((count, drawn))
        for name, _, shape in self._held_pods():
            for domain in nodes[name].power_domains if name in nodes else ():
                held[domain, "power"] += shape.draw_milli * nodes[name].busy_milliwatts
        for domain in self.problem.power_domains:
            budget = (domain.budget_milliwatts - domain.base_milliwatts) * MICRO_PER_MILLI
            self._at_most(terms, held, (domain.name, "power"), budget)


def _amounts(shape: Shape) -> tuple[tuple[str, int], ...]:
    return ("cpu", shape.cpu_millis), ("memory", shape.memory_bytes), ("slots", 1)


def _most_alone(groups: Sequence[Devices], milli: int) -> int:
    """How many pods of one kind the devices can serve."""
    count = 0
    while devices_fit(groups, [milli] * (count + 1)):
        count += 1
    return count


def _mixtures(most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    size = 1
    for each in most:
        size *= each + 1
    if size > MOST_COUNTS:
        raise TooManyCountsError
    return product(*(range(each + 1) for each in most))


def _pods_of(mixture: Sequence[int], millis: Sequence[int]) -> list[int]:
    return [m for m, count in zip(millis, mixture, strict=True) for _ in range(count)]
