"""Cluster-autoscaler's ProvisioningRequests: several nodes that it is to make, all or none."""

from plimsoll.kube.objects.objects import KubeObject, Wire
from plimsoll.kube.objects.workload_parts import WorkloadCondition


class PodTemplateRef(Wire, frozen=True):
    """A PodTemplate of the same namespace."""

    name: str = ""


class PodSet(Wire, frozen=True):
    """So many pods alike."""

    count: int = 0
    pod_template_ref: PodTemplateRef = PodTemplateRef()


class ProvisioningRequestSpec(Wire, frozen=True):
    """The pods for which there is to be room."""

    pod_sets: tuple[PodSet, ...] = ()


class ProvisioningRequestStatus(Wire, frozen=True):
    """How far it has come."""

    conditions: tuple[WorkloadCondition, ...] = ()


class ProvisioningRequest(KubeObject, frozen=True):
    """What cluster-autoscaler is to make room for."""

    spec: ProvisioningRequestSpec = ProvisioningRequestSpec()
    status: ProvisioningRequestStatus = ProvisioningRequestStatus()
