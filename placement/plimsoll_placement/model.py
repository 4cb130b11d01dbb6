"""What a placement problem is made of: nodes, jobs, queues and power domains, frozen.

Nothing here knows Kubernetes.

All amounts are integers in small units: milli-GPUs, millicores, bytes, milliwatts, micro-dollars.
What runs outside Plimsoll is already subtracted from the nodes. What Plimsoll itself runs is not:
it is in each job's `running`, so that the solver may move it.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Final, NewType

NodeName = NewType("NodeName", str)
JobName = NewType("JobName", str)
RoleName = NewType("RoleName", str)
QueueName = NewType("QueueName", str)
DomainName = NewType("DomainName", str)
GpuType = NewType("GpuType", str)

WHOLE_GPU_MILLI = 1000
NO_GPUS = GpuType("")
"""The type on which pods without GPUs are placed; every node offers it."""
AS_TYPICAL = -1
"""Stands for a draw that is not given."""
UNKNOWN_BYTES: Final = 1 << 60
"""Stands for GPU memory of which nothing is known: no limit."""

Amounts = tuple[tuple[str, int], ...]
"""Amounts of resources with their names, in the order of these."""
SINGLE: Final = "single:"
"""The prefix of what every node has one of, such as a port, unless its `others` say otherwise."""


def amount_in(amounts: Mapping[str, int], resource: str) -> int:
    """How much of a resource there is where there are these amounts."""
    return amounts.get(resource, 1 if resource.startswith(SINGLE) else 0)


@dataclass(frozen=True, slots=True)
class Devices:
    """The GPUs of one type that a node offers under one resource name.

    `free_milli` has one entry per device: what unmanaged pods leave of it. `share_milli` is the
    share in which a device is handed out: 1000 for whole GPUs only; 250 if each is shared by four,
    and a fraction then takes exactly one share of at least its size; 1 if any fraction can be had.
    If `share_milli` is neither 1000 nor 1, whole GPUs are not available.
    """

    gpu_type: GpuType
    free_milli: tuple[int, ...]
    share_milli: int = WHOLE_GPU_MILLI

    def granted_milli(self, requested_milli: int) -> int | None:
        """What a pod that requests `requested_milli` takes here; None if it cannot be granted.

        Multiples of 1000 take that many whole devices; less than 1000 takes part of one device.
        """
        if self.share_milli in (1, WHOLE_GPU_MILLI):
            return None if requested_milli % self.share_milli else requested_milli
        return self.share_milli if requested_milli <= self.share_milli else None


@dataclass(frozen=True, slots=True)
class Node:
    """A node with what unmanaged pods leave of it.

    `topology` names the node's domain at each of `Problem.levels`, widest first; "" means that the
    node lacks that label and so shares the domain with no other node.
    `busy_milliwatts` is what one whole GPU in typical use draws above idle.
    `gpu_memory_bytes` is the memory that pods with parts of its GPUs have together, of which one
    pod can have `gpu_memory_each_bytes`.
    `others` is what it has of other resources, such as network devices or local storage.
    A node that is `returnable` can be given back once nothing runs on it.
    A node that is not `open` keeps what it runs but takes nothing new; one that is not `usable`
    (gone, faulty, about to be interrupted) must be left by everything.
    """

    name: NodeName
    devices: tuple[Devices, ...]
    cpu_millis: int
    memory_bytes: int
    pod_slots: int
    topology: tuple[str, ...] = ()
    power_domains: tuple[DomainName, ...] = ()
    pool: str = ""
    spot: bool = False
    busy_milliwatts: int = 0
    microdollars_per_gpu_hour: int = 0
    interruptions_per_kilohour: int = 0
    open: bool = True
    usable: bool = True
    gpu_memory_bytes: int = UNKNOWN_BYTES
    gpu_memory_each_bytes: int = UNKNOWN_BYTES
    returnable: bool = False
    others: Amounts = ()


@dataclass(frozen=True, slots=True)
class Shape:
    """What one pod takes of its node.

    `draw_milli` is the pod's draw in milli-GPUs in typical use: more than `gpu_milli` for a pod
    that keeps GPUs busier than usual, less for one whose GPUs are capped. If it is not given, the
    pod is typical. `gpu_memory_bytes` is what a pod with a part of a GPU always holds of its
    memory; 0 if that is not known, or it has whole GPUs. `others` is what it takes of other
    resources; none of them is 0.
    """

    gpu_milli: int
    cpu_millis: int = 0
    memory_bytes: int = 0
    draw_milli: int = AS_TYPICAL
    gpu_memory_bytes: int = 0
    others: Amounts = ()

    def __post_init__(self) -> None:
        if self.draw_milli == AS_TYPICAL:
            object.__setattr__(self, "draw_milli", self.gpu_milli)


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of pod within a job, and what each count of its replicas yields.

    `counts` are the allowed replica counts, ascending; the first is the least that makes the job
    useful (0 is allowed when `mixable`). `yields` gives, for each GPU type that the role can run
    on, the useful milli-GPUs at each of `counts`, in the same order.
    A `mixable` role (inference) may spread its replicas over several types; then one replica on
    type t always yields `yields[t][0]`, the tuple has length one, and anything beyond
    `wanted_milli` is worth nothing. Fewer than `wanted_count` replicas serve only their share of
    it, however much they carry. `fineness`: so many units of a mixable role's yields are a useful
    milli-GPU, so that types that carry a small part of the load each are told apart.
    `uncapped_draw_milli` is what a pod draws where the plan counts on a cap on its GPUs that is not
    in force; the plan itself uses the draw of `shape`.
    `eligible` is a bit mask over `Problem.nodes`: bit i is set if selectors, affinity and
    tolerations let the pods run on node i.
    `load_nano` is what one replica is asked for, in billionths of requests in the time within which
    each is promised; None if that is not known. It decides which replicas share a GPU.
    `spot_percent` and `required_level` are of the companions in a gang (see `Job`), each for the
    role alone.
    """

    name: RoleName
    shape: Shape
    counts: tuple[int, ...]
    yields: Mapping[GpuType, tuple[int, ...]]
    eligible: int
    pods_per_replica: int = 1
    mixable: bool = False
    wanted_milli: int = 0
    wanted_count: int = 0
    fineness: int = 1
    uncapped_draw_milli: int | None = None
    load_nano: int | None = None
    spot_percent: int = 0
    required_level: int | None = None

    @property
    def full_draw_milli(self) -> int:
        """What a pod draws without a cap, in milli-GPUs in typical use."""
        uncapped = self.uncapped_draw_milli
        return self.shape.draw_milli if uncapped is None else uncapped

    @property
    def least(self) -> int:
        """The smallest allowed count."""
        return self.counts[0]

    def carries(self, gpu_type: GpuType) -> int:
        """What one replica of a mixable role carries, in units of `fineness`; 0 where none runs."""
        return self.yields.get(gpu_type, (0,))[0]

    @property
    def wanted_load(self) -> int:
        """What is wanted of a mixable role, in units of `fineness`, as `carries` is."""
        return self.wanted_milli * self.fineness

    def useful_milli(self, carried: int) -> int:
        """What is carried in units of `fineness`, in useful milli-GPUs."""
        return carried // self.fineness

    def served(self, carried: int, replicas: int) -> int:
        """The useful milli-GPUs of `replicas` replicas of a mixable role that carry `carried`."""
        useful = self.useful_milli(carried)
        if replicas < self.wanted_count:
            useful = min(useful, self.wanted_milli * replicas // self.wanted_count)
        return min(self.wanted_milli, useful)

    @property
    def least_gpu_milli(self) -> int:
        """The milli-GPUs that the smallest allowed count asks for."""
        return self.least * self.pods_per_replica * self.shape.gpu_milli

    def signature(self, left_out: "LeftOut") -> Hashable:
        """All that counts of the role; see `Job.signature`."""
        yields = () if "yields" in left_out.role else _entries(self.yields)
        return left_out.of_role(self), yields


@dataclass(frozen=True, slots=True)
class Assignment:
    """One replica of a role and the node of each of its pods, in rank order."""

    role: RoleName
    replica: int
    gpu_type: GpuType
    nodes: tuple[NodeName, ...]


Assignments = tuple[Assignment, ...]
"""What one job has: each of its replicas with its nodes."""
Placements = Mapping[JobName, Assignments]
"""What each of several jobs has, by name."""


@dataclass(frozen=True, slots=True)
class Job:
    """A training or inference job that runs or wants to.

    `gang`: all replicas form one gang, and any change restarts them all (training). Its first role
    leads: what it has decides what the gang yields. The others are its companions, which yield
    nothing by themselves; they have as many `counts`, and the gang has the same one, by position,
    of every role. Each role is on one GPU type. Without `gang` each replica stands for itself
    (inference).
    `sequence` orders jobs of one priority: lower is older. `urgency_milli` weighs a waiting job
    against others of its priority; 1000 is neutral.
    `required_level` and `preferred_level` index `Problem.levels`: all pods of the gang's first role
    in one domain of that level. `crossing_percent` is what a gang loses of its yield on a GPU type
    when they span more than one domain of the preferred level, 0 to 100; on a type that is not
    named it loses `Weights.topology_percent`.
    `spot_percent` is the largest share of the replicas on spot nodes: of a gang, those of its first
    role.
    `running` is what it holds now, with a gang's first role first. A `pinned` job keeps exactly
    that.
    `restart_seconds` is what a stop throws away on each GPU that it holds (work since the last
    checkpoint, saving, restoring); `checkpoint_seconds` is the mean loss when spot is reclaimed.
    `payback_seconds` is what a plan counts for a stop instead of `restart_seconds`, when what a
    change gains does not last for `Weights.horizon_seconds`.
    `overdue`: it has waited so long that it need no longer pay for what lower priorities lose.
    `part_of` names the job of which this one is a part. To the solver they are two jobs like any.
    """

    name: JobName
    queue: QueueName
    priority: int
    roles: tuple[Role, ...]
    gang: bool = True
    sequence: int = 0
    urgency_milli: int = 1000
    required_level: int | None = None
    preferred_level: int | None = None
    crossing_percent: Mapping[GpuType, int] = field(default_factory=dict[GpuType, int])
    spot_percent: int = 0
    running: tuple[Assignment, ...] = ()
    pinned: bool = False
    restart_seconds: int = 0
    checkpoint_seconds: int = 0
    payback_seconds: int | None = None
    overdue: bool = False
    part_of: JobName | None = None

    def __post_init__(self) -> None:
        if self.companions and self.running:
            lead = self.roles[0].name
            ordered = sorted(self.running, key=lambda assignment: assignment.role != lead)
            object.__setattr__(self, "running", tuple(ordered))

    @property
    def companions(self) -> tuple[Role, ...]:
        """The roles of a gang beside the one that leads."""
        return self.roles[1:] if self.gang else ()

    def size(self, assignments: Iterable[Assignment]) -> int:
        """The size of a gang that holds these: how many replicas its first role has."""
        if not self.companions:
            return sum(1 for _ in assignments)
        lead = self.roles[0].name
        return sum(assignment.role == lead for assignment in assignments)

    def beyond_least(self, assignments: "Assignments") -> "Assignments":
        """What a gang has of each role beyond its least size, in the order in which it has it."""
        if not self.companions:
            return assignments[self.roles[0].least :]
        left = {role.name: role.least for role in self.roles}
        beyond: list[Assignment] = []
        for assignment in assignments:
            left[assignment.role] -= 1
            if left[assignment.role] < 0:
                beyond.append(assignment)
        return tuple(beyond)

    @property
    def stop_seconds(self) -> int:
        """What a plan counts for a stop, for each GPU that the job holds."""
        return self.restart_seconds if self.payback_seconds is None else self.payback_seconds

    @property
    def whole_name(self) -> JobName:
        """The name of the job that it is, or is a part of."""
        return self.name if self.part_of is None else self.part_of

    @property
    def is_running(self) -> bool:
        """Whether it holds anything now."""
        return bool(self.running)

    @property
    def knows_its_roles(self) -> bool:
        """Whether all that runs is of roles that the job still has; otherwise it has no score."""
        return {assignment.role for assignment in self.running} <= {
            role.name for role in self.roles
        }

    def role(self, name: RoleName) -> Role:
        """The role of that name; KeyError where there is none."""
        for role in self.roles:
            if role.name == name:
                return role
        raise KeyError(name)

    def signature(self, left_out: "LeftOut") -> Hashable:
        """All that counts of the job, its roles included; equal for jobs that are alike."""
        roles = () if "roles" in left_out.job else tuple(r.signature(left_out) for r in self.roles)
        losses = () if "crossing_percent" in left_out.job else _entries(self.crossing_percent)
        return left_out.of_job(self), roles, losses


class LeftOut:
    """The fields in which jobs and their roles may differ and still be alike for some purpose.

    `job` and `role` say for each why it does not count. All others do, new ones too.
    """

    def __init__(self, *, job: Mapping[str, str], role: Mapping[str, str]) -> None:
        self.job, self.role = job, role
        self.of_job = _plain_fields(Job, job)
        self.of_role = _plain_fields(Role, role)


_COMPOUND: Final = frozenset({"roles", "crossing_percent", "yields"})
"""Fields that `signature` makes hashable; all others are as they are."""


def _plain_fields(kind: type[Job | Role], left_out: Mapping[str, str]) -> "attrgetter[Hashable]":
    names = (each.name for each in fields(kind) if each.name not in _COMPOUND)
    return attrgetter(*(name for name in names if name not in left_out))


def _entries(mapping: Mapping[GpuType, Hashable]) -> Hashable:
    return tuple(sorted(mapping.items()))


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of the tree, with milli-GPUs by GPU type.

    `limit`: never more than this, for the queue and its children together; a type that is not named
    has no limit. `guaranteed`: returned to it whenever its jobs ask for it (see `entitlements.py`).
    `fair`: its share of the total by weights; beyond it, a GPU is worth half as much to a waiting
    job.
    """

    name: QueueName
    parent: QueueName | None = None
    guaranteed: Mapping[GpuType, int] = field(default_factory=dict[GpuType, int])
    limit: Mapping[GpuType, int] = field(default_factory=dict[GpuType, int])
    fair: Mapping[GpuType, int] = field(default_factory=dict[GpuType, int])


@dataclass(frozen=True, slots=True)
class PowerDomain:
    """Nodes under one budget. `base_milliwatts` is their draw with all our GPUs idle."""

    name: DomainName
    budget_milliwatts: int
    base_milliwatts: int = 0


@dataclass(frozen=True, slots=True)
class Weights:
    """The coefficients of the objective, in GPU-seconds: the worth of one GPU for one second.

    `horizon_seconds`: how long a choice is assumed to last, weighed against the cost of changing
    it.
    `topology_percent`: what a gang loses of its yield across domains of the level that it prefers,
    where nothing is known of its network (`Job.crossing_percent`).
    `break_even_percent`: what a change must gain within `gain_seconds`, as a share of what it
    throws away (see `score/price.py`); 0: changes have no price.
    """

    horizon_seconds: int = 3600
    gpu_seconds_per_dollar: int = 100
    gpu_seconds_per_kilowatt_hour: int = 20
    topology_percent: int = 10
    break_even_percent: int = 100
    gain_seconds: int = 3600


@dataclass(frozen=True, slots=True)
class Arrival:
    """Pods of a job that is over: what each asked for, and where it could run."""

    shape: Shape
    gpu_types: frozenset[GpuType]
    pods: int = 1
