"""The script of a history: calls that users and machines make, and blows that faults deal.

Each lane has a namespace and nodes of its own, so that several histories run side by side under one
operator without touching each other; they share the faults between the operator and its API server,
and the operator's deaths.
"""

from dataclasses import dataclass, field

from plimsoll_devcluster.gpu_models import H100
from plimsoll_devcluster.histories.world import GPU
from plimsoll_devcluster.manifest import Manifest
from plimsoll_devcluster.proxies.fault_kinds import Armed, Fault

LANE = "plimsoll.dev/test-lane"
IN_HISTORIES = {"plimsoll.dev/test-histories": "true"}
"""The label of every lane's nodes."""
READY = "plimsoll.dev/test-ready"
RUN_SECONDS = "plimsoll.dev/test-run-seconds"
HIGH, LOW = "history-high", "history-low"
GROUP = "/apis/plimsoll.dev/v1alpha1"
IDLE_WATTS, TYPICAL_WATTS, LIMIT_WATTS = 10, 510, 700
"""A lane's GPU draw without work, in training, and at most."""
PLENTY = 1000
"""More GPUs than any lane has."""
_SPARE_WATTS = 100
"""Slack, so that no verdict depends on a watt."""


@dataclass(frozen=True, slots=True)
class Call:
    """An action of a user, or of the machines, at `at` seconds.

    The API server may refuse a hostile tenant's actions, preferably.
    """

    at: float
    what: str
    method: str
    path: str
    body: Manifest = field(default_factory=dict[str, object])
    may_be_refused: bool = False


@dataclass(frozen=True, slots=True)
class Blow:
    """A fault at `at` seconds; `within` is the namespace targeted by a fault of responses."""

    at: float
    fault: Fault
    requests: int = 1
    within: str = ""
    seconds: float = 1.0

    @property
    def armed(self) -> Armed:
        """The same for the proxy."""
        return Armed(self.fault, self.requests, self.within)


@dataclass
class Lane:
    """One history: its final state, and how it came to that.

    Some of its jobs are in the queue of the lane's name, which may hold `queue_gpus`; its nodes are
    one power domain, in which `powered_gpus` may train. `silent` nodes exist, but their kubelets
    report not ready. A `neighbour` is a hostile tenant. Some jobs are not users' own, but stand for
    `workloads`: Jobs of Kubernetes, by the names of the jobs.
    """

    namespace: str
    queue_gpus: int = PLENTY
    powered_gpus: int = PLENTY
    priority_classes: tuple[str, ...] = ()
    """Those that the queue allows; all if empty."""
    neighbour: "Lane | None" = None
    jobs: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    workloads: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    nodes: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    absent: set[str] = field(default_factory=set[str])
    silent: set[str] = field(default_factory=set[str])
    most_pods: dict[str, int] = field(default_factory=dict[str, int])
    calls: list[Call] = field(default_factory=list[Call])
    blows: list[Blow] = field(default_factory=list[Blow])


@dataclass(frozen=True, slots=True)
class Script:
    """Histories side by side: all of them share the `blows`."""

    seed: int
    seconds: float
    lanes: tuple[Lane, ...]
    blows: tuple[Blow, ...]

    @property
    def everybody(self) -> tuple[Lane, ...]:
        """All tenants: those of the histories, and their neighbours."""
        beside = (lane.neighbour for lane in self.lanes)
        return (*self.lanes, *(each for each in beside if each is not None))


def queue_of(lane: Lane) -> Manifest:
    """The queue of a lane, as it should be now: for its namespace only."""
    spec: Manifest = {
        "quotas": [{"type": H100, "limit": lane.queue_gpus}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": lane.namespace}},
    }
    if lane.priority_classes:
        spec["priorityClassNames"] = list(lane.priority_classes)
    head = {"apiVersion": "plimsoll.dev/v1alpha1", "kind": "JobQueue"}
    return {**head, "metadata": {"name": lane.namespace}, "spec": spec}


def budget_watts(lane: Lane) -> int:
    """What all nodes of a lane may draw together."""
    gpus = sum(int(node["status"]["allocatable"][GPU]) for node in lane.nodes.values())
    busy = (TYPICAL_WATTS - IDLE_WATTS) * lane.powered_gpus
    return IDLE_WATTS * gpus + busy + _SPARE_WATTS


def domain_of(lane: Lane) -> Manifest:
    """The power domain of a lane, as it should be now."""
    return {
        "apiVersion": "plimsoll.dev/v1alpha1",
        "kind": "PowerDomain",
        "metadata": {"name": lane.namespace},
        "spec": {
            "nodeSelector": {LANE: lane.namespace},
            "budgetWatts": budget_watts(lane),
            "quantile": "0.5",
        },
    }
