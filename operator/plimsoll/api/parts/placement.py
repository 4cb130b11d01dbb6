"""Placement settings and results that both kinds of job share."""

import re
from typing import Annotated, Final

from pydantic import Field

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import ATOMIC, Rule, keyed_by
from plimsoll.api.values.scalars import Count, LabelKey, Percent, Timestamp, Word

# The API server evaluates all rules with each write, also of a status, so what mostly decides comes
# first: each field that a rule reads costs it as much time as the object has possible fields.
OR_SUSPENDED: Final = " || oldSelf.suspend || self.suspend"
QUEUE_STAYS: Final = Rule(
    "self.queue == oldSelf.queue" + OR_SUSPENDED,
    "can change only while the job is suspended: set suspend to true first",
    ".queue",
)
_JOB_NAME: Final = "^[a-z]([-a-z0-9]{0,46}[a-z0-9])?$"
JOB_NAME: Final = Rule(
    f"self.metadata.name.matches('{_JOB_NAME}')",
    "metadata.name must be at most 48 lower-case letters, digits and '-', and start with a letter:"
    " it becomes part of pod and Service names",
)


class Spot(ApiModel):
    """Whether pods may use spot capacity, which the provider can reclaim."""

    allowed: bool = False
    """Whether spot nodes may be used."""
    max_share_percent: Percent = 100
    """Largest share of the pods on spot nodes at once."""


class Topology(ApiModel):
    """How close together a gang's pods must or should be.

    A domain is named by a pool's `topologyKeys` (such as `rack`) or by a node label key.
    """

    required: LabelKey | None = None
    """Domain that must hold the whole gang, or it waits: a name from a pool's `topologyKeys`, such
    as `rack`, or a node label key."""
    preferred: LabelKey | None = None
    """Domain that should hold the whole gang where that yields most, without waiting for it. A
    service's roles share one, among nodes of equal cost."""


class Assignment(ApiModel):
    """The nodes of one replica."""

    role: Word
    """Role; `worker` for the workers of a training job."""
    replica: Count
    """Replica index; for a worker, its rank."""
    nodes: Annotated[tuple[Word, ...], Field(max_length=64), ATOMIC]
    """Node of each pod, in pod order."""
    pool: Word
    """GPUPool of the nodes; empty outside all pools."""
    accelerator_type: Word
    """GPU type of the nodes; empty for pods without GPUs."""
    revision: Count
    """Placement revision that put it here; part of its pods' names."""
    size_group: Word | None = None
    """Loads it serves, by their `sizeGroup`. Default: all."""


class AvoidedNode(ApiModel):
    """A node that refused the job's pods."""

    node: Word
    """The node's name."""
    until: Timestamp
    """Until when plans avoid it for this job."""


class Admission(ApiModel):
    """What a job was admitted with, or allowed since.

    The job keeps it while its spec names a queue or class that it may not use.
    """

    queue: Word
    """JobQueue."""
    priority_class_name: Word | None = None
    """PriorityClass, if named."""
    priority: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
    """Its priority, or the cluster's default."""


AvoidedNodes = Annotated[tuple[AvoidedNode, ...], Field(max_length=64), keyed_by("node")]


def require_job_name(name: str) -> None:
    """Raise ValueError unless pods and a Service can be named after the job."""
    JOB_NAME.require(holds=re.fullmatch(_JOB_NAME, name) is not None)
