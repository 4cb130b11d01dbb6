"""RayJobs. KubeRay makes a RayCluster of each whenever it starts, and has the program run there."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from plimsoll.kube.http.resources import Resource
from plimsoll.kube.objects.workloads.ray_job import RayJob, RayJobStatus
from plimsoll.observe.adoption.kinds.adapter import Adapter, Candidate, PodSet, asks_for_gpus
from plimsoll.observe.adoption.kinds.ray_pods import (
    KUBERAY,
    TO_RESIZE,
    ray_pod_sets,
    ray_problem,
    with_ray_pods,
)
from plimsoll.observe.adoption.workload_view import Outcome, WorkloadView, failure
from plimsoll.observe.labels import QUEUE

_AT: Final = ("spec", "rayClusterSpec")
_FAILED: Final = frozenset({"Failed", "ValidationFailed"})
"""What KubeRay has given up: it tries neither again, even once what was invalid is mended."""
_HAS_A_CLUSTER: Final = frozenset({"Initializing", "Waiting", "Running"})


class RayJobs(Adapter[RayJob]):
    """RayJobs; when one is suspended or tried again, its RayCluster is deleted.

    What submits the program, a Job by default, has no GPUs and is made once all pods run: it is
    left to kube-scheduler.
    """

    kind = "RayJob"
    resource = Resource("ray.io", "v1", "rayjobs")
    type = RayJob
    own_managers = KUBERAY
    creators = frozenset({("ray.io/v1", "RayCronJob")})
    makes = frozenset({("ray.io/v1", "RayCluster")})
    hands_on_labels = True
    to_resize = TO_RESIZE

    def pod_sets(self, item: RayJob, _: Sequence[Candidate], /) -> tuple[PodSet, ...]:
        """The head, and the pods of each worker group."""
        return tuple(ray_pod_sets(item.spec.ray_cluster_spec, _AT))

    def view(self, item: RayJob, _: Sequence[Candidate], /) -> WorkloadView:
        """How a RayJob stands. What its cluster has now, it has from the RayJob."""
        suspended, status = item.spec.suspend, item.status
        own = WorkloadView(
            reference=self.reference(item),
            uid=item.metadata.uid,
            suspended=suspended,
            at_rest=suspended and status.job_deployment_status == "Suspended",
            parallelism=0,
            due=0,
            since=None if suspended else _resumed(status),
            failures=status.failed,
            outcome=_outcome(status),
        )
        # KubeRay disregards what changes of it while there is a cluster.
        return with_ray_pods(own, item.spec.ray_cluster_spec, _AT, while_suspended=True)

    def managed_by(self, item: RayJob) -> str:
        """Who runs it, if somebody else does."""
        return item.spec.managed_by

    def is_suspended(self, item: RayJob) -> bool:
        """Whether it is to run no pods."""
        return item.spec.suspend

    def is_over(self, item: RayJob) -> bool:
        """Whether it has completed or failed for good."""
        return _outcome(item.status) is not None

    def problem(self, item: RayJob) -> str | None:
        """Why a RayJob cannot be planned, and the remedy."""
        spec = item.spec
        if spec.cluster_selector:
            return (
                "spec.clusterSelector: it runs on a RayCluster that is there, and has no pods of"
                f" its own: set the label {QUEUE} on the RayCluster, and remove it here"
            )
        if not spec.shutdown_after_job_finishes:
            return (
                "spec.shutdownAfterJobFinishes: without it KubeRay fails a RayJob that is"
                " suspended, and leaves its GPUs taken once it is done: set it to true"
            )
        if spec.submission_mode == "InteractiveMode":
            return (
                "spec.submissionMode: KubeRay does not suspend a RayJob that waits for its user:"
                " choose another mode, or create a RayCluster"
            )
        if asks_for_gpus(spec.submitter_pod_template.spec):
            return (
                "spec.submitterPodTemplate: its pod is made only once all others run, and no plan"
                " would keep GPUs for it: ask for them in worker groups only"
            )
        return ray_problem(spec.ray_cluster_spec, item.metadata.annotations, _AT)


def _resumed(status: RayJobStatus) -> datetime | None:
    """When it was last resumed, or tried again; None while KubeRay has not seen that yet."""
    return status.start_time if status.job_deployment_status in _HAS_A_CLUSTER else None


def _outcome(status: RayJobStatus) -> Outcome | None:
    if status.job_deployment_status in _FAILED:
        return failure(status.reason, status.message)
    if status.job_deployment_status == "Complete":
        return Outcome(failed=False, message=status.message or status.job_status)
    return None
