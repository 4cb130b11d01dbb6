"""Policies of Kueue's queues that JobQueues do not have, each with what to do instead.

What Kueue may be told to do and Plimsoll does anyway is no loss and not mentioned.
"""

from collections.abc import Iterator, Mapping

from plimsoll.cli.importing.kueue.objects import (
    ClusterQueue,
    ClusterQueueSpec,
    LocalQueue,
    Preemption,
)
from plimsoll.cli.importing.notes import Note, note


def policy_notes(queue: ClusterQueue, gpu_flavors: int) -> list[Note]:
    """What is not carried over of a ClusterQueue's policies."""
    spec = queue.spec
    said = [
        *_of_preemption(spec.preemption, has_cohort=bool(queue.parent)),
        *_of_flavors(spec, gpu_flavors),
        *_of_order(spec),
        *_of_admission(spec),
    ]
    return [note(queue, f"spec.{each}") for each in said]


def _of_preemption(found: Preemption, *, has_cohort: bool) -> Iterator[str]:
    if has_cohort and found.reclaim_within_cohort != "Any":
        yield (
            f"preemption.reclaimWithinCohort: {found.reclaim_within_cohort}: JobQueues always take"
            " their guarantees back: set guaranteeGrace of the PlacementPolicy, which delays that"
        )
    if found.within_cluster_queue != "LowerPriority":
        yield (
            f"preemption.withinClusterQueue: {found.within_cluster_queue}: higher priorities"
            " preempt lower ones where that pays: set spec.disruption of jobs to protect them"
        )
    borrowing = found.borrow_within_cohort
    if borrowing.max_priority_threshold is not None:
        yield (
            "preemption.borrowWithinCohort.maxPriorityThreshold: there is no threshold: any higher"
            " priority preempts borrowers; set priorityClassNames of the JobQueue"
        )


def _of_flavors(spec: ClusterQueueSpec, gpu_flavors: int) -> Iterator[str]:
    if gpu_flavors > 1:
        yield (
            "flavorFungibility: flavors have no order: plans choose among the GPU types that a job"
            " names; give their speeds in its accelerators or profiles, and prices in GPUPools"
        )
    if spec.concurrent_admission_policy is not None:
        yield (
            "concurrentAdmissionPolicy: plans move running jobs to what suits them better where"
            " that pays: bound it by disruptionPrice of the PlacementPolicy"
        )


def _of_order(spec: ClusterQueueSpec) -> Iterator[str]:
    if spec.queueing_strategy == "StrictFIFO":
        yield (
            "queueingStrategy: StrictFIFO: smaller jobs pass larger ones that do not fit: set"
            " reservation.after of the PlacementPolicy to keep room for large ones"
        )
    if spec.admission_scope.admission_mode == "UsageBasedAdmissionFairSharing":
        yield (
            "admissionScope: past use counts between JobQueues, not between namespaces: set"
            " fairness.usageHalfLife of the PlacementPolicy, and give each team a JobQueue"
        )
    if spec.stop_policy == "HoldAndDrain":
        yield (
            "stopPolicy: HoldAndDrain: the JobQueue has maxJobs 0, which admits no more: suspend"
            " its running jobs by spec.suspend"
        )


def _of_admission(spec: ClusterQueueSpec) -> Iterator[str]:
    strategy = spec.admission_checks_strategy
    if spec.admission_checks or strategy is not None:
        field = "admissionChecksStrategy" if strategy is not None else "admissionChecks"
        yield (
            f"{field}: plans wait for no AdmissionCheck: ProvisioningRequests and MultiKueue have"
            " no counterpart; keep what needs them in Kueue"
        )


def local_queue_notes(queue: LocalQueue, queues: Mapping[str, ClusterQueue]) -> list[Note]:
    """What is not carried over of a LocalQueue."""
    spec, found = queue.spec, list[str]()
    if spec.cluster_queue not in queues:
        found.append(f"spec.clusterQueue: there is no ClusterQueue {spec.cluster_queue}: add it")
    if spec.stop_policy != "None":
        found.append(
            f"spec.stopPolicy: {spec.stop_policy}: a JobQueue stops as a whole (maxJobs): suspend"
            " the namespace's jobs, or exclude it in namespaceSelector"
        )
    if spec.fair_sharing.weight not in (None, 1):
        found.append(
            "spec.fairSharing.weight: weights are between JobQueues: give the namespace one of its"
            " own"
        )
    if queue.metadata.name == "default":
        found.append(
            "metadata.name: Kueue puts unlabelled jobs into LocalQueue default: jobs of Plimsoll"
            f" must say spec.queue: {spec.cluster_queue}"
        )
    return [note(queue, each) for each in found]
