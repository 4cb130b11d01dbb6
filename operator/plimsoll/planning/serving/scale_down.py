"""Choose the replicas to remove when a service scales down: least loss and highest cost first.

The solver is not involved: removing what nobody wants costs nothing that would have to be weighed.
"""

from collections.abc import Mapping
from dataclasses import replace

from plimsoll.observe.snapshot import JobView
from plimsoll.planning.cluster.cluster import Cluster
from plimsoll.planning.serving.old_templates import replicas_by_role
from plimsoll.planning.serving.size_groups import whole_role
from plimsoll_placement.heuristics.scale_down import Order, scale_down_order
from plimsoll_placement.model import Assignment, Job, Role


def scaled_down(job: Job, view: JobView, cluster: Cluster) -> Job:
    """The job with only those of its running replicas that it still wants; gangs are unchanged."""
    if job.gang or not job.running:
        return job
    gone = {
        assignment
        for role in job.roles
        for assignment in scale_down_order(role, job.running, _first_to_go(role, view, cluster))
    }
    kept = tuple(assignment for assignment in job.running if assignment not in gone)
    return replace(job, running=kept) if gone else job


def _first_to_go(role: Role, view: JobView, cluster: Cluster) -> Order:
    """Replicas that do not serve yet, then the most expensive for what they carry, then the idlest.

    Of those that serve, first the ones with an old template, if there are any.

    If a controller numbers them and removes the last, those.
    """
    waiting = {(pod.role, pod.replica) for pod in view.pods if not pod.ready}
    requests = _requests_by_replica(view)
    old = {
        (name, number)
        for name, replicas in replicas_by_role(view).items()
        for number, each in replicas.items()
        if each.is_old
    }
    if view.target is not None and view.target.ordered:
        return lambda assignment: (-assignment.replica,)
    price = {node.name: node.microdollars_per_gpu_hour for node in cluster.nodes}

    def key(assignment: Assignment) -> tuple[object, ...]:
        dollars = sum(price.get(name, 0) for name in assignment.nodes)
        replica = whole_role(assignment.role)[0], assignment.replica
        dear = -dollars / max(role.carries(assignment.gpu_type), 1)
        idle = requests.get(replica, 0.0)
        return replica not in waiting, replica not in old, dear, idle, -assignment.replica

    return key


def _requests_by_replica(view: JobView) -> Mapping[tuple[str, int], float]:
    found: dict[tuple[str, int], float] = {}
    if view.demand is None:
        return found
    for pod in view.pods:
        key = pod.role, pod.replica
        found[key] = found.get(key, 0.0) + view.demand.running_requests.get(pod.name, 0.0)
    return found
