"""The JSON messages of the API under `/api/v1`: the contract with the page and with programs.

Field names are in camelCase in JSON. Times are RFC 3339 in UTC. GPUs are counted in thousandths
(`milli`). All names and texts come from users and are shown as text. A name that the user may not
see is never in a message: in its place is None, or `another job`, `another node` within a sentence.

| path | message |
| --- | --- |
| `GET /api/v1/me` | `Me` |
| `GET /api/v1/cluster` | `Cluster` |
| `GET /api/v1/map`, `GET /api/v1/map/groups/{key}` | `Map` |
| `GET /api/v1/queue` | `WaitingLine` |
| `GET /api/v1/queues` | `Queues` |
| `GET /api/v1/jobs` | `Jobs` |
| `GET /api/v1/jobs/{kind}/{namespace}/{name}` | `JobDetail` |
| `GET /api/v1/power` | `Power` |
| `GET /api/v1/history` | `History` |
| `POST /api/v1/explain` | `ExplainRequest`, answered by `Explanation` |
| `POST /api/v1/whatif` | `WhatIfRequest`, answered by `WhatIf` |
| `GET /api/v1/events?view=cluster&view=map…` | a stream of `Changed`, as server-sent events |

Whatever goes wrong is answered by a `Problem`: 400 for input that cannot be used, 401 without a
valid token, 403 where a right is missing, 404, 429 with `Retry-After`, 503 while the cluster is not
known yet or the API server does not answer.
"""

from datetime import datetime
from typing import Literal

import msgspec

from plimsoll.cli.output.results import Simulation, Why


class Message(msgspec.Struct, frozen=True, rename="camel"):
    """A part of a message."""


class Problem(Message, frozen=True):
    """Why a request was not carried out, in sentences that say what to do."""

    problems: tuple[str, ...]


class Stamped(Message, frozen=True):
    """A message about the cluster at one moment.

    `version` changes with each change of what the message is made from. `staleSince` is set while
    what is shown has not been confirmed to be current.
    """

    time: datetime
    version: str
    stale_since: datetime | None


class Me(Message, frozen=True):
    """The user whom the token belongs to, and what may be seen.

    `allJobs`: of every namespace; otherwise of `namespaces` only, which names those that have jobs.
    """

    user: str
    groups: tuple[str, ...]
    all_jobs: bool
    namespaces: tuple[str, ...]
    nodes: bool
    queues: bool
    pools: bool
    power_domains: bool
    policy: bool


class JobKey(Message, frozen=True):
    """What names a job. `kind` is `TrainingJob` or `InferenceJob`.

    `workloadKind` and `workloadName` are the adopted workload that it stands for, "" without one.
    """

    kind: str
    namespace: str
    name: str
    workload_kind: str = ""
    workload_name: str = ""


JobState = Literal["Waiting", "Starting", "Running", "Stopping", "Suspended", "Complete", "Failed"]


class PlanFigures(Message, frozen=True):
    """The last plan in numbers. `gapPercent` bounds its distance from the best plan."""

    time: datetime
    gap_percent: float | None
    admitted: int
    held: int
    actions: int


class Counts(Message, frozen=True):
    """How many there are in the whole cluster, whatever the user may see.

    GPUs are those of nodes that can be used; `takenMilli` is what pods hold of them, whoever made
    these, and `usefulMilli` what running jobs hold.
    """

    nodes: int
    nodes_ready: int
    gpus_milli: int
    taken_milli: int
    useful_milli: int
    jobs_running: int
    jobs_waiting: int


class TypeCounts(Message, frozen=True):
    """GPUs of one type: in all, held by jobs of Plimsoll, and held by other pods."""

    type: str
    gpus_milli: int
    jobs_milli: int
    others_milli: int


class Advice(Message, frozen=True):
    """What a plan would do with a job that is only published: see `mode` of `Cluster`."""

    key: JobKey
    action: str
    reason: str
    message: str


