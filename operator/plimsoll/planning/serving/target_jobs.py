"""What plans may do with a job that targets another controller's workload."""

from plimsoll.observe.snapshot import JobView
from plimsoll.planning.actions import Hold


def is_target_known(view: JobView) -> bool:
    """Whether a job has no target, or its target was read already."""
    job = view.inference
    return job is None or job.spec.target_ref is None or view.target is not None


def unusable_target(view: JobView) -> Hold | None:
    """Why nothing can be done with a job's target; None if all is well."""
    if view.target is None or view.target.problem is None:
        return None
    reason, message = view.target.problem
    return Hold(view.name, reason, message, inadmissible=True)


def has_usable_target(view: JobView) -> bool:
    """Whether a job has a target that can be acted on."""
    return view.target is not None and view.target.problem is None


def is_bound_by_others(view: JobView) -> bool:
    """Whether kube-scheduler alone chooses the nodes of a job's pods: no plan moves them."""
    return view.target is not None and not view.target.gated
