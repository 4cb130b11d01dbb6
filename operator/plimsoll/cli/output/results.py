"""What the commands report about single jobs, as values: remedies, costs to others, and times.

Text, JSON and YAML are all written from these.
"""

from datetime import datetime

from plimsoll.cli.output.report import JobLine, Line, Place, Report


class Remedy(Line, frozen=True):
    """Changes that together let the job run, one sentence each, and where it would then run.

    `others_stay`: whether this requires the other jobs to stay where they are, since they would
    otherwise take what is freed. `certain`: whether it is proven that no part of the changes
    suffices, rather than just not found.
    """

    changes: tuple[str, ...]
    place: tuple[Place, ...]
    displaced: tuple[str, ...]
    others_stay: bool
    certain: bool


class Lost(Line, frozen=True):
    """A job that loses all or part of its place, and the work it loses."""

    job: str
    priority: int
    stops: bool
    gpus: float
    gpu_hours_lost: float


class GivingWay(Line, frozen=True):
    """The lowest priority at which the job would run at once, and which jobs it would displace.

    `pays` says whether what it gains within `gain_hours` is enough for the work that they lose.
    `gpu_hours_allowed` is set if they would lose more than plans may throw away now.
    """

    priority: int
    place: tuple[Place, ...]
    losses: tuple[Lost, ...]
    gpu_hours_lost: float
    gpu_hours_gained: float
    gain_hours: float
    pays: bool
    gpu_hours_allowed: float | None = None


class EarliestStart(Line, frozen=True):
    """When the job is expected to fit, and when its turn is expected, if known."""

    at: datetime
    after: tuple[str, ...]
    in_turn_at: datetime | None


class Speed(Line, frozen=True):
    """How fast a job is taken to be on a GPU type, and on what `basis`, as in its status.

    `percent`: with the fewest workers, of the speed on the fastest type. `rate`: in `unit` of work
    per second on so many `workers`, if known.
    """

    accelerator_type: str
    basis: str
    unit: str
    percent: int | None = None
    workers: int | None = None
    rate: float | None = None


class Why(Line, frozen=True):
    """Everything known about a job.

    All but `job` and `speeds` apply to jobs that wait or lack replicas.
    """

    job: JobLine
    remedies: tuple[Remedy, ...] = ()
    giving_way: GivingWay | None = None
    earliest_start: EarliestStart | None = None
    speeds: tuple[Speed, ...] = ()


class Moved(Line, frozen=True):
    """A job affected by what is applied: what happens to it, and where it is before and after."""

    job: str
    priority: int | None
    fate: str
    before: tuple[Place, ...]
    after: tuple[Place, ...]
    gpu_hours_lost: float


class Cost(Line, frozen=True):
    """What a job costs where it would run: no dollars if no GPU there has a price.

    If its length is unknown, there is no total. `late_seconds`: how long after its deadline it ends
    even if it starts at once, if so.
    """

    dollars_per_hour: float | None
    watts: float
    seconds: int | None
    dollars: float | None
    late_seconds: int | None = None


class Simulated(Line, frozen=True):
    """The outcome for an applied job: when it starts, and at what cost."""

    why: Why
    starts: str
    cost: Cost | None


class Simulation(Line, frozen=True):
    """The outcome for everything applied, and the effect on other jobs."""

    applied: tuple[Simulated, ...]
    others: tuple[Moved, ...]
    gpu_hours_lost: float


class Difference(Line, frozen=True):
    """A job that today's plan treats differently from the recorded one."""

    job: str
    recorded: str
    now: str


class Replay(Line, frozen=True):
    """A plan made again from a file, its differences from the recorded one, and why jobs wait."""

    taken: datetime
    program_version: str
    same: bool
    differences: tuple[Difference, ...]
    report: Report
    waiting: tuple[Why, ...]
