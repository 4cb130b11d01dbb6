"""Tell whether a training job's work is done, before its status says so.

Its GPUs are free from then on: whoever comes next need not wait until that is written.
"""

from collections.abc import Iterable

from plimsoll.observe.snapshot import JobView, PodView
from plimsoll.remembered import once_for_each


def deciding_pods(view: JobView) -> tuple[PodView, ...]:
    """The pods of a training job whose success is the job's."""
    job = view.training
    if job is None:
        return ()
    role = job.spec.success_policy.role
    return tuple(pod for pod in view.pods if pod.role == role)


@once_for_each
def has_succeeded(view: JobView) -> bool:
    """Whether all pods of a job's present gang have succeeded, so that it holds nothing."""
    job = view.training
    if not view.pods or job is None or view.workload is not None:
        return False
    placement = job.status.placement
    if placement is None or not deciding_pods(view) or len(view.pods) < len(placement.assignments):
        return False
    return _have_succeeded(view.pods, placement.revision)


def is_done(view: JobView) -> bool:
    """Whether all pods of a job's present gang whose success is the job's have succeeded."""
    job = view.training
    if job is None or view.workload is not None or job.status.placement is None:
        return False
    placement, deciding = job.status.placement, deciding_pods(view)
    due = sum(each.role == job.spec.success_policy.role for each in placement.assignments)
    return len(deciding) >= due > 0 and _have_succeeded(deciding, placement.revision)


def _have_succeeded(pods: Iterable[PodView], revision: int) -> bool:
    return all(
        pod.phase == "Succeeded" and pod.revision == revision and not pod.disrupted for pod in pods
    )
