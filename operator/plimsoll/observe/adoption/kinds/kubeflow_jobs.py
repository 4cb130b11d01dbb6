"""PyTorchJob and its kin of Kubeflow's training-operator, which makes their pods itself."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.workload_parts import condition_of
from plimsoll.kube.objects.workloads.kubeflow_jobs import (
    JAXJob,
    KubeflowJob,
    MPIJob,
    PaddleJob,
    PyTorchJob,
    TFJob,
    XGBoostJob,
)
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet, asks_for_gpus
from plimsoll.observe.adoption.workload_view import Sizing, WorkloadView, outcome_of

_WORKER: Final = "Worker"
_INDEX: Final = "training.kubeflow.org/replica-index"
_DONE: Final = "Succeeded"


class KubeflowJobs(Adapter[KubeflowJob]):
    """Jobs of one kind; their templates are in the field `specs`."""

    own_managers = frozenset({"kubeflow.org/training-operator"})
    suspend_field = ("spec", "runPolicy", "suspend")
    to_resize = "give it a replica type Worker with GPUs, and no elasticPolicy.metrics"
    specs: ClassVar[str]

    def pod_sets(self, item: KubeflowJob, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The pods of each replica type."""
        return tuple(self._pod_sets(item))

    def _pod_sets(self, item: KubeflowJob) -> Iterator[PodSet]:
        for name, each in sorted(item.spec.replica_specs.items()):
            yield PodSet(
                field=f"spec.{self.specs}.{name}.template",
                pointer=f"/spec/{self.specs}/{name}/template",
                count_field=f"spec.{self.specs}.{name}.replicas",
                count=each.replicas,
                template=each.template,
            )

    def view(self, item: KubeflowJob, _: Sequence[Candidate], /) -> WorkloadView:
        """How a job stands."""
        spec, status = item.spec, item.status
        suspended, with_gpus, beside, ended = spec.run_policy.suspend, 0, 0, 0
        # What has succeeded is said of the last run until the next one has begun.
        runs = condition_of(status.conditions, "Running") is not None and not suspended
        for name, each in spec.replica_specs.items():
            if not asks_for_gpus(each.template.spec):
                beside += each.replicas
                continue
            with_gpus += each.replicas
            if runs and name in status.replica_statuses:
                ended += status.replica_statuses[name].succeeded
        rests = condition_of(status.conditions, "Suspended") is not None
        sizing = self._sizing(item)
        return WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=suspended and rests,
            parallelism=with_gpus,
            due=max(0, with_gpus - ended),
            beside=beside,
            since=None if suspended or rests else status.start_time,
            failures=sum(each.failed for each in status.replica_statuses.values()),
            outcome=outcome_of(item.status.conditions, done=_DONE),
            sizing=sizing,
            numbered_by=_INDEX if sizing is not None and not sizing.fixed else "",
        )

    def _sizing(self, item: KubeflowJob) -> Sizing | None:
        """How it is resized; None if it has no workers with GPUs, or resizes itself."""
        specs, elastic = item.spec.replica_specs, item.spec.elastic_policy
        if _WORKER not in specs or (elastic is not None and elastic.metrics):
            return None
        if not asks_for_gpus(specs[_WORKER].template.spec):
            return None
        others = (specs[name] for name in specs.keys() - {_WORKER})
        fixed = sum(each.replicas for each in others if asks_for_gpus(each.template.spec))
        return Sizing((("spec", self.specs, _WORKER, "replicas"),), fixed)

    def managed_by(self, item: KubeflowJob) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.run_policy.managed_by

    def is_suspended(self, item: KubeflowJob) -> bool:
        """Whether it is to run no pods."""
        return item.spec.run_policy.suspend

    def is_over(self, item: KubeflowJob) -> bool:
        """Whether it has completed or failed for good."""
        return outcome_of(item.status.conditions, done=_DONE) is not None


class PyTorchJobs(KubeflowJobs):
    """PyTorchJobs."""

    kind, type, specs = "PyTorchJob", PyTorchJob, "pytorchReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "pytorchjobs")


class TFJobs(KubeflowJobs):
    """TFJobs."""

    kind, type, specs = "TFJob", TFJob, "tfReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "tfjobs")


class MPIJobs(KubeflowJobs):
    """MPIJobs."""

    kind, type, specs = "MPIJob", MPIJob, "mpiReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "mpijobs")


class JAXJobs(KubeflowJobs):
    """JAXJobs."""

    kind, type, specs = "JAXJob", JAXJob, "jaxReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "jaxjobs")


class XGBoostJobs(KubeflowJobs):
    """XGBoostJobs."""

    kind, type, specs = "XGBoostJob", XGBoostJob, "xgbReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "xgboostjobs")


class PaddleJobs(KubeflowJobs):
    """PaddleJobs."""

    kind, type, specs = "PaddleJob", PaddleJob, "paddleReplicaSpecs"
    resource = Resource("kubeflow.org", "v1", "paddlejobs")
