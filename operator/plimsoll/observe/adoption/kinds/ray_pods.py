"""The pods of a Ray cluster: its own, or those of the cluster that a RayJob describes.

`at` is the path of the cluster's spec in the object that has it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from plimsoll.kube.objects.objects import Labels
from plimsoll.kube.objects.workloads.ray_cluster import RayClusterSpec, WorkerGroupSpec
from plimsoll.observe.adoption.kinds.adapter import PodSet, asks_for_gpus
from plimsoll.observe.adoption.workload_view import Bounds, Sizing, WorkloadView
from plimsoll.observe.labels import SETTINGS

KUBERAY: Final = frozenset({"ray.io/kuberay-operator"})
"""The value of `managedBy` that leaves them to KubeRay."""
TO_RESIZE: Final = "give GPUs to one worker group only, with numOfHosts 1"
_FAULT_TOLERANT: Final = "ray.io/ft-enabled"
_INDEX: Final = "ray.io/worker-group-replica-index"

Path = tuple[str, ...]


def ray_pod_sets(spec: RayClusterSpec, at: Path) -> Iterator[PodSet]:
    """The head, and the pods of each worker group."""
    field, pointer = ".".join(at), "/" + "/".join(at)
    yield PodSet(
        field=f"{field}.headGroupSpec.template",
        pointer=f"{pointer}/headGroupSpec/template",
        count_field=f"{field}.headGroupSpec",
        count=1,
        template=spec.head_group_spec.template,
    )
    for index, group in enumerate(spec.worker_group_specs):
        of_group = f"{field}.workerGroupSpecs[{group.group_name}]"
        yield PodSet(
            field=f"{of_group}.template",
            pointer=f"{pointer}/workerGroupSpecs/{index}/template",
            count_field=f"{of_group}.replicas",
            count=_pods(group),
            template=group.template,
        )


def with_ray_pods(
    view: WorkloadView, spec: RayClusterSpec, at: Path, *, while_suspended: bool = False
) -> WorkloadView:
    """The view with how many pods there are to be, and how that may change.

    `while_suspended`: only then does KubeRay follow.
    """
    with_gpus, beside = 0, 0
    for pods in ray_pod_sets(spec, at):
        if asks_for_gpus(pods.template.spec):
            with_gpus += pods.count
        else:
            beside += pods.count
    sizing = _sizing(spec, at)
    if sizing is not None and while_suspended:
        sizing = replace(sizing, while_suspended=True, leaving=None)
    return replace(
        view,
        parallelism=with_gpus,
        due=with_gpus,
        beside=beside,
        sizing=sizing,
        numbered_by=_INDEX if sizing is not None and not sizing.fixed else "",
    )


def ray_problem(spec: RayClusterSpec, annotations: Labels, at: Path) -> str | None:
    """Why a Ray cluster cannot be planned, and the remedy."""
    field = ".".join(at)
    if spec.enable_in_tree_autoscaling:
        return (
            f"{field}.enableInTreeAutoscaling: Ray's autoscaler adds and removes pods by itself,"
            f" and a gang is planned as a whole: remove it; annotations {SETTINGS}workers.min"
            f" and {SETTINGS}workers.max have the cluster resized"
        )
    if _keeps_its_state(spec, annotations) and _head_has_gpus(spec):
        return (
            f"{field}.headGroupSpec.template: KubeRay cleans up Redis by a Job whose pod has the"
            " head's scheduling gates, and would wait in vain for a place: ask for GPUs in"
            " worker groups only, or remove gcsFaultToleranceOptions"
        )
    return None


def _pods(group: WorkerGroupSpec) -> int:
    """How many pods a worker group has: KubeRay keeps `replicas` within its bounds."""
    if group.suspend:
        return 0
    replicas = max(group.min_replicas, min(group.replicas, group.max_replicas))
    return replicas * group.num_of_hosts


def _sizing(spec: RayClusterSpec, at: Path) -> Sizing | None:
    """How it is resized; None unless one group of single hosts has all workers with GPUs."""
    groups = enumerate(spec.worker_group_specs)
    found = [(index, each) for index, each in groups if asks_for_gpus(each.template.spec)]
    if len(found) != 1:
        return None
    ((index, group),) = found
    if group.suspend or group.num_of_hosts != 1:
        return None
    fixed = int(_head_has_gpus(spec))
    of_group = f"{'.'.join(at)}.workerGroupSpecs[{group.group_name}]"
    path = (*at, "workerGroupSpecs", str(index))
    return Sizing(
        fields=((*path, "replicas"),),
        fixed=fixed,
        bounds=Bounds(
            least=group.min_replicas + fixed,
            most=group.max_replicas + fixed,
            fields=f"{of_group}.minReplicas and maxReplicas",
        ),
        # A head with GPUs is one of the gang, and KubeRay would not remove it by its name.
        leaving=None if fixed else (*path, "scaleStrategy", "workersToDelete"),
    )


def _head_has_gpus(spec: RayClusterSpec) -> bool:
    return asks_for_gpus(spec.head_group_spec.template.spec)


def _keeps_its_state(spec: RayClusterSpec, annotations: Labels) -> bool:
    """Whether its state is in Redis, in which KubeRay cleans up once it is deleted."""
    said = annotations.get(_FAULT_TOLERANT, "").lower() == "true"
    return said or spec.gcs_fault_tolerance_options is not None
