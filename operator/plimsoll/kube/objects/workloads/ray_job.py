"""A RayJob, reduced to the fields by which it is planned, held and placed.

Its pods are those of the RayCluster that KubeRay makes for it, anew whenever it is resumed.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.objects.workload_parts import Number, WorkerTemplate, WorkloadObject
from plimsoll.kube.objects.workloads.ray_cluster import RayClusterSpec

_NONE: Final[Mapping[str, Any]] = {}


class RayJobSpec(Wire, frozen=True):
    """The cluster of a RayJob, how the program gets there, and whether no pods may run now."""

    suspend: bool = False
    managed_by: str = ""
    submission_mode: str = ""
    shutdown_after_job_finishes: bool = False
    cluster_selector: Mapping[str, Any] = _NONE
    ray_cluster_spec: RayClusterSpec = RayClusterSpec()
    submitter_pod_template: WorkerTemplate = WorkerTemplate()


class RayJobStatus(Wire, frozen=True):
    """How a RayJob stands: KubeRay's word is the deployment's status, Ray's that of the job."""

    job_deployment_status: str = ""
    job_status: str = ""
    reason: str = ""
    message: str = ""
    start_time: datetime | None = None
    failed: Number = 0


class RayJob(WorkloadObject, frozen=True):
    """A ray.io/v1 RayJob."""

    spec: RayJobSpec = RayJobSpec()
    status: RayJobStatus = RayJobStatus()
