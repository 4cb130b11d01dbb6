"""RayClusters. KubeRay makes their pods itself, and makes those again that end."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.ray_cluster import RayCluster, WorkerGroupSpec
from plimsoll.kube.objects.workload_parts import WorkloadCondition, condition_of
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet, asks_for_gpus
from plimsoll.observe.adoption.workload_view import Bounds, Sizing, WorkloadView
from plimsoll.observe.labels import SETTINGS

_SUSPENDED: Final = "RayClusterSuspended"
_FAULT_TOLERANT: Final = "ray.io/ft-enabled"
_INDEX: Final = "ray.io/worker-group-replica-index"


class RayClusters(Adapter[RayCluster]):
    """RayClusters; they run until they are deleted. Those of RayJobs and RayServices are theirs."""

    kind = "RayCluster"
    resource = Resource("ray.io", "v1", "rayclusters")
    type = RayCluster
    own_managers = frozenset({"ray.io/kuberay-operator"})
    to_resize = "give GPUs to one worker group only, with numOfHosts 1"

    def pod_sets(self, item: RayCluster, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The head, and the pods of each worker group."""
        return tuple(_pod_sets(item))

    def view(self, item: RayCluster, _: Sequence[Candidate], /) -> WorkloadView:
        """How a RayCluster stands."""
        suspended, conditions = item.spec.suspend, item.status.conditions
        with_gpus, beside = 0, 0
        for pods in _pod_sets(item):
            if asks_for_gpus(pods.template.spec):
                with_gpus += pods.count
            else:
                beside += pods.count
        sizing = _sizing(item)
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=suspended and condition_of(conditions, _SUSPENDED) is not None,
            parallelism=with_gpus,
            due=with_gpus,
            beside=beside,
            since=None if suspended else _resumed(conditions),
            sizing=sizing,
            numbered_by=_INDEX if sizing is not None and not sizing.fixed else "",
        )

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
        if item.spec.enable_in_tree_autoscaling:
            return (
                "spec.enableInTreeAutoscaling: Ray's autoscaler adds and removes pods by itself,"
                f" and a gang is planned as a whole: remove it; annotations {SETTINGS}workers.min"
                f" and {SETTINGS}workers.max have the cluster resized"
            )
        if _keeps_its_state(item) and _head_has_gpus(item):
            return (
                "spec.headGroupSpec.template: KubeRay cleans up Redis by a Job whose pod has the"
                " head's scheduling gates, and would wait in vain for a place: ask for GPUs in"
                " worker groups only, or remove gcsFaultToleranceOptions"
            )
        return None


def _pod_sets(item: RayCluster) -> Iterator[PodSet]:
    yield PodSet(
        field="spec.headGroupSpec.template",
        pointer="/spec/headGroupSpec/template",
        count_field="spec.headGroupSpec",
        count=1,
        template=item.spec.head_group_spec.template,
    )
    for index, group in enumerate(item.spec.worker_group_specs):
        yield PodSet(
            field=f"spec.workerGroupSpecs[{group.group_name}].template",
            pointer=f"/spec/workerGroupSpecs/{index}/template",
            count_field=f"spec.workerGroupSpecs[{group.group_name}].replicas",
            count=_pods(group),
            template=group.template,
        )


def _pods(group: WorkerGroupSpec) -> int:
    """How many pods a worker group has: KubeRay keeps `replicas` within its bounds."""
    if group.suspend:
        return 0
    replicas = max(group.min_replicas, min(group.replicas, group.max_replicas))
    return replicas * group.num_of_hosts


def _sizing(item: RayCluster) -> Sizing | None:
    """How it is resized; None unless one group of single hosts has all workers with GPUs."""
    groups = enumerate(item.spec.worker_group_specs)
    found = [(index, each) for index, each in groups if asks_for_gpus(each.template.spec)]
    if len(found) != 1:
        return None
    ((index, group),) = found
    if group.suspend or group.num_of_hosts != 1:
        return None
    fixed = int(_head_has_gpus(item))
    return Sizing(
        fields=(("spec", "workerGroupSpecs", str(index), "replicas"),),
        fixed=fixed,
        bounds=Bounds(
            least=group.min_replicas + fixed,
            most=group.max_replicas + fixed,
            fields=f"spec.workerGroupSpecs[{group.group_name}].minReplicas and maxReplicas",
        ),
    )


def _head_has_gpus(item: RayCluster) -> bool:
    return asks_for_gpus(item.spec.head_group_spec.template.spec)


def _keeps_its_state(item: RayCluster) -> bool:
    """Whether its state is in Redis, in which KubeRay cleans up once it is deleted."""
    said = item.metadata.annotations.get(_FAULT_TOLERANT, "").lower() == "true"
    return said or item.spec.gcs_fault_tolerance_options is not None


def _resumed(conditions: Sequence[WorkloadCondition]) -> datetime | None:
    """When it was last resumed, or began; None while KubeRay has not seen that yet."""
    found = (each for each in conditions if (each.type, each.status) == (_SUSPENDED, "False"))
    return next((each.last_transition_time for each in found), None)
