"""What both kinds of job can wish for, spot and topology, and where their pods are."""

import re
from typing import Annotated, Final

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC, Rule, keyed_by
from plimsoll.api.values.scalars import Count, LabelKey, Percent, Timestamp, Word

UNLESS_SUSPENDED: Final = "oldSelf.suspend || self.suspend || "
QUEUE_STAYS: Final = Rule(
    UNLESS_SUSPENDED + "self.queue == oldSelf.queue",
    "may change only while the job is suspended: set suspend to true first",
    ".queue",
)
_JOB_NAME: Final = "^[a-z]([-a-z0-9]{0,46}[a-z0-9])?$"
JOB_NAME: Final = Rule(
    f"self.metadata.name.matches('{_JOB_NAME}')",
    "metadata.name must be at most 48 lower-case letters, digits and '-', and start with a letter:"
    " pods and a Service are named after the job",
)


class Spot(ApiModel):
    """Whether pods may run on spot capacity, which the provider can take back."""

    allowed: bool = False
    """Whether spot nodes may be used at all."""
    max_share_percent: Percent = 100
    """The largest share of the pods that may be on spot nodes at once."""


class Topology(ApiModel):
    """How close together a gang's pods must or should be.

    A domain is named by a pool's `topologyKeys` (such as `rack`), or by the key of a node label.
    """

    required: LabelKey | None = None
    """The whole gang is in one such domain, or waits."""
    preferred: LabelKey | None = None
    """The gang is in one such domain where that yields most. It never waits for one. A service puts
    replicas of all its roles there, of nodes that cost the same."""


class Assignment(ApiModel):
    """The nodes that one replica has."""

    role: Word
    """The role that the replica is of; `worker` for training."""
    replica: Count
    """The replica's index in its role; for training the rank of the worker."""
    nodes: Annotated[tuple[Word, ...], Field(max_length=64), ATOMIC]
    """The node of each of the replica's pods, in the order of the pods."""
    pool: Word
    """The GPUPool of the nodes."""
    accelerator_type: Word
    """The GPU type of the nodes."""
    revision: Count
    """The placement's revision that put the replica here; its pods carry it in their names."""
    size_group: Word | None = None
    """For requests of which sizes the replica is: of those loads that name this group; else of
    all."""


class AvoidedNode(ApiModel):
    """A node that refused the job's pods."""

    node: Word
    """The node's name."""
    until: Timestamp
    """Until when no plan puts the job there."""


class Admission(ApiModel):
    """What a job was admitted with, or was let have since.

    It keeps that while its spec names a queue or a class that it may not use.
    """

    queue: Word
    """The JobQueue."""
    priority_class_name: Word | None = None
    """The PriorityClass, where it names one."""
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
    """The class's priority, or the cluster's default."""


AvoidedNodes = Annotated[tuple[AvoidedNode, ...], Field(max_length=64), keyed_by("node")]


def require_job_name(name: str) -> None:
    """Raise ValueError unless pods and a Service can be named after the job."""
    JOB_NAME.require(holds=re.fullmatch(_JOB_NAME, name) is not None)
