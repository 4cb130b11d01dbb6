"""RayClusters. KubeRay makes their pods itself, and makes those again that end."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.workload_parts import WorkloadCondition, condition_of
from plimsoll.kube.objects.workloads.ray_cluster import RayCluster
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet
from plimsoll.observe.adoption.kinds.ray_pods import (
    KUBERAY,
    TO_RESIZE,
    ray_pod_sets,
    ray_problem,
    with_ray_pods,
)
from plimsoll.observe.adoption.workload_view import WorkloadView

_AT: Final = ("spec",)
_SUSPENDED: Final = "RayClusterSuspended"


class RayClusters(Adapter[RayCluster]):
    """RayClusters; they run until they are deleted. Those of RayJobs and RayServices are theirs."""

    kind = "RayCluster"
    resource = Resource("ray.io", "v1", "rayclusters")
    type = RayCluster
    own_managers = KUBERAY
    to_resize = TO_RESIZE

    def pod_sets(self, item: RayCluster, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The head, and the pods of each worker group."""
        return tuple(ray_pod_sets(item.spec, _AT))

    def view(self, item: RayCluster, _: Sequence[Candidate], /) -> WorkloadView:
        """How a RayCluster stands."""
        suspended, conditions = item.spec.suspend, item.status.conditions
        own = WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=suspended and condition_of(conditions, _SUSPENDED) is not None,
            parallelism=0,
            due=0,
            since=None if suspended else _resumed(conditions),
        )
        return with_ray_pods(own, item.spec, _AT)

    def managed_by(self, item: RayCluster) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: RayCluster) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: RayCluster) -> bool:  # noqa: ARG002 - it runs until it is deleted
        """Whether it has completed or failed for good."""
        return False

    def problem(self, item: RayCluster) -> str | None:
        """Why a RayCluster cannot be planned, and the remedy."""
        return ray_problem(item.spec, item.metadata.annotations, _AT)


def _resumed(conditions: Sequence[WorkloadCondition]) -> datetime | None:
    """When it was last resumed, or began; None while KubeRay has not seen that yet."""
    found = (each for each in conditions if (each.type, each.status) == (_SUSPENDED, "False"))
    return next((each.last_transition_time for each in found), None)
