"""What accounting sees of the cluster at one moment.

Times are milliseconds since 1970, GPUs thousandths of a device. Everything is plain data, for the
last observation is kept beside the rows: it tells the next console what was there before.
"""

from dataclasses import dataclass, field

MS_PER_HOUR = 3_600_000


@dataclass(frozen=True, slots=True)
class Account:
    """The job that is charged, and whose it is; all empty for nobody."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    queue: str = ""
    user: str = ""


NOBODY = Account()
"""Whom a node's time is charged to that no job had."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where GPU time is spent, and its price: all that is alike for many GPUs.

    `share_milli` is the part of a device that a pod gets at least: 1000 where devices are whole.
    `microdollars` is the price of a GPU-hour.
    """

    gpu_type: str = ""
    pool: str = ""
    option: str = ""
    share_milli: int = 1000
    microdollars: int = 0


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices that a node hands out under one resource name, and what one of them draws."""

    resource: str
    place: Place
    milli: int
    idle_watts: int = 0
    busy_watts: int = 0


@dataclass(frozen=True, slots=True)
class Level:
    """Milli-GPUs known by their amount only, not since when.

    With an account they are reserved for its job; without one, pods that are not Plimsoll's have
    them.
    """

    resource: str
    milli: int
    account: Account | None = None


@dataclass(frozen=True, slots=True)
class SeenNode:
    """A node with GPUs; not `usable`: what nobody holds could be held by nobody."""

    uid: str
    created_ms: int
    devices: tuple[Devices, ...]
    usable: bool = True
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True)
class Holding:
    """GPUs that a job's pod holds on a node, and the stages of its life.

    It starts from `since_ms` on, works from `works_ms` on, and leaves from `leaves_ms` on; what it
    has not reached is None, and so is `ends_ms` while it is not over. `watts` is the draw of a
    whole GPU that works.
    """

    uid: str
    node: str
    resource: str
    milli: int
    account: Account
    since_ms: int
    works_ms: int | None = None
    leaves_ms: int | None = None
    ends_ms: int | None = None
    watts: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """A job that waits, or that waited until it got a place.

    `revision` counts its placements: where it is the same, nothing was placed in between. A job
    with a place that had places before has a `since_ms` equal to `until_ms`, since nothing says
    how long it waited.
    """

    account: Account
    place: Place
    milli: int
    since_ms: int
    revision: int
    until_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Useful time that a disruption made useless."""

    account: Account
    at_ms: int
    milli_ms: int


@dataclass(frozen=True, slots=True)
class Observation:
    """The cluster at `at_ms`. `losses` are all those that are still told, old ones too."""

    at_ms: int
    nodes: tuple[SeenNode, ...] = ()
    holdings: tuple[Holding, ...] = ()
    waits: tuple[Wait, ...] = ()
    losses: tuple[Loss, ...] = field(default=(), compare=False)
