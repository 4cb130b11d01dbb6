"""What one turn does for one job, as a value: its status, pods to make and delete, events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.acting.pods.manifest import Manifest
from plimsoll.acting.pods.occupancy import Occupancy
from plimsoll.api.kinds import JobStatus
from plimsoll.api.parts.role_power import RolePower
from plimsoll.kube.watching.workloads import Reference
from plimsoll.observe.snapshot import JobName, JobView, PodView, Snapshot
from plimsoll.planning.actions import Action
from plimsoll.planning.faults import Fault
from plimsoll.vocabulary.reasons import Reason


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event: on the job, and on those pods that it concerns."""

    reason: Reason
    message: str
    warning: bool = False
    pods: tuple[PodView, ...] = ()


@dataclass(frozen=True, slots=True)
class GateChange:
    """What the readiness gate of a pod is to say from now on, for whom and why."""

    pod: PodView
    opens: bool
    reason: Reason
    message: str
    at: datetime


@dataclass(frozen=True, slots=True)
class LabelChange:
    """What changes of a pod's labels; None for those that go."""

    pod: PodView
    labels: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class TargetWrites:
    """What is done with the workload that a job targets, and with its pods.

    `replicas`: the count to set, None to let it be; it is set only where the workload still has as
    many as were `seen`. `first_to_go`: the pods that its controller is
    to take away first. `placed`: pods that wait behind our gate, each with its node.
    """

    reference: Reference
    replicas: int | None = None
    seen: int = 0
    first_to_go: tuple[PodView, ...] = ()
    placed: tuple[tuple[PodView, str], ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return self.replicas is not None or bool(self.placed)


@dataclass(frozen=True, slots=True)
class Step:
    """The writes for one job, in their order: status, gates and labels, deletions, pods, events.

    The status is always the whole new one; whether it differs from the old one is seen when it is
    written. `again_at`: when to look again though nothing may have happened by then. `waits`:
    whether it lacks something that other objects may give it at any time, such as room.
    `rests_until`: until when a step that has nothing to do stays so while the job does not change.
    """

    job: JobView
    status: JobStatus
    gates: tuple[GateChange, ...] = ()
    labels: tuple[LabelChange, ...] = ()
    delete: tuple[PodView, ...] = ()
    service: Manifest | None = None
    create: tuple[Manifest, ...] = ()
    target: TargetWrites | None = None
    events: tuple[JobEvent, ...] = ()
    again_at: datetime | None = None
    waits: bool = False
    rests_until: datetime | None = None

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write nor to wait for."""
        return not self.has_writes and self.again_at is None and not self.waits

    @property
    def has_writes(self) -> bool:
        """Whether there is something to write."""
        changed = self.status != self.job.status_written
        return changed or self.does_more_than_report

    @property
    def does_more_than_report(self) -> bool:
        """Whether there is something to write besides the status."""
        changes = self.gates or self.labels or self.target or self.delete or self.create
        return bool(changes or self.events)


def only_reports(step: Step) -> bool:
    """Whether a step writes nothing but what the job's status reports, its place as it was."""
    changes = step.gates or step.labels or step.target or step.delete or step.create or step.service
    return not changes and step.status.placement == step.job.status_written.placement


@dataclass(frozen=True, slots=True)
class Refusal:
    """What the API server said of pods that it would not have.

    `fails`: something failed in it or in a webhook, so nothing is said of the pods themselves.
    `reason`: another one, where it is not the API server that stands against them.
    """

    message: str
    fails: bool = False
    reason: Reason = Reason.POD_REFUSED


@dataclass(frozen=True, slots=True)
class Turn:
    """What all steps of one turn share."""

    snapshot: Snapshot
    occupancy: Occupancy
    refusal_seconds: int = 20
    """How long kube-scheduler may refuse a pod before the plan is made again without its node."""
    avoid_seconds: int = 600
    """For how long such a node is avoided."""
    decided: dict[str, Action] = field(default_factory=dict[str, Action])
    """What the plan says of jobs, by name; no word: go on as before."""
    short: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """What jobs lack, by name, that have a place but not for all their replicas."""
    off_spot: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs that their deadline keeps off spot, by name, and why."""
    capped: Mapping[JobName, str] = field(default_factory=dict[JobName, str])
    """The jobs whose GPUs are limited, by name, and how."""
    powers: Mapping[JobName, tuple[RolePower, ...]] = field(
        default_factory=dict[JobName, tuple[RolePower, ...]]
    )
    """What some jobs are to say of what their GPUs draw, by name; no word: as before."""
    refused: Mapping[str, Refusal] = field(default_factory=dict[str, Refusal])
    """What the API server said of pods that it would not have, by the uid of their job."""
    faults: Mapping[JobName, Fault] = field(default_factory=dict[JobName, Fault])
    """What is wrong with jobs that are set aside or go on as they were read last, by name."""
    asks_for_loads: bool = True
    """Whether there is a Prometheus that tells the loads of services."""
    worker_url: str = ""
    """Where the workers of training jobs report to; "": nowhere, and they get no token."""

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self.snapshot.now
