"""Find pods that leave a gang while the rest of it runs on.

That is how a workload becomes smaller whose own controller lets it change its size while it runs.
"""

from plimsoll.api.training_job import TrainingJobStatus
from plimsoll.observe.snapshot import JobView, PodView


def is_resized_live(view: JobView) -> bool:
    """Whether a gang's workload changes its size while it runs, and its user lets it."""
    job, workload = view.training, view.workload
    if job is None or workload is None or not workload.is_resized_live:
        return False
    workers = job.spec.workers
    return workers.min != workers.most and not workload.suspended


def leaving_pods(view: JobView, status: TrainingJobStatus) -> tuple[PodView, ...]:
    """The pods for which such a gang no longer has a place, while its controller keeps them."""
    placement = status.placement
    if placement is None or status.started_time is None or not is_resized_live(view):
        return ()
    stay = {each.replica for each in placement.assignments}
    return tuple(
        pod
        for pod in view.pods
        if not (pod.gated or pod.deleting or pod.is_over) and pod.replica not in stay
    )
