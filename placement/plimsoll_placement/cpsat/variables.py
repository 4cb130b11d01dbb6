"""The decisions, as variables of the model.

For each class of like jobs: how many units stay where they run, how many jobs run by each option,
how far these grow, and how many of their pods each node class holds.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ortools.sat.python.cp_model import CpModel, IntVar

from plimsoll_placement.classes.job_classes import JobClass, Stay
from plimsoll_placement.classes.options import Option
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.cpsat.sums import Sum
from plimsoll_placement.model import Role

Derive = Callable[[Sequence[int]], int]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """How many units of what runs stay, over all jobs of the class."""

    job_class: JobClass
    stay: Stay
    units: IntVar


@dataclass(frozen=True, slots=True, eq=False)
class Pods:
    """How many pods of an option a node class holds.

    If the option has only one node class, its own count says it, and there is no `variable`.
    """

    node_class: int
    count: Sum
    variable: IntVar | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fresh:
    """What runs anew by one option, over all jobs of the class.

    `runs` is how many gangs do, `growth` how many steps of each segment they have grown; `count` is
    how many independent replicas do, unless their pods say it. `replicas` is the total of any of
    these.
    """

    job_class: JobClass
    option: Option
    runs: IntVar | None
    growth: tuple[IntVar, ...]
    count: IntVar | None
    replicas: Sum
    pods: tuple[Pods, ...]

    @property
    def role(self) -> Role:
        """The role whose replicas these are."""
        return self.option.role


@dataclass(frozen=True, slots=True, eq=False)
class Service:
    """What independent replicas serve together, in useful milli-GPUs.

    `runs` is how many of the jobs run, `served` by role, `kept` how much of it ran already.
    """

    runs: IntVar
    served: tuple[IntVar, ...]
    kept: IntVar


@dataclass(frozen=True, slots=True, eq=False)
class GroupVariables:
    """The variables of one job class; only gangs have no service."""

    job_class: JobClass
    kept: tuple[Kept, ...]
    fresh: tuple[Fresh, ...]
    service: Service | None

    @property
    def gangs(self) -> list[tuple[IntVar, int]]:
        """How many gangs run, in whatever way."""
        fresh = [(fresh.runs, 1) for fresh in self.fresh if fresh.runs is not None]
        return [*fresh, *((kept.units, 1) for kept in self.kept)]

    def carried(self, role: Role) -> Sum:
        """What the independent replicas of a role can serve."""
        total = Sum()
        for fresh in self.fresh:
            if fresh.role.name == role.name:
                total.add(fresh.replicas.terms, role.yields[fresh.option.gpu_type][0])
        for kept in self.kept:
            if kept.stay.role.name == role.name:
                total.add([(kept.units, role.yields[kept.stay.gpu_type][0])])
        return total

    def replicas(self, role: Role) -> Sum:
        """How many replicas of a role run, including those that stay."""
        total = Sum()
        for fresh in self.fresh:
            if fresh.role.name == role.name:
                total.add(fresh.replicas.terms)
        for kept in self.kept:
            if kept.stay.role.name == role.name:
                total.add([(kept.units, kept.stay.replicas)])
        return total


@dataclass(frozen=True, slots=True, eq=False)
class Variables:
    """All variables; `derived` are those that follow from the others, each with its formula."""

    model: CpModel
    job_classes: tuple[GroupVariables, ...]
    derived: list[tuple[IntVar, Derive]] = field(default_factory=list[tuple[IntVar, Derive]])

    @property
    def kept(self) -> Iterator[Kept]:
        """What stays, over all job classes."""
        return (kept for each in self.job_classes for kept in each.kept)

    @property
    def fresh(self) -> Iterator[Fresh]:
        """What runs anew, over all job classes."""
        return (fresh for each in self.job_classes for fresh in each.fresh)

    @property
    def services(self) -> Iterator[tuple[GroupVariables, Service]]:
        """The job classes that serve, with what they serve."""
        return ((each, each.service) for each in self.job_classes if each.service)

    @property
    def count(self) -> int:
        """How many variables the model has."""
        # OR-Tools' stubs leave the contents of its protobufs untyped.
        return len(self.model.proto.variables)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]

    def derive(self, most: int, formula: Derive) -> IntVar:
        """A further variable from 0 to `most`, which `formula` computes from other variables."""
        variable = self.model.new_int_var(0, max(most, 0), "")
        self.derived.append((variable, formula))
        return variable


def variables(relaxation: Relaxation) -> Variables:
    """The variables of a new model, with only the constraints that define them."""
    model = CpModel()
    pairs = zip(relaxation.job_classes, relaxation.options, strict=True)
    return Variables(
        model,
        tuple(_of_group(model, relaxation, job_class, options) for job_class, options in pairs),
    )


def _of_group(
    model: CpModel, relaxation: Relaxation, job_class: JobClass, options: tuple[Option, ...]
) -> GroupVariables:
    make = _fresh_gangs if job_class.job.gang else _fresh_replicas
    return GroupVariables(
        job_class,
        kept=tuple(
            Kept(job_class, stay, model.new_int_var(0, job_class.size * len(stay.units), ""))
            for stay in job_class.stays
        ),
        fresh=tuple(make(model, relaxation, job_class, option) for option in options),
        service=None if job_class.job.gang else _service(model, job_class),
    )


def _fresh_gangs(
    model: CpModel, relaxation: Relaxation, job_class: JobClass, option: Option
) -> Fresh:
    runs = model.new_int_var(0, job_class.size, "")
    growth = tuple(
        model.new_int_var(0, job_class.size * segment.steps, "") for segment in option.segments
    )
    replicas = Sum().add([(runs, option.least)])
    for variable, segment in zip(growth, option.segments, strict=True):
        replicas.add([(variable, segment.replicas)])
    pods = _pods(model, relaxation, job_class, option, replicas)
    return Fresh(job_class, option, runs, growth, None, replicas, pods)


def _fresh_replicas(
    model: CpModel, relaxation: Relaxation, job_class: JobClass, option: Option
) -> Fresh:
    if option.role.pods_per_replica == 1:
        pods = tuple(_spread(model, relaxation, job_class, option))
        replicas = Sum()
        for each in pods:
            replicas.add(each.count.terms)
        return Fresh(job_class, option, None, (), None, replicas, pods)
    count = model.new_int_var(0, job_class.size * option.most, "")
    replicas = Sum().add([(count, 1)])
    pods = _pods(model, relaxation, job_class, option, replicas)
    return Fresh(job_class, option, None, (), count, replicas, pods)


def _pods(
    model: CpModel, relaxation: Relaxation, job_class: JobClass, option: Option, replicas: Sum
) -> tuple[Pods, ...]:
    """Every pod of the replicas is in one of the option's node classes."""
    total = Sum().add(replicas.terms, option.role.pods_per_replica)
    if len(option.node_classes) == 1:
        return (Pods(option.node_classes[0], total),)
    pods = tuple(_spread(model, relaxation, job_class, option))
    balance = Sum().add(total.terms)
    for each in pods:
        balance.add(each.count.terms, -1)
    model.add(balance.expression() == 0)
    return pods


def _spread(
    model: CpModel, relaxation: Relaxation, job_class: JobClass, option: Option
) -> Iterator[Pods]:
    most = job_class.size * option.most * option.role.pods_per_replica
    for place in option.node_classes:
        room = int(relaxation.node_classes.node_classes[place].room(option.role.shape).sum())
        variable = model.new_int_var(0, min(room, most), "")
        yield Pods(place, Sum().add([(variable, 1)]), variable)


def _service(model: CpModel, job_class: JobClass) -> Service:
    wanted = [role.wanted_milli * job_class.size for role in job_class.job.roles]
    return Service(
        runs=model.new_int_var(0, job_class.size, ""),
        served=tuple(model.new_int_var(0, milli, "") for milli in wanted),
        kept=model.new_int_var(0, job_class.served_milli * job_class.size, ""),
    )
