"""Tell whether a training job's work is done, before its status says so.

Its GPUs are free from then on: whoever comes next need not wait until that is written.
"""

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
    if not view.pods or job is None or view.workload is not None or job.spec.suspend:
        return False
    placement = job.status.placement
    if placement is None or not deciding_pods(view) or len(view.pods) < len(placement.assignments):
        return False
    return all(
        pod.phase == "Succeeded" and pod.revision == placement.revision and not pod.disrupted
        for pod in view.pods
    )
