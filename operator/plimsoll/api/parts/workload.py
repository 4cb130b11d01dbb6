"""The workload of another controller that a job stands for."""

from typing import Final

from plimsoll.api.model import ApiModel
from plimsoll.api.schema_marks import Rule
from plimsoll.api.values.scalars import ApiVersion, KindName, ResourceName, Word

WORKLOAD_STAYS: Final = Rule(
    "has(self.workloadRef) ? has(oldSelf.workloadRef) && self.workloadRef == oldSelf.workloadRef"
    " : !has(oldSelf.workloadRef)",
    "cannot change: Plimsoll creates a TrainingJob for each workload that it adopts",
    ".workloadRef",
)


class WorkloadRef(ApiModel):
    """An adopted workload, whose pods its own controller makes."""

    api_version: ApiVersion
    """API version, such as `batch/v1`."""
    kind: KindName
    """Kind, such as `Job`."""
    name: ResourceName
    """Name, in the same namespace."""
    uid: Word
    """Identity; a workload of the same name created later is another."""
    gpu_resource: Word
    """GPU resource that its pods request, such as `nvidia.com/gpu`."""
