"""What the linear program chooses: how much of each job class runs in which way.

Counts are those of `cpsat/variables.py` without being integers. GPUs are counted whole here, not in
thousandths, so that the columns are of similar magnitude.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import floor

from plimsoll_placement.classes.job_classes import JobClass, Stay
from plimsoll_placement.classes.options import Option
from plimsoll_placement.classes.relaxation import Relaxation
from plimsoll_placement.lp.program import Column, Program, Row
from plimsoll_placement.model import WHOLE_GPU_MILLI, GpuType, Role, RoleName
from plimsoll_placement.score.worth import WHOLE_PERCENT

LEAST_PART = 1e-3
"""Less than this share of a replica is no reason for a cut, with coefficients that grow by it."""


@dataclass(frozen=True, slots=True)
class Way:
    """One option in one node class: gangs at their least size plus growth steps, or replicas."""

    option: Option
    node_class: int
    count: Column
    growth: tuple[Column, ...]

    @property
    def replicas(self) -> list[tuple[Column, float]]:
        """How many replicas that is."""
        grown = zip(self.growth, self.option.segments, strict=True)
        return [
            (self.count, float(self.option.least or 1)),
            *((column, float(segment.replicas)) for column, segment in grown),
        ]


@dataclass(frozen=True, slots=True)
class Service:
    """What the replicas of a class serve by role, what of that ran already, how many jobs run."""

    served: tuple[tuple[RoleName, Column], ...]
    kept: Column
    runs: Column


@dataclass(frozen=True, slots=True, eq=False)
class Shares:
    """The columns of one job class; only services have a `service`.

    `whole` is the row that holds how many gangs of the class run, if there is one. `in_option` are
    those for how many do by an option, by its first column, where that does not follow.
    """

    job_class: JobClass
    ways: tuple[Way, ...]
    stays: tuple[tuple[Stay, Column], ...]
    service: Service | None = None
    whole: Row | None = None
    in_option: Mapping[Column, Row] = field(default_factory=dict[Column, Row])

    def by_option(self) -> list[tuple[Way, ...]]:
        """The ways of each option together."""
        found: dict[int, list[Way]] = {}
        for way in self.ways:
            found.setdefault(id(way.option), []).append(way)
        return [tuple(ways) for ways in found.values()]

    def replicas(self, role: RoleName) -> Iterator[tuple[Column, float]]:
        """How many replicas of a role run."""
        for way in self.ways:
            if way.option.role.name == role:
                yield from way.replicas
        for stay, column in self.stays:
            if stay.role.name == role:
                yield column, float(stay.replicas)


def shares(program: Program, relaxed: Relaxation) -> tuple[Shares, ...]:
    """Columns for all job classes, with the rows that hold within each."""
    pairs = zip(relaxed.job_classes, relaxed.options, strict=True)
    found = [
        _gangs(program, job_class, options)
        if job_class.job.gang
        else _replicas(program, job_class, options)
        for job_class, options in pairs
    ]
    for own in found:
        _spot_share(program, relaxed, own)
    return tuple(found)


def _stays(program: Program, job_class: JobClass) -> tuple[tuple[Stay, Column], ...]:
    return tuple(
        (stay, program.column(float(job_class.size * len(stay.units)))) for stay in job_class.stays
    )


def _gangs(program: Program, job_class: JobClass, options: tuple[Option, ...]) -> Shares:
    size = float(job_class.size)
    stays, ways, rows = _stays(program, job_class), list[Way](), dict[Column, Row]()
    for option in options:
        own = [_gang_way(program, option, node_class, size) for node_class in option.node_classes]
        for place, segment in enumerate(option.segments):
            grown = [(way.growth[place], 1.0) for way in own]
            runs = [(way.count, -float(segment.steps)) for way in own]
            program.at_most([*grown, *runs], 0.0)
        ways += own
        if size > 1 and len(own) > 1 and (stays or len(options) > 1):
            row = program.at_most([(way.count, 1.0) for way in own], size)
            rows |= {} if row is None else {own[0].count: row}
    counts = [way.count for way in ways] + [column for _, column in stays]
    whole = program.at_most([(column, 1.0) for column in counts], size)
    return Shares(job_class, tuple(ways), stays, whole=whole, in_option=rows)


def _gang_way(program: Program, option: Option, node_class: int, size: float) -> Way:
    growth = (program.column(size * segment.steps) for segment in option.segments)
    return Way(option, node_class, program.column(size), tuple(growth))


def _replicas(program: Program, job_class: JobClass, options: tuple[Option, ...]) -> Shares:
    size = float(job_class.size)
    stays = _stays(program, job_class)
    ways = tuple(
        Way(option, node_class, program.column(size * option.most), ())
        for option in options
        for node_class in option.node_classes
    )
    service = Service(
        tuple(
            (role.name, program.column(_gpus(role.wanted_milli) * size))
            for role in job_class.job.roles
        ),
        program.column(_gpus(job_class.served_milli) * size),
        program.column(size),
    )
    own = Shares(job_class, ways, stays, service)
    _serve(program, own, service)
    return own


def _serve(program: Program, own: Shares, service: Service) -> None:
    """No job serves more than its replicas carry, nor with fewer than the least of each role."""
    runs = service.runs
    for role, (name, served) in zip(own.job_class.job.roles, service.served, strict=True):
        carried: dict[Column, float] = defaultdict(float)
        for column, replicas, gpu_type in _by_type(own, name):
            carried[column] -= replicas * _carried(role, gpu_type)
        program.at_most([(served, 1.0), *carried.items()], 0.0)
        program.at_most([(served, 1.0), (runs, -_gpus(role.wanted_milli))], 0.0)
        for gpu_type in role.yields:
            _serve_in_whole(program, own, service, (role, served), gpu_type)
        replicas = list(own.replicas(name))
        if role.wanted_count:
            part = _gpus(role.wanted_milli) / role.wanted_count
            program.at_most([(served, 1.0), *((c, -n * part) for c, n in replicas)], 0.0)
        program.at_most([*replicas, (runs, -float(role.counts[-1]))], 0.0)
        program.at_most([(runs, float(role.least)), *((c, -n) for c, n in replicas)], 0.0)
    all_served = [(column, -1.0) for _, column in service.served]
    program.at_most([(service.kept, 1.0), *all_served], 0.0)


def _serve_in_whole(
    program: Program, own: Shares, service: Service, role: tuple[Role, Column], gpu_type: GpuType
) -> None:
    """Replicas are whole: half of the last one that is needed does not carry half of its load.

    The mixed-integer rounding cut (Nemhauser and Wolsey, 1990) of what replicas carry and what is
    not served against what is wanted, both divided by what one on a GPU type carries.
    """
    unit, wanted = _carried(role[0], gpu_type), _gpus(role[0].wanted_milli)
    if not unit:
        return
    whole = floor(wanted / unit)
    part = wanted / unit - whole
    if part < LEAST_PART or part > 1 - LEAST_PART:
        return
    terms = [(role[1], 1 / (unit * part)), (service.runs, whole + 1 - wanted / (unit * part))]
    for column, replicas, kind in _by_type(own, role[0].name):
        times = _carried(role[0], kind) / unit
        rounded = floor(times) + min(1.0, (times - floor(times)) / part)
        terms.append((column, -replicas * rounded))
    program.at_most(terms, 0.0)


def _by_type(own: Shares, name: RoleName) -> Iterator[tuple[Column, float, GpuType]]:
    """The columns of a role's replicas, how many each is, and their type."""
    for way in own.ways:
        if way.option.role.name == name:
            yield way.count, 1.0, way.option.gpu_type
    for stay, column in own.stays:
        if stay.role.name == name:
            yield column, float(stay.replicas), stay.gpu_type


def _carried(role: Role, gpu_type: GpuType) -> float:
    """What a replica carries, in useful GPUs."""
    return _gpus(role.carries(gpu_type)) / role.fineness


def _spot_share(program: Program, relaxed: Relaxation, own: Shares) -> None:
    """No more of the replicas are on spot nodes than the share that the jobs allow."""
    percent = own.job_class.job.spot_percent
    if percent in (0, WHOLE_PERCENT):
        return
    terms: list[tuple[Column, float]] = []
    for way in own.ways:
        spot = WHOLE_PERCENT if relaxed.node_classes.node_classes[way.node_class].node.spot else 0
        terms += [(column, count * (spot - percent)) for column, count in way.replicas]
    for stay, column in own.stays:
        terms.append((column, WHOLE_PERCENT * stay.spot_replicas - percent * stay.replicas))
    program.at_most(terms, 0.0)


def _gpus(milli: int) -> float:
    return milli / WHOLE_GPU_MILLI