class Cluster(Stamped, frozen=True):
    """The cluster in short.

    `mode` is `Enforce` or `Advise`; `objective` is the policy's preset. Both, and `plan`, are None
    where the user may not see the policy, or there is none. `problems`: what keeps plans from being
    made, in sentences. `advice`: what the last plan would do, in mode `Advise`. `dollarsPerHour` is
    what the nodes cost whose price is known.
    """

    mode: str | None
    objective: str | None
    plan: PlanFigures | None
    counts: Counts
    types: tuple[TypeCounts, ...]
    dollars_per_hour: float | None
    expected_watts: int | None
    measured_watts: int | None
    problems: tuple[str, ...]
    advice: tuple[Advice, ...]


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


class Asked(Message, frozen=True):
    """What a job asks for: pods of a role, at least and at most, with so much of a GPU each."""

    role: str
    least: int
    most: int
    milli_per_pod: int
    types: tuple[str, ...]


class WaitingJob(Message, frozen=True):
    """A job that waits. `position` is its place in the line of all jobs, from 1 on.

    `expectedStart` is None while unknown; it is worked out for those that go first, and may be a
    minute old.
    """

    key: JobKey
    position: int
    queue: str
    priority: int | None
    since: datetime | None
    reason: str
    message: str
    asked: tuple[Asked, ...]
    least_milli: int
    expected_start: datetime | None


class WaitingLine(Stamped, frozen=True):
    """Who waits, first those that go first. `others`: how many wait of whom the user sees none."""

    jobs: tuple[WaitingJob, ...]
    others: int
    others_milli: int


class QueueQuota(Message, frozen=True):
    """A queue's use of one GPU type, in GPUs; `limit` is None if there is none."""

    type: str
    used: float
    guaranteed: float
    limit: float | None
    borrowed: float
    average: float
    fair_share: float


class QueueState(Message, frozen=True):
    """A queue: its place among the others, its jobs and its quotas."""

    name: str
    parent: str | None
    weight: int
    active: bool
    reason: str
    message: str
    pending: int
    admitted: int
    quotas: tuple[QueueQuota, ...]


class Queues(Stamped, frozen=True):
    """The queues by name; none where the user may not see them."""

    queues: tuple[QueueState, ...]


class JobRow(Message, frozen=True):
    """A job in a list."""

    key: JobKey
    queue: str
    priority: int | None
    state: JobState
    reason: str
    gpus_milli: int
    types: tuple[str, ...]
    created: datetime | None
    started: datetime | None
    percent: int | None
    dollars_per_hour: float | None


class Jobs(Stamped, frozen=True):
    """The jobs that the user may see, by name; `more`: how many were left out at the end."""

    jobs: tuple[JobRow, ...]
    more: int


class LifeEvent(Message, frozen=True):
    """Something that happened to a job.

    `what`: `Created`, `Admitted`, `Started`, `Disrupted`, `Restarted`, `WorkerFailed`, `LostWork`,
    `Saved`, `StragglerReplaced`, `Finished`, or the type of a condition that changed, of which
    `status` is `True`, `False` or `Unknown`; "" of all others.
    """

    time: datetime
    what: str
    reason: str = ""
    message: str = ""
    gpu_seconds_lost: int | None = None
    status: str = ""


class Rate(Message, frozen=True):
    """How fast the job is with so many workers of a GPU type, in units of work per second."""

    type: str
    workers: int
    batch: int | None
    stated: float | None
    measured: float | None
    measured_seconds: int


class ProgressState(Message, frozen=True):
    """How far a training job is."""

    done: float
    saved: float | None
    total: float | None
    unit: str
    percent: int | None
    rate: float | None
    lost: float
    last_checkpoint: datetime | None
    expected_completion: datetime | None
    deadline: datetime | None


class SlowWorkerState(Message, frozen=True):
    """A worker that is slower than its gang."""

    replica: int
    node: str
    since: datetime
    lost_percent: int


class RoleState(Message, frozen=True):
    """Replicas of a role of a service, and its load in the unit of its profiles.

    `least` and `most` are how many replicas there may be.
    """

    name: str
    least: int
    most: int
    wanted: int
    ready: int
    draining: int
    observed: float | None
    forecast: float | None


class ServiceState(Message, frozen=True):
    """A service: its load, its replicas, and how it keeps what requests are promised."""

    roles: tuple[RoleState, ...]
    attainment_percent: float | None
    promised_percent: float
    backlog_left: float | None
    backlog_completion: datetime | None


