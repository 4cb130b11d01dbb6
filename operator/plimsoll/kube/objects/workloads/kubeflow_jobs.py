"""The jobs of Kubeflow's training-operator, reduced to what they are planned, held and placed by.

They differ in the name of the field that holds their pods' templates.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import msgspec

from plimsoll.kube.objects.objects import Wire
from plimsoll.kube.objects.workload_parts import (
    Number,
    WorkerTemplate,
    WorkloadCondition,
    WorkloadObject,
)


class RunPolicy(Wire, frozen=True):
    """Whether no pods may run now, and who runs the job."""

    suspend: bool = False
    managed_by: str = ""


class ReplicaSpec(Wire, frozen=True):
    """Pods of a job that are alike."""

    replicas: Number = 1
    template: WorkerTemplate = WorkerTemplate()


class Metric(Wire, frozen=True):
    """A metric, of which nothing is read but that it is there."""


class ElasticPolicy(Wire, frozen=True):
    """By which metrics training-operator itself resizes a job, if there are any."""

    metrics: tuple[Metric, ...] = ()


ReplicaSpecs = Mapping[str, ReplicaSpec]
_NONE: Final[ReplicaSpecs] = {}


class KubeflowJobSpec(Wire, frozen=True):
    """How a job runs."""

    run_policy: RunPolicy = RunPolicy()
    elastic_policy: ElasticPolicy | None = None

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are, such as `Worker`; each kind of job has a field of its own."""
        return _NONE


class ReplicaStatus(Wire, frozen=True):
    """How many pods run, have succeeded and have failed."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0


class KubeflowJobStatus(Wire, frozen=True):
    """How a job stands, by its kinds of pods, and since when it runs."""

    replica_statuses: Mapping[str, ReplicaStatus] = msgspec.field(
        default_factory=dict[str, ReplicaStatus]
    )
    start_time: datetime | None = None
    conditions: tuple[WorkloadCondition, ...] = ()


class KubeflowJob(WorkloadObject, frozen=True):
    """A job of training-operator."""

    spec: KubeflowJobSpec = KubeflowJobSpec()
    status: KubeflowJobStatus = KubeflowJobStatus()


class PyTorchJobSpec(KubeflowJobSpec, frozen=True):
    """How a PyTorchJob runs."""

    pytorch_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.pytorch_replica_specs


class PyTorchJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 PyTorchJob."""

    spec: PyTorchJobSpec = PyTorchJobSpec()


class TFJobSpec(KubeflowJobSpec, frozen=True):
    """How a TFJob runs."""

    tf_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.tf_replica_specs


class TFJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 TFJob."""

    spec: TFJobSpec = TFJobSpec()


class MPIJobSpec(KubeflowJobSpec, frozen=True):
    """How a MPIJob runs."""

    mpi_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.mpi_replica_specs


class MPIJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 MPIJob."""

    spec: MPIJobSpec = MPIJobSpec()


class JAXJobSpec(KubeflowJobSpec, frozen=True):
    """How a JAXJob runs."""

    jax_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.jax_replica_specs


class JAXJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 JAXJob."""

    spec: JAXJobSpec = JAXJobSpec()


class XGBoostJobSpec(KubeflowJobSpec, frozen=True):
    """How a XGBoostJob runs."""

    xgb_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.xgb_replica_specs


class XGBoostJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 XGBoostJob."""

    spec: XGBoostJobSpec = XGBoostJobSpec()


class PaddleJobSpec(KubeflowJobSpec, frozen=True):
    """How a PaddleJob runs."""

    paddle_replica_specs: ReplicaSpecs = _NONE

    @property
    def replica_specs(self) -> ReplicaSpecs:
        """The pods by what they are."""
        return self.paddle_replica_specs


class PaddleJob(KubeflowJob, frozen=True):
    """A kubeflow.org/v1 PaddleJob."""

    spec: PaddleJobSpec = PaddleJobSpec()
