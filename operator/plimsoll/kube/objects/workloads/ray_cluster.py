"""A RayCluster, reduced to the fields by which it is planned, held and placed."""

from collections.abc import Mapping
from typing import Any, Final

from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.objects.workload_parts import (
    Number,
    WorkerTemplate,
    WorkloadCondition,
    WorkloadObject,
)

UNLIMITED: Final = 2**31 - 1
"""`maxReplicas` of a group that says nothing."""


class HeadGroupSpec(Wire, frozen=True):
    """The only head."""

    template: WorkerTemplate = WorkerTemplate()


class WorkerGroupSpec(Wire, frozen=True):
    """Workers of a RayCluster that are alike: replicas of `num_of_hosts` pods each."""

    group_name: str = ""
    suspend: bool = False
    replicas: Number = 0
    min_replicas: Number = 0
    max_replicas: Number = UNLIMITED
    num_of_hosts: Number = 1
    template: WorkerTemplate = WorkerTemplate()


class RayClusterSpec(Wire, frozen=True):
    """The pods of a RayCluster, and whether none of them may run now."""

    suspend: bool = False
    managed_by: str = ""
    enable_in_tree_autoscaling: bool = False
    gcs_fault_tolerance_options: Mapping[str, Any] | None = None
    head_group_spec: HeadGroupSpec = HeadGroupSpec()
    worker_group_specs: tuple[WorkerGroupSpec, ...] = ()


class RayClusterStatus(Wire, frozen=True):
    """How a RayCluster stands."""

    conditions: tuple[WorkloadCondition, ...] = ()


class RayCluster(WorkloadObject, frozen=True):
    """A ray.io/v1 RayCluster."""

    spec: RayClusterSpec = RayClusterSpec()
    status: RayClusterStatus = RayClusterStatus()