class PlaceState(Message, frozen=True):
    """Where pods of a job are."""

    role: str
    replica: int
    node: str
    type: str
    pool: str
    phase: Literal["Coming", "Running", "Going"]


class PowerFigures(Message, frozen=True):
    """What a GPU of a role draws, in watts."""

    role: str
    expected: int
    measured: int


class JobDetail(Stamped, frozen=True):
    """All about a job; `life` has the latest last. `places` are cut to the first 1,024."""

    key: JobKey
    queue: str
    priority: int | None
    state: JobState
    reason: str
    message: str
    asked: tuple[Asked, ...]
    gpus_milli: int
    places: tuple[PlaceState, ...]
    life: tuple[LifeEvent, ...]
    progress: ProgressState | None
    rates: tuple[Rate, ...]
    slow_workers: tuple[SlowWorkerState, ...]
    service: ServiceState | None
    power: tuple[PowerFigures, ...]
    restarts: int
    gpu_seconds_lost: int
    dollars_per_hour: float | None
    watts: int | None


class DomainState(Message, frozen=True):
    """A power domain. `payers` are the capped jobs that the user may see; `others`, how many not.

    `reason` and `message` are those of its condition `WithinBudget`.
    """

    name: str
    budget_watts: int
    planned_watts: int
    expected_watts: int
    measured_watts: int | None
    capped_watts: int | None
    capped_nodes: int
    nodes: int
    within_budget: bool | None
    reason: str
    message: str
    payers: tuple[JobKey, ...]
    others: int


class Power(Stamped, frozen=True):
    """The power domains by name; none where the user may not see them."""

    domains: tuple[DomainState, ...]


class Change(Message, frozen=True):
    """What changed for a job. `before` and `after` are its milli-GPUs by GPU type.

    `what`: `Starts`, `Grows`, `Shrinks`, `Moves`, `Stops`, `Ends`, `Waits`, `Gone`.
    """

    key: JobKey
    what: str
    reason: str
    message: str
    before: dict[str, int]
    after: dict[str, int]


class Frame(Message, frozen=True):
    """A moment at which something changed, with the changes that the user may see.

    `others`: how many more jobs changed. The figures are the whole cluster's.
    """

    time: datetime
    gap_percent: float | None
    jobs_running: int
    jobs_waiting: int
    gpus_milli: int
    taken_milli: int
    changes: tuple[Change, ...]
    others: int


class History(Stamped, frozen=True):
    """What has changed in the last hours, the latest last. `since`: from when on it is known."""

    since: datetime
    frames: tuple[Frame, ...]


class ExplainRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Ask why a job waits and what would let it run."""

    kind: str
    namespace: str
    name: str


class Explanation(Stamped, frozen=True):
    """The answer; `hidden` counts the jobs that it leaves out because the user may not see them."""

    why: Why
    hidden: int


class RoleEdit(Message, frozen=True, forbid_unknown_fields=True):
    """Another size of a role: of `worker` for the workers of a TrainingJob."""

    name: str
    min: int | None = None
    max: int | None = None


class WhatIfRequest(Message, frozen=True, forbid_unknown_fields=True):
    """Ask what would change if a job were different; what is left out stays as it is.

    `types`: the GPU types that it may run on. `roles`: other sizes.
    """

    kind: str
    namespace: str
    name: str
    roles: tuple[RoleEdit, ...] = ()
    types: tuple[str, ...] | None = None
    priority_class_name: str | None = None
    queue: str | None = None
    spot: bool | None = None
    suspend: bool | None = None


class WhatIf(Stamped, frozen=True):
    """The answer; `hidden` counts the affected jobs that the user may not see.

    `hiddenGpuHoursLost` is the work that these would lose.
    """

    simulation: Simulation
    hidden: int
    hidden_gpu_hours_lost: float


class Changed(Message, frozen=True):
    """The data of an event: the view has changed since the `version` that was sent before.

    The page asks for the view again. The event's name is `changed`; other events are `stale`,
    `current` and `end`, whose data are a `Problem` that says why, and after which the stream ends.
    """

    view: str
    version: str
