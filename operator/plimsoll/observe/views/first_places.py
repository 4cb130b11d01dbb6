"""The first place of a job that is a single pod, as that pod tells it.

What is placed as soon as it comes, on one pod, is told by the pod alone until there is more to say:
the pod is made at once or not at all, and has a fixed name, so that it cannot be made twice. All
others have their place written first.
"""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import NamedTuple

from plimsoll.api.gpu_pool import GPUPool
from plimsoll.api.parts.gang_roles import WORKER
from plimsoll.api.parts.placement import Assignment
from plimsoll.api.training_job import TrainingJob, TrainingJobStatus, TrainingPlacement
from plimsoll.observe.kept import Kept
from plimsoll.observe.labels import GENERATION, PLACED_AT
from plimsoll.observe.snapshot import NodeView, PodView
from plimsoll.observe.views.pods import label_number
from plimsoll.observe.views.pools import gpu_type_of, pool_of

FIRST_REVISION = 1
_FAR_FUTURE = 2**32  # as of `PLACED_AT` elsewhere


class Surface(NamedTuple):
    """The nodes and the pools that there are."""

    nodes: Sequence[NodeView]
    pools: Sequence[GPUPool]


class Told(NamedTuple):
    """What a pod tells: its spec's generation, the resource of its GPUs, and since when."""

    generation: int
    resources: Iterable[str]
    placed_at: int


def first_status(
    before: TrainingJobStatus, told: Told, node: NodeView, pools: Iterable[GPUPool]
) -> TrainingJobStatus | None:
    """The status of a job that a pod on this node tells of; None if the node has no such GPUs."""
    pool = pool_of(node, pools)
    types = (
        gpu_type_of(each, node, pool) for each in node.offers if each.resource in told.resources
    )
    gpu_type = next(types, None)
    if gpu_type is None:
        return None
    name = pool.metadata.name if pool else ""
    place = Assignment(
        role=WORKER,
        replica=0,
        nodes=(node.name,),
        pool=name,
        accelerator_type=gpu_type,
        revision=FIRST_REVISION,
    )
    placement = TrainingPlacement(
        revision=FIRST_REVISION,
        generation=told.generation,
        accelerator_type=gpu_type,
        pool=name,
        workers=1,
        assignments=(place,),
    )
    since = datetime.fromtimestamp(told.placed_at, UTC)
    news = {"placement": placement, "revision": FIRST_REVISION, "admitted_time": since}
    return before.model_copy(update=news)


def is_untold(status: TrainingJobStatus) -> bool:
    """Whether nothing has been said of a job yet."""
    nothing_before = status.observed_generation is None and not status.conditions
    return nothing_before and status.placement is None and not status.revision


class FirstPlaces:
    """Reads the first places; a job of which nothing is new remains the same object."""

    def __init__(self) -> None:
        self._nodes = Kept[dict[str, NodeView]]()
        self._known: dict[str, tuple[TrainingJob, TrainingJobStatus, TrainingJob]] = {}

    def of(self, job: TrainingJob, pods: Sequence[PodView], around: Surface) -> TrainingJob:
        """The job with the place that its only pod tells, if its status does not say one."""
        if len(pods) != 1 or not is_untold(job.status):
            return job
        status = self._status(job, pods[0], around)
        if status is None:
            return job
        uid = job.metadata.uid
        known = self._known.get(uid)
        if known is None or known[0] is not job or known[1] != status:
            known = self._known[uid] = job, status, job.model_copy(update={"status": status})
        return known[2]

    def _status(self, job: TrainingJob, pod: PodView, around: Surface) -> TrainingJobStatus | None:
        generation = label_number(pod.labels, GENERATION)
        placed_at = label_number(pod.labels, PLACED_AT)
        nodes = self._nodes.of(lambda: {node.name: node for node in around.nodes}, around.nodes)
        node = nodes.get(pod.wanted_node)
        is_first = (pod.role, pod.replica, pod.revision) == (WORKER, 0, FIRST_REVISION)
        if node is None or not is_first or generation < 0 or not 0 < placed_at < _FAR_FUTURE:
            return None
        told = Told(generation, pod.requests.others, placed_at)
        return first_status(job.status, told, node, around.pools)

    def forget_others(self, uids: AbstractSet[str]) -> None:
        """Forget all jobs but these."""
        self._known = {uid: known for uid, known in self._known.items() if uid in uids}
