"""A scheduling.k8s.io PodGroup, reduced to the fields by which it is planned, and a pod of one.

Alpha in Kubernetes 1.36, and served only where a cluster's administrator has it so.
"""

from plimsoll.kube.objects.objects import PodStatus, Wire
from plimsoll.kube.objects.workload_parts import Number, WorkerSpec, WorkloadObject


class GangPolicy(Wire, frozen=True):
    """How many pods are to be scheduled together at least."""

    min_count: Number = 0


class SchedulingPolicy(Wire, frozen=True):
    """How the pods are scheduled: as a gang, or each by itself."""

    gang: GangPolicy | None = None


class PodGroupSpec(Wire, frozen=True):
    """All of it is immutable."""

    scheduling_policy: SchedulingPolicy = SchedulingPolicy()


class PodGroup(WorkloadObject, frozen=True):
    """A PodGroup. It says nothing of its pods: these name it in `spec.schedulingGroup`."""

    spec: PodGroupSpec = PodGroupSpec()


class GroupedPod(WorkloadObject, frozen=True):
    """A pod that names a PodGroup."""

    spec: WorkerSpec = WorkerSpec()
    status: PodStatus = PodStatus()
