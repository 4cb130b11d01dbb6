"""What a user is told of one job, as values: what would let it run, at whose expense, and when.

The same is printed as text and as JSON or YAML.
"""

from datetime import datetime

from plimsoll.cli.output.report import JobLine, Line, Place, Report


class Remedy(Line, frozen=True):
    """Changes that together let the job run, each a sentence, and where it would run then.

    `others_stay`: if the others stay where they are, for else they would take what is freed.
    `certain`: that no part of the changes suffices is proven, and not only that none was found.
    """

    changes: tuple[str, ...]
    place: tuple[Place, ...]
    displaced: tuple[str, ...]
    others_stay: bool
    certain: bool


class Lost(Line, frozen=True):
    """A job that loses its place, or some of it, and the work that it loses by that."""

    job: str
    priority: int
    stops: bool
    gpus: float
    gpu_hours_lost: float


class GivingWay(Line, frozen=True):
    """The least priority by which the job would run at once, and at whose expense."""

    priority: int
    place: tuple[Place, ...]
    losses: tuple[Lost, ...]
    gpu_hours_lost: float


class EarliestStart(Line, frozen=True):
    """When there is room for the job by what is known, and when it is its turn, where known."""

    at: datetime
    after: tuple[str, ...]
    in_turn_at: datetime | None


class Why(Line, frozen=True):
    """All that is told of a job; `remedies` and so on are for who waits or lacks replicas."""

    job: JobLine
    remedies: tuple[Remedy, ...] = ()
    giving_way: GivingWay | None = None
    earliest_start: EarliestStart | None = None


class Moved(Line, frozen=True):
    """A job that fares otherwise because of what is applied: by words, and by where it is."""

    job: str
    priority: int | None
    fate: str
    before: tuple[Place, ...]
    after: tuple[Place, ...]
    gpu_hours_lost: float


class Cost(Line, frozen=True):
    """What a job costs where it would run; of unknown length it has no end and no total."""

    dollars_per_hour: float
    watts: float
    seconds: int | None
    dollars: float | None


class Simulated(Line, frozen=True):
    """What would become of an applied job: by the next plan, or later, and at what cost."""

    why: Why
    starts: str
    cost: Cost | None


class Simulation(Line, frozen=True):
    """What would become of all that is applied, and of the others by it."""

    applied: tuple[Simulated, ...]
    others: tuple[Moved, ...]
    gpu_hours_lost: float


class Difference(Line, frozen=True):
    """A job that the plan of today treats otherwise than the recorded one did."""

    job: str
    recorded: str
    now: str


class Replay(Line, frozen=True):
    """A plan made again from a file, what differs from the recorded one, and why jobs wait."""

    taken: datetime
    program_version: str
    same: bool
    differences: tuple[Difference, ...]
    report: Report
    waiting: tuple[Why, ...]
