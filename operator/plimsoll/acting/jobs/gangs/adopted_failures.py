"""Say of an adopted workload that a pod of it has failed, which its own controller retries."""

from plimsoll.acting.jobs.ending import not_deleting
from plimsoll.acting.jobs.gangs.gang_start import told_once
from plimsoll.acting.jobs.gangs.restarting import how_it_ended
from plimsoll.acting.step import JobEvent, Turn
from plimsoll.api.training_job import TrainingJobStatus, TrainingPlacement
from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.vocabulary.reasons import Reason


def failed_pod(view: JobView, placement: TrainingPlacement) -> PodView | None:
    """The latest pod that failed in the present place; None if none has."""
    revisions = {each.replica: each.revision for each in placement.assignments}
    failed = [
        pod
        for pod in not_deleting(view.pods)
        if pod.phase == "Failed"
        and not pod.disrupted
        and pod.revision == revisions.get(pod.replica)
    ]
    return max(failed, key=lambda pod: (pod.created is not None, pod.created), default=None)


def with_failure(
    view: JobView, failed: PodView, status: TrainingJobStatus, turn: Turn
) -> tuple[TrainingJobStatus, tuple[JobEvent, ...]]:
    """The status and event which say that a pod has failed and its controller is to replace it."""
    workload = view.workload
    assert workload is not None  # noqa: S101 - only called with one
    message = (
        f"{failed.name} on {failed.node} {how_it_ended(failed)}; {workload.reference} retries"
        " within its limits"
    )
    return told_once(view, status, turn, Reason.RESTARTING, message)
