"""What one turn does for one job, as a value: its status, pods to make and delete, events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from plimsoll.acting.occupancy import Occupancy
from plimsoll.acting.pod_manifest import Manifest
from plimsoll.api.kinds import JobStatus
from plimsoll.observe.snapshot import JobName, JobView, PodView, Snapshot
from plimsoll.planning.actions import Action
from plimsoll.telemetry import Reason


@dataclass(frozen=True, slots=True)
class Note:
    """An event: on the job, and on those pods that it concerns."""

    reason: Reason
    message: str
    warning: bool = False
    pods: tuple[PodView, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """The writes for one job, in their order: status, deletions, Service, pods, events.

    The status is always the whole new one; whether it differs from the old one is seen when it is
    written. `again_at`: when to look again though nothing may have happened by then. `waits`:
    whether it lacks something that other objects may give it at any time, such as room.
    """

    job: JobView
    status: JobStatus
    delete: tuple[PodView, ...] = ()
    service: Manifest | None = None
    create: tuple[Manifest, ...] = ()
    notes: tuple[Note, ...] = ()
    again_at: datetime | None = None
    waits: bool = False

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to write nor to wait for."""
        return not self.has_writes and self.again_at is None and not self.waits

    @property
    def has_writes(self) -> bool:
        """Whether there is something to write."""
        changed = self.status != self.job.resource.status
        return changed or bool(self.delete or self.create or self.notes)


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
    refused: dict[str, str] = field(default_factory=dict[str, str])
    """What the API server said of pods that it would not have, by the uid of their job."""
    worker_url: str = ""
    """Where the workers of training jobs report to; "": nowhere, and they get no token."""

    @property
    def now(self) -> datetime:
        """The time of the snapshot."""
        return self.snapshot.now
