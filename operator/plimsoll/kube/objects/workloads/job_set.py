"""A JobSet, reduced to the fields by which it is planned, held and placed."""

from plimsoll.kube.objects.objects import ObjectMeta, Wire
from plimsoll.kube.objects.workload_parts import Number, WorkloadCondition, WorkloadObject
from plimsoll.kube.objects.workloads.batch_job import BatchJobSpec


class JobTemplate(Wire, frozen=True):
    """The template of a JobSet's Jobs."""

    metadata: ObjectMeta = ObjectMeta()
    spec: BatchJobSpec = BatchJobSpec()


class Dependency(Wire, frozen=True):
    """What must have become ready, or complete, before these Jobs are created."""

    name: str = ""
    status: str = ""


class ReplicatedJob(Wire, frozen=True):
    """Jobs of a JobSet that are alike."""

    name: str
    replicas: Number = 1
    depends_on: tuple[Dependency, ...] = ()
    template: JobTemplate = JobTemplate()


class StartupPolicy(Wire, frozen=True):
    """In which order the Jobs are started: "AnyOrder" or "InOrder"."""

    startup_policy_order: str = "AnyOrder"


class JobSetSpec(Wire, frozen=True):
    """The Jobs of a JobSet, and whether none of them may run now."""

    suspend: bool = False
    managed_by: str = ""
    replicated_jobs: tuple[ReplicatedJob, ...] = ()
    startup_policy: StartupPolicy = StartupPolicy()


class JobSetStatus(Wire, frozen=True):
    """How often all Jobs were made again, and how the JobSet stands."""

    restarts: int = 0
    conditions: tuple[WorkloadCondition, ...] = ()


class JobSet(WorkloadObject, frozen=True):
    """A jobset.x-k8s.io/v1alpha2 JobSet."""

    spec: JobSetSpec = JobSetSpec()
    status: JobSetStatus = JobSetStatus()
