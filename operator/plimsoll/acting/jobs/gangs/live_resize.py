"""Resize a gang while it runs: pods come or go, and no other notices it."""

from collections.abc import Sequence

from plimsoll.api.parts.placement import Assignment
from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.snapshot import JobView
from plimsoll.planning.cluster.leaving import is_resized_live, leaving_pods

_Key = tuple[int, tuple[str, ...]]
"""The number of a worker, and its nodes."""


def kept_places(
    view: JobView, status: TrainingJobStatus, places: Sequence[Assignment]
) -> tuple[Assignment, ...] | None:
    """The new places of a gang that runs; those that it has keep their revision, and their pods.

    None if the gang has to stop for them: it has not started, or does not only grow or shrink.
    """
    before = status.placement
    if before is None or status.started_time is None or not is_resized_live(view):
        return None
    old: dict[_Key, int] = {
        (each.replica, each.nodes): each.revision for each in before.assignments
    }
    new = {(each.replica, each.nodes) for each in places}
    if not (old.keys() <= new or new <= old.keys()):
        return None
    # Those that were to go, and have not gone, are taken back.
    back = {(pod.replica, (pod.node,)): pod.revision for pod in leaving_pods(view, status)}
    known = back | old
    return tuple(
        each.model_copy(update={"revision": known.get((each.replica, each.nodes), each.revision)})
        for each in places
    )
