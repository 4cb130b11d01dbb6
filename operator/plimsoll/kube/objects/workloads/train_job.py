"""A TrainJob of Kubeflow Trainer, reduced to the fields by which it is planned and held.

Its pods are those of the JobSet that Trainer makes for it.
"""

from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.objects.workload_parts import WorkloadCondition, WorkloadObject


class RuntimePatch(Wire, frozen=True):
    """What somebody changes of the runtime's template for this TrainJob."""

    manager: str


class TrainJobSpec(Wire, frozen=True):
    """Whether no pods may run now, and who has changed what of the runtime."""

    suspend: bool = False
    managed_by: str = ""
    runtime_patches: tuple[RuntimePatch, ...] = ()


class TrainJobStatus(Wire, frozen=True):
    """How the TrainJob stands."""

    conditions: tuple[WorkloadCondition, ...] = ()


class TrainJob(WorkloadObject, frozen=True):
    """A trainer.kubeflow.org/v1alpha1 TrainJob."""

    spec: TrainJobSpec = TrainJobSpec()
    status: TrainJobStatus = TrainJobStatus()
