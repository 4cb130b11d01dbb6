"""The map: every GPU, who holds it, and what is about to change."""

from typing import Literal

from plimsoll_console.messages.base import Message, Stamped
from plimsoll_console.messages.keys import JobKey, JobState


class MapJob(Message, frozen=True):
    """A job on the map. `watts` is what one of its GPUs draws, measured or expected.

    `wastePercent` is the share of its GPUs' time that does no useful work at present, None if
    unknown, and `wasteReason` says why: `Starting`, `Stopping`, `Straggler`, `Restarting`.
    """

    key: JobKey
    queue: str
    state: JobState
    watts: int | None
    waste_percent: int | None
    waste_reason: str


class Holding(Message, frozen=True):
    """So much of a GPU is held: by `jobs[job]` of the map.

    Without `job`: by a job of which the user may see nothing (`by` is `taken`), or by a pod that is
    not Plimsoll's (`by` is `other`). `phase`: `Coming` until its pod runs, `Going` while its pod is
    being stopped.
    """

    milli: int
    by: Literal["job", "taken", "other"]
    job: int | None = None
    phase: Literal["Coming", "Running", "Going"] = "Running"


class Cell(Message, frozen=True):
    """One GPU; free as far as it is not held."""

    holdings: tuple[Holding, ...] = ()


NodeState = Literal["Ready", "Closed", "Leaving", "Quarantined", "NotReady", "Coming"]


class MapNode(Message, frozen=True):
    """A node with GPUs.

    `key` identifies it from one message to the next; `name` is None where the user may not see it.
    `Closed`: it takes no new pods; `Leaving`: what it has must leave; `Coming`: it was ordered and
    is not there yet. `reason` and `message` say why. `capWatts` is the wanted power limit of each
    GPU. `unitMilli`: with shared GPUs, what one share is; 1000 for whole ones.
    """

    key: str
    name: str | None
    state: NodeState
    reason: str
    message: str
    type: str
    pool: str | None
    spot: bool
    cap_watts: int | None
    idle_watts: int | None
    unit_milli: int
    cells: tuple[Cell, ...]


class Ghost(Message, frozen=True):
    """What is about to change: `jobs[job]` goes to, or leaves, so much of a node.

    Only jobs that the user may see are named; of others nothing is said.
    """

    job: int
    node: str
    gpus_milli: int
    change: Literal["Arrives", "Leaves"]
    reason: str


class GroupCounts(Message, frozen=True):
    """The nodes of a group by state, and its GPUs by use, in thousandths."""

    nodes: int
    states: dict[str, int]
    free_milli: int
    job_milli: int
    taken_milli: int
    other_milli: int
    unusable_milli: int


class MapGroup(Message, frozen=True):
    """Nodes that are together: a rack, otherwise a pool.

    `name` is None where the user may not see it. `nodes` is empty in a large cluster, where each
    group is asked for by its `key` (`/api/v1/map/groups/{key}`). `shares` are the milli-GPUs of the
    largest jobs there, by index in `jobs`.
    """

    key: str
    name: str | None
    kind: str
    counts: GroupCounts
    shares: tuple[tuple[int, int], ...]
    nodes: tuple[MapNode, ...] = ()


class Map(Stamped, frozen=True):
    """All GPUs: groups of nodes, and the jobs that they name by index.

    `aggregated`: the groups come without their nodes.
    """

    aggregated: bool
    jobs: tuple[MapJob, ...]
    groups: tuple[MapGroup, ...]
    ghosts: tuple[Ghost, ...]
