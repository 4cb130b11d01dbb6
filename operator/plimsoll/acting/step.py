"""The step of one job in one turn, as a value: its status, pods to create and delete, events."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.role_power import RolePower
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.adoption.workload_view import WorkloadView
from plimsoll.observe.snapshot import JobName, JobView, PodView, Snapshot
from plimsoll.planning.actions import Action
from plimsoll.planning.faults import Fault
from plimsoll.vocabulary.reasons import Reason


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event on a job, and on the pods that it concerns."""

    reason: Reason
    message: str
    warning: bool = False
    pods: tuple[PodView, ...] = ()


@dataclass(frozen=True, slots=True)
class GateChange:
    """A change of a pod's readiness gate, with its reason."""

    pod: PodView
    opens: bool
    reason: Reason
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LabelChange:
    """A change of a pod's labels; None removes a label."""

    pod: PodView
    labels: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class SentPod:
    """A pod behind our scheduling gate, the node to send it to, and labels to give it."""

    pod: PodView
    node: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class WorkloadWrites:
    """The writes to the workload that a job stands for, as it was seen, and to its pods.

    `suspend`: whether it is to run no pods, and `size`: how many at once; None leaves that alone.
    `leaving`: the names of the pods that its controller should remove first. `placed`: pods waiting
    behind our scheduling gate.
    """

    workload: WorkloadView
    suspend: bool | None = None
    size: int | None = None
    leaving: tuple[str, ...] = ()
    placed: tuple[SentPod, ...] = ()

    @property
    def changes_workload(self) -> bool:
        """Whether the workload itself is written."""
        return self.suspend is not None or self.size is not None


@dataclass(frozen=True, slots=True)
class TargetWrites:
    """The writes to the workload that a job targets, and to its pods.

    `replicas`: the replica count to set, or None to leave it alone; it is set only if the workload
    still has the count that was `seen`. `first_to_go`: the pods that the workload's controller
    should remove first. `placed`: pods waiting behind our scheduling gate.
    """

    reference: Reference
    replicas: int | None = None
    seen: int = 0
    first_to_go: tuple[PodView, ...] = ()
    placed: tuple[SentPod, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return self.replicas is not None or bool(self.placed)


@dataclass(frozen=True, slots=True)
class Step:
    """The writes for one job, in order: status, gates and labels, deletions, pods, events.

    The status is always complete; whether it differs from the old one is decided when it is
    written; it is not if the job's only pod tells its place (`told_by_pod`). `again_at`: when to
    look at the job again even if nothing has happened. `waits`: whether it waits for something that
    other objects may free at any time, such as room. `rests_until`: until when a step with nothing
    to do stays that way if the job does not change.
    """

    job: JobView
    status: JobStatus
    gates: tuple[GateChange, ...] = ()
    labels: tuple[LabelChange, ...] = ()
    delete: tuple[PodView, ...] = ()
    service: Manifest | None = None
    create: tuple[Manifest, ...] = ()
    told_by_pod: bool = False
    target: TargetWrites | None = None
    workload: WorkloadWrites | None = None
    events: tuple[JobEvent, ...] = ()
    again_at: datetime | None = None
    waits: bool = False
    rests_until: datetime | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write or to wait for."""
        return not self.has_writes and self.again_at is None and not self.waits

    @property
    def has_writes(self) -> bool:
        """Whether there is anything to write."""
        changed = self.status != self.job.status_written
        return changed or self.does_more_than_report

    @property
    def does_more_than_report(self) -> bool:
        """Whether there is anything to write besides the status."""
        changes = self.gates or self.labels or self.target or self.delete or self.create
        return bool(changes or self.workload or self.events)


def only_reports(step: Step) -> bool:
    """Whether a step only updates what the job's status reports, and leaves its placement alone."""
    pods = step.gates or step.labels or step.delete or step.create or step.service
    job = step.job
    before = job.resource.status if job.told_by_pod else job.status_written
    return not (pods or step.target or step.workload) and step.status.placement == before.placement


def urgency(step: Step) -> int:
    """Sort key of steps that only report: first that a job cannot run, then that it waits."""
    if any(event.warning for event in step.events):
        return 0
    return 1 if step.status.placement is None else 2


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a job's pods were refused.

    `fails`: the API server or a webhook failed, which says nothing about the pods themselves.
    `reason`: set where something other than the API server stands against the pods.
    """

    message: str
    fails: bool = False
    reason: Reason = Reason.POD_REFUSED


@dataclass(frozen=True)
class Turn:
    """What all steps of one turn share."""

    snapshot: Snapshot
    occupancy: Occupancy
    refusal_seconds: int = 20
    """How long kube-scheduler may refuse a pod before planning again without its node."""
    avoid_seconds: int = 600
    """How long such a node is avoided."""
    decided: dict[str, Action] = field(default_factory=dict[str, Action])
    """The plan's action for each job, by name; a job without one goes on as before."""
    short: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """What jobs lack that have a place, but not for all their replicas, by name."""
    off_spot: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs that their deadline keeps off spot, by name, and why."""
    capped: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs whose GPUs are power-capped, by name, and how."""
    renewal_waits: Mapping[JobName, AbstractSet[str]] = field(
        default_factory=dict[JobName, AbstractSet[str]]
    )
    """The roles, by service, of which no replica that serves is to be renewed in place now."""
    powers: Mapping[JobName, tuple[RolePower, ...]] = field(
        default_factory=dict[JobName, tuple[RolePower, ...]]
    )
    """The GPU power to record in jobs' statuses, by name; jobs without an entry stay as they
    are."""
    refused: Mapping[str, Refusal] = field(default_factory=dict[str, Refusal])
    """Why the API server refused pods, by the uid of their job."""
    faults: Mapping[JobName, Fault] = field(default_factory=dict[JobName, Fault])
    """Faults of jobs that are set aside, or go on as they were last read, by name."""
    asks_for_loads: bool = True
    """Whether there is a Prometheus to read the load of services from."""
    worker_url: str = ""
    """The URL that training workers report to; if empty, they report nowhere and get no token."""

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self.snapshot.now

    @cached_property
    def named(self) -> AbstractSet[str]:
        """The jobs for which it has more than their views."""
        return {
            *self.decided,
            *self.short,
            *self.off_spot,
            *self.capped,
            *self.renewal_waits,
            *self.powers,
            *self.faults,
        }
